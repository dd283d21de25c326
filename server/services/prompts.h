// What every service that renders or parses needs: the renderer that a request names, and the tools
// that it is about, be it by a session or by itself.
#ifndef TOOLRACK_SERVER_SERVICES_PROMPTS_H_
#define TOOLRACK_SERVER_SERVICES_PROMPTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/policy/policy.h"
#include "registry/registry.h"
#include "registry/session_table.h"
#include "renderers/catalog.h"
#include "renderers/tokens.h"
#include "server/services/render_cache.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// The rules of `renderers.rules`, one for each pattern, in order.
std::vector<CatalogRule> ConfiguredRules(const v1::RenderersConfig& config);

// Thread-safe.
class Prompts {
 public:
  struct Parts {  // all outlive this
    Registry* registry;
    SessionTable* sessions;
    const Policy* policy;
    const TokenCounter* tokens = nullptr;  // null: the estimate
  };
  Prompts(Parts parts, const v1::RenderersConfig& config)
      : parts_(parts), rules_(ConfiguredRules(config)), cache_(parts.registry) {}

  // What a request is about.
  struct Target {
    RendererSpec spec;
    SessionLease session;  // empty: none
    std::string who;
  };
  // By its session, its renderer, or both: a renderer that is named counts, else the session's own,
  // else the first for the session's model. The session is used by this. SESSION_NOT_FOUND,
  // REQUEST_INVALID.
  absl::StatusOr<Target> Find(const std::string& session_id, const std::string& renderer,
                              const std::string& who);

  // The tools that the prompt's prefix is made from: the session's pinned ones, else the newest.
  ToolViewPtr Prefix(const Target& target, const v1::RenderFilters& filters);
  // The newest tools that pass the filters of request and session.
  ToolViewPtr Newest(const Target& target, const v1::RenderFilters& filters);
  // What a call may name: the newest tools, and those that the session's prefix shows still, though
  // they went: a call of one is a call, and is answered as such. The session's own filters are
  // about its prompts and do not bound this.
  ToolViewPtr Offered(const Target& target, const v1::RenderFilters& filters);

  // The prompt, with the session's loaded tools and those of `input`.
  std::shared_ptr<const v1::RenderInitialResponse> Initial(const Target& target,
                                                           const v1::RenderFilters& filters,
                                                           RenderInput input);
  // The same at a boundary of the session: from the newest tools, which are pinned from now on.
  std::shared_ptr<const v1::RenderInitialResponse> Boundary(const Target& target,
                                                            const v1::RenderFilters& filters,
                                                            RenderInput input);
  // What came and went since the session's model was told last; it counts as told by this. Without
  // a session: since `known`.
  v1::RenderChangesResponse Changes(const Target& target, const v1::RenderFilters& filters,
                                    RenderInput input, std::vector<std::string> known);

  // What is appended once `names` are loaded, within the session's filters or not: nothing of what
  // its prefix shows already.
  v1::RenderToolLoadResponse Load(const Target& target, RenderInput input,
                                  const std::vector<std::string>& names, absl::string_view call_id);

  v1::ResolveRendererResponse Resolve(absl::string_view model) const {
    return ResolveRenderer(model, rules_);
  }

 private:
  ToolViewPtr View(const PinnedTools& tools, const Target& target,
                   const v1::RenderFilters& filters);
  ToolViewPtr View(const PinnedTools& tools, const Target& target, const v1::RenderFilters& filters,
                   const v1::ToolFilter& session_filters);
  std::shared_ptr<const v1::RenderInitialResponse> Render(const Target& target,
                                                          const PromptBase& base,
                                                          const v1::RenderFilters& filters,
                                                          RenderInput input);

  const Parts parts_;
  const std::vector<CatalogRule> rules_;
  RenderCache cache_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_PROMPTS_H_
