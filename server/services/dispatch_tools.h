// The tools that a model's output may name.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_TOOLS_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_TOOLS_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "registry/policy/policy.h"
#include "registry/registry.h"
#include "renderers/output.h"

namespace toolrack {

// Every tool of one snapshot that a principal may see, but for the quarantined ones, with their
// wire names in one dialect. A session's filters are about prompts, not about calls. Immutable.
class DispatchTools {
 public:
  DispatchTools(const Snapshot& snapshot, const RendererSpec& spec, const ToolVisibility& visible);
  ToolSpan tools() const { return tools_; }
  const OfferedTools& offered() const { return *offered_; }

 private:
  std::vector<std::shared_ptr<const ToolDefinition>> definitions_;
  std::vector<const v1::Tool*> tools_;  // sorted by canonical name
  std::unique_ptr<OfferedTools> offered_;
};
using DispatchToolsPtr = std::shared_ptr<const DispatchTools>;

// Keeps the last ones. Thread-safe.
class DispatchToolsCache {
 public:
  static constexpr size_t kMax = 16;

  DispatchToolsCache(const Registry* registry, const Policy* policy)
      : registry_(*registry), policy_(*policy) {}
  // Of the newest snapshot.
  DispatchToolsPtr Get(const RendererSpec& spec, absl::string_view principal);

 private:
  const Registry& registry_;
  const Policy& policy_;
  absl::Mutex mu_;
  std::list<std::pair<std::string, DispatchToolsPtr>> kept_ ABSL_GUARDED_BY(mu_);  // newest first
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_TOOLS_H_
