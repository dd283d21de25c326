#include "server/services/dispatch_tools.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/name.h"

namespace toolrack {

DispatchTools::DispatchTools(const Snapshot& snapshot, const RendererSpec& spec,
                             const ToolVisibility& visible) {
  snapshot.ForEach("", [&](const ToolEntryPtr& entry) {
    // `__result_read` is called by models that got a cut result; the other meta tools are known to
    // every renderer.
    const ToolDefinition& definition = *entry->definition;
    if (definition.quarantined || entry->state == v1::TOOL_STATE_QUARANTINED) return true;
    if (visible != nullptr && !visible(definition)) return true;
    definitions_.push_back(entry->definition);
    tools_.push_back(&definition.tool);
    return true;
  });
  offered_ = std::make_unique<OfferedTools>(spec, tools_);
}

DispatchToolsPtr DispatchToolsCache::Get(const RendererSpec& spec, absl::string_view principal) {
  const SnapshotPtr snapshot = registry_.snapshot();
  const ToolVisibility visible = policy_.VisibilityOf(principal);
  const std::string key =
      absl::StrCat(snapshot->revision(), "\n", spec.dialect->name, "\n", policy_.version(), "\n",
                   visible == nullptr ? "" : principal);
  {
    absl::MutexLock lock(&mu_);
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
      if (at->first != key) continue;
      kept_.splice(kept_.begin(), kept_, at);
      return at->second;
    }
  }
  auto made = std::make_shared<const DispatchTools>(*snapshot, spec, visible);
  absl::MutexLock lock(&mu_);
  kept_.emplace_front(key, made);
  if (kept_.size() > kMax) kept_.pop_back();
  return made;
}

}  // namespace toolrack
