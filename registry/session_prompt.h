// What one session's prompt was made from, and what its model was told since.
#ifndef TOOLRACK_REGISTRY_SESSION_PROMPT_H_
#define TOOLRACK_REGISTRY_SESSION_PROMPT_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "registry/pinned_tools.h"

namespace toolrack {

// What the prefix is a function of. It changes at a boundary only.
struct PromptBase {
  PinnedToolsPtr tools;
  std::vector<std::string> loaded;  // canonical names, sorted
};

// Thread-safe.
class SessionPrompt {
 public:
  explicit SessionPrompt(PinnedToolsPtr tools)
      : revision_(tools->revision()), tools_(tools), told_(std::move(tools)) {}

  // The registry revision of the prefix.
  uint64_t revision() const { return revision_.load(); }
  // Of the prefix. Rendering it for the first time fixes what is loaded in it; what is loaded later
  // is appended.
  PromptBase Base(const std::vector<std::string>& loaded_now);
  // As far as it is fixed already; the loaded set is empty before that.
  PromptBase Peek() const;
  // A boundary: all is told anew.
  void Rebase(PromptBase base);
  // From now on the model has been told of `now`. Gives what it had been told of until now.
  PinnedToolsPtr Tell(PinnedToolsPtr now);

 private:
  std::atomic<uint64_t> revision_;
  mutable absl::Mutex mu_;
  PinnedToolsPtr tools_ ABSL_GUARDED_BY(mu_);
  std::optional<std::vector<std::string>> loaded_ ABSL_GUARDED_BY(mu_);
  PinnedToolsPtr told_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SESSION_PROMPT_H_
