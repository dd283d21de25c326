// What the renderers look at and what they made of it, kept as long as the registry's definitions
// stay.
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
#include "registry/registry.h"
#include "registry/tool_filter.h"
#include "renderers/output.h"
#include "renderers/render.h"
#include "toolrack/v1/renderer_service.pb.h"

namespace toolrack {

// The tools of one snapshot that pass the filters and may be seen, without the quarantined and the
// disabled ones; those whose backend is away stay, so that a restart changes no prompt. Immutable,
// thread-safe.
class ToolView {
 public:
  ToolView(const Snapshot& snapshot, const v1::RenderFilters& filters,
           const ToolVisibility& visible);

  ToolSpan tools() const { return tools_; }
  uint64_t definitions_revision() const { return definitions_revision_; }
  // Equal for views that render to the same bytes.
  const std::string& fingerprint() const { return fingerprint_; }
  // The wire-name table, made on first use.
  const OfferedTools& Offered(const RendererSpec& spec) const;

 private:
  const uint64_t definitions_revision_;
  // Definitions only: a snapshot would keep backends that are gone.
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
  static constexpr size_t kMaxViews = 16;
  static constexpr size_t kMaxPromptBytes = 64 << 20;

  explicit RenderCache(const Registry* registry) : registry_(*registry) {}

  // Of the newest snapshot, as this principal may see it.
  ToolViewPtr View(const v1::RenderFilters& filters, absl::string_view principal,
                   const ToolVisibility& visible);
  // With revision and epoch.
  std::shared_ptr<const v1::RenderInitialResponse> Initial(const RendererSpec& spec,
                                                           const ToolView& view, RenderInput input);

 private:
  using Prompt = std::shared_ptr<const v1::RenderInitialResponse>;
  struct Kept {
    std::string key;
    Prompt prompt;
    size_t bytes;
  };
  const Registry& registry_;
  absl::Mutex mu_;
  std::list<std::pair<std::string, ToolViewPtr>> views_ ABSL_GUARDED_BY(mu_);  // newest use first
  std::list<Kept> prompts_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::list<Kept>::iterator> by_key_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_RENDER_CACHE_H_
