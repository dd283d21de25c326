#include "server/services/render_cache.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "registry/base/random.h"
#include "registry/name.h"

namespace toolrack {

ToolView::ToolView(const Snapshot& snapshot, const v1::RenderFilters& filters,
                   const ToolVisibility& visible)
    : definitions_revision_(snapshot.definitions_revision()) {
  const ToolFilter filter(filters.categories(), filters.namespaces());
  const absl::flat_hash_set<std::string> names(filters.names().begin(), filters.names().end());
  std::string hidden;
  snapshot.ForEach("", [&](const ToolEntryPtr& entry) {
    // Meta tools are the renderers' own to add.
    if (IsReservedName(entry->name())) return true;
    if (entry->definition->quarantined || entry->state == v1::TOOL_STATE_QUARANTINED) return true;
    if (!filter.Matches(*entry) || (!names.empty() && !names.contains(entry->name()))) return true;
    const bool denied = visible != nullptr && !visible(*entry->definition);
    if (denied || entry->state == v1::TOOL_STATE_DISABLED) {
      absl::StrAppend(&hidden, entry->name(), "\n");
    } else {
      definitions_.push_back(entry->definition);
      tools_.push_back(&entry->definition->tool);
    }
    return true;
  });
  fingerprint_ = Sha256Hex(
      absl::StrCat(definitions_revision_, "\n", filters.SerializeAsString(), "\n", hidden));
}

const OfferedTools& ToolView::Offered(const RendererSpec& spec) const {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<OfferedTools>& table = offered_[std::string(spec.dialect->name)];
  if (table == nullptr) table = std::make_unique<OfferedTools>(spec, tools_);
  return *table;
}

ToolViewPtr RenderCache::View(const v1::RenderFilters& filters, absl::string_view principal,
                              const ToolVisibility& visible) {
  const SnapshotPtr snapshot = registry_.snapshot();
  const std::string key =
      absl::StrCat(snapshot->revision(), "\n", visible == nullptr ? "" : principal, "\n",
                   filters.SerializeAsString());
  {
    absl::MutexLock lock(&mu_);
    for (auto at = views_.begin(); at != views_.end(); ++at) {
      if (at->first != key) continue;
      views_.splice(views_.begin(), views_, at);
      return at->second;
    }
  }
  auto view = std::make_shared<const ToolView>(*snapshot, filters, visible);
  absl::MutexLock lock(&mu_);
  views_.emplace_front(key, view);
  if (views_.size() > kMaxViews) views_.pop_back();
  return view;
}

std::shared_ptr<const v1::RenderInitialResponse> RenderCache::Initial(const RendererSpec& spec,
                                                                      const ToolView& view,
                                                                      RenderInput input) {
  std::sort(input.loaded.begin(), input.loaded.end());
  std::string key = absl::StrCat(view.fingerprint(), "\n", spec.name(), "\n", input.clock, "\n",
                                 input.options.SerializeAsString());
  for (const std::string& name : input.loaded) absl::StrAppend(&key, "\n", name);
  {
    absl::MutexLock lock(&mu_);
    const auto at = by_key_.find(key);
    if (at != by_key_.end()) {
      prompts_.splice(prompts_.begin(), prompts_, at->second);
      return at->second->prompt;
    }
  }
  auto made = std::make_shared<v1::RenderInitialResponse>(RenderInitial(spec, input));
  made->set_revision(view.definitions_revision());
  made->set_epoch(registry_.epoch());
  const size_t bytes = made->ByteSizeLong() + key.size();
  absl::MutexLock lock(&mu_);
  if (bytes > kMaxPromptBytes || by_key_.contains(key)) return made;
  prompts_.push_front({key, made, bytes});
  by_key_[key] = prompts_.begin();
  bytes_ += bytes;
  while (bytes_ > kMaxPromptBytes) {
    bytes_ -= prompts_.back().bytes;
    by_key_.erase(prompts_.back().key);
    prompts_.pop_back();
  }
  return made;
}

}  // namespace toolrack
