// What the renderers look at and what they made of it.
#ifndef TOOLRACK_SERVER_SERVICES_RENDER_CACHE_H_
#define TOOLRACK_SERVER_SERVICES_RENDER_CACHE_H_

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "registry/pinned_tools.h"
#include "registry/registry.h"
#include "registry/tool_filter.h"
#include "renderers/output.h"
#include "renderers/render.h"
#include "toolrack/v1/renderer_service.pb.h"

namespace toolrack {

// The tools of one snapshot that pass the filters (a request's and a session's) and may be seen,
// without the quarantined and the disabled ones; those whose backend is away stay, so that a
// restart changes no prompt. Immutable, thread-safe.
class ToolView {
 public:
  ToolView(const PinnedTools& tools, const v1::RenderFilters& filters,
           const v1::ToolFilter& session_filters, const ToolVisibility& visible);
  // Those of `first`, and those of `second` that it does not have.
  ToolView(const ToolView& first, const ToolView& second);

  ToolSpan tools() const { return tools_; }
  // Null when there is none.
  const v1::Tool* Find(absl::string_view name) const;
  uint64_t definitions_revision() const { return definitions_revision_; }
  // Equal for views that render to the same bytes.
  const std::string& fingerprint() const { return fingerprint_; }
  // The wire-name table, made on first use.
  const OfferedTools& Offered(const RendererSpec& spec) const;

 private:
  const uint64_t definitions_revision_;
  std::vector<std::shared_ptr<const ToolDefinition>> definitions_;
  std::vector<const v1::Tool*> tools_;
  std::string fingerprint_;
  mutable absl::Mutex mu_;
  mutable std::map<std::string, std::unique_ptr<OfferedTools>> offered_ ABSL_GUARDED_BY(mu_);
};
using ToolViewPtr = std::shared_ptr<const ToolView>;

// Thread-safe. Bounded: a few views, and prompts up to a number of bytes; the longest unused goes
// first.
class RenderCache {
 public:
  static constexpr size_t kMaxViews = 64;
  static constexpr size_t kMaxPromptBytes = 64 << 20;

  explicit RenderCache(const Registry* registry) : registry_(*registry) {}

  // As `seen_by` may see them: who, and by which rules.
  ToolViewPtr View(const PinnedTools& tools, const v1::RenderFilters& filters,
                   const v1::ToolFilter& session_filters, absl::string_view seen_by,
                   const ToolVisibility& visible);
  // See ToolView; `first` itself when both are the same.
  ToolViewPtr Joined(ToolViewPtr first, ToolViewPtr second);
  // With revision and epoch.
  std::shared_ptr<const v1::RenderInitialResponse> Initial(const RendererSpec& spec,
                                                           const ToolView& view, RenderInput input);

 private:
  ToolViewPtr Kept(const std::string& key);
  void Keep(std::string key, ToolViewPtr view);

  using Prompt = std::shared_ptr<const v1::RenderInitialResponse>;
  struct KeptPrompt {
    std::string key;
    Prompt prompt;
    size_t bytes;
  };
  const Registry& registry_;
  absl::Mutex mu_;
  std::list<std::pair<std::string, ToolViewPtr>> views_ ABSL_GUARDED_BY(mu_);  // newest use first
  std::list<KeptPrompt> prompts_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::list<KeptPrompt>::iterator> by_key_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_RENDER_CACHE_H_
