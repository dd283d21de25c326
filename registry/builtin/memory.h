// The tools `memory_store` and `memory_recall`: notes, for each principal its own.
#ifndef TOOLRACK_REGISTRY_BUILTIN_MEMORY_H_
#define TOOLRACK_REGISTRY_BUILTIN_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/tool.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

struct Note {
  std::string key, text;
  std::vector<std::string> tags;
  absl::Time stored;
};

// Notes in memory: they are gone when the process ends. Thread-safe.
class Notes {
 public:
  // `max_principals`: of more, those go whose notes were used longest ago.
  Notes(const Clock* clock, size_t max_notes, size_t max_principals);

  struct Stored {
    std::string key;
    bool replaced = false;
    std::optional<std::string> dropped;  // the key of the oldest note, which had to go
    size_t notes = 0;                    // of the principal now
  };
  // Keeps it as the newest; a note with the same key goes. Without a key it gets one, `note-N`.
  Stored Store(absl::string_view principal, Note note);
  // False when there is none.
  bool Forget(absl::string_view principal, absl::string_view key);

  std::optional<Note> Find(absl::string_view principal, absl::string_view key);
  struct Found {
    std::vector<Note> notes;
    size_t total = 0;  // also those over the limit
  };
  // Those with the tag (empty: any) and at least one of the words in key, tags or text (no words:
  // all): those with more of the words first, then the newest. Words are runs of letters and digits
  // and of all characters that are not ASCII; the case of ASCII letters does not count.
  Found Search(absl::string_view principal, absl::string_view words, absl::string_view tag,
               size_t limit);

 private:
  struct Book {
    std::map<uint64_t, Note> notes;  // by age
    absl::flat_hash_map<std::string, uint64_t> by_key;
    uint64_t last_number = 0;
    uint64_t last_used = 0;
  };
  Book* FindBook(absl::string_view principal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Book& MakeBook(absl::string_view principal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  const size_t max_notes_, max_principals_;
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, Book> books_ ABSL_GUARDED_BY(mu_);
  uint64_t uses_ ABSL_GUARDED_BY(mu_) = 0;
};

// None unless enabled. `clock` and `executor` outlive the tools' calls.
std::vector<ToolFactory> MakeMemoryTools(const v1::MemoryToolsConfig& config, const Clock* clock,
                                         Executor* executor);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_MEMORY_H_
