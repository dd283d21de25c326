#include "registry/session_prompt.h"

#include <utility>

namespace toolrack {

PromptBase SessionPrompt::Base(const std::vector<std::string>& loaded_now) {
  absl::MutexLock lock(&mu_);
  if (!loaded_) loaded_ = loaded_now;
  return {tools_, *loaded_};
}

PromptBase SessionPrompt::Peek() const {
  absl::MutexLock lock(&mu_);
  return {tools_, loaded_.value_or(std::vector<std::string>())};
}

void SessionPrompt::Rebase(PromptBase base) {
  absl::MutexLock lock(&mu_);
  revision_.store(base.tools->revision());
  told_ = base.tools;
  tools_ = std::move(base.tools);
  loaded_ = std::move(base.loaded);
}

PinnedToolsPtr SessionPrompt::Tell(PinnedToolsPtr now) {
  absl::MutexLock lock(&mu_);
  // Of two at a time the later revision stays told.
  if (now->revision() < told_->revision()) return now;
  return std::exchange(told_, std::move(now));
}

}  // namespace toolrack
