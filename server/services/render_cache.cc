#include "server/services/render_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "registry/base/random.h"
#include "registry/name.h"

namespace toolrack {

ToolView::ToolView(const PinnedTools& tools, const v1::RenderFilters& filters,
                   const v1::ToolFilter& session_filters, const ToolVisibility& visible)
    : definitions_revision_(tools.definitions_revision()) {
  const ToolFilter filter(filters.categories(), filters.namespaces());
  const absl::flat_hash_set<std::string> names(filters.names().begin(), filters.names().end());
  std::string hidden;
  for (const PinnedTools::Item* item : tools.Sorted()) {
    const ToolDefinition& definition = *item->definition;
    const std::string& name = definition.tool.name();
    // Meta tools are the renderers' own to add.
    if (IsReservedName(name)) continue;
    if (!filter.Matches(definition) || (!names.empty() && !names.contains(name))) continue;
    if (!Matches(session_filters, definition)) continue;
    if (item->disabled || (visible != nullptr && !visible(definition))) {
      absl::StrAppend(&hidden, name, "\n");
    } else {
      definitions_.push_back(item->definition);
      tools_.push_back(&definition.tool);
    }
  }
  fingerprint_ = Sha256Hex(absl::StrCat(definitions_revision_, "\n", filters.SerializeAsString(),
                                        "\n", session_filters.SerializeAsString(), "\n", hidden));
}

ToolView::ToolView(const ToolView& first, const ToolView& second)
    : definitions_revision_(first.definitions_revision_),
      fingerprint_(Sha256Hex(absl::StrCat(first.fingerprint_, second.fingerprint_))) {
  const auto by_name = [](const auto& a, const auto& b) { return a->tool.name() < b->tool.name(); };
  std::set_union(first.definitions_.begin(), first.definitions_.end(), second.definitions_.begin(),
                 second.definitions_.end(), std::back_inserter(definitions_), by_name);
  for (const auto& definition : definitions_) tools_.push_back(&definition->tool);
}

const v1::Tool* ToolView::Find(absl::string_view name) const {
  const auto at = std::lower_bound(
      tools_.begin(), tools_.end(), name,
      [](const v1::Tool* tool, absl::string_view wanted) { return tool->name() < wanted; });
  return at != tools_.end() && (*at)->name() == name ? *at : nullptr;
}

const OfferedTools& ToolView::Offered(const RendererSpec& spec) const {
  absl::MutexLock lock(&mu_);
  std::unique_ptr<OfferedTools>& table = offered_[std::string(spec.dialect->name)];
  if (table == nullptr) table = std::make_unique<OfferedTools>(spec, tools_);
  return *table;
}

ToolViewPtr RenderCache::Kept(const std::string& key) {
  absl::MutexLock lock(&mu_);
  for (auto at = views_.begin(); at != views_.end(); ++at) {
    if (at->first != key) continue;
    views_.splice(views_.begin(), views_, at);
    return at->second;
  }
  return nullptr;
}

void RenderCache::Keep(std::string key, ToolViewPtr view) {
  absl::MutexLock lock(&mu_);
  views_.emplace_front(std::move(key), std::move(view));
  if (views_.size() > kMaxViews) views_.pop_back();
}

ToolViewPtr RenderCache::View(const PinnedTools& tools, const v1::RenderFilters& filters,
                              const v1::ToolFilter& session_filters, absl::string_view seen_by,
                              const ToolVisibility& visible) {
  std::string key =
      absl::StrCat(tools.revision(), "\n", visible == nullptr ? "" : seen_by, "\n",
                   filters.SerializeAsString(), "\n", session_filters.SerializeAsString());
  if (ToolViewPtr kept = Kept(key)) return kept;
  auto view = std::make_shared<const ToolView>(tools, filters, session_filters, visible);
  Keep(std::move(key), view);
  return view;
}

ToolViewPtr RenderCache::Joined(ToolViewPtr first, ToolViewPtr second) {
  if (first->fingerprint() == second->fingerprint()) return first;
  std::string key = absl::StrCat("+", first->fingerprint(), second->fingerprint());
  if (ToolViewPtr kept = Kept(key)) return kept;
  auto view = std::make_shared<const ToolView>(*first, *second);
  Keep(std::move(key), view);
  return view;
}

std::shared_ptr<const v1::RenderInitialResponse> RenderCache::Initial(const RendererSpec& spec,
                                                                      const ToolView& view,
                                                                      RenderInput input) {
  std::sort(input.loaded.begin(), input.loaded.end());
  input.loaded.erase(std::unique(input.loaded.begin(), input.loaded.end()), input.loaded.end());
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
