// Going through a folder and what is in it, in the same order each time.
#ifndef TOOLRACK_REGISTRY_BUILTIN_FILES_WALK_H_
#define TOOLRACK_REGISTRY_BUILTIN_FILES_WALK_H_

#include <re2/re2.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/stop.h"
#include "registry/builtin/files/root.h"

namespace toolrack {

// One thing on the way. Valid while it is visited.
struct WalkEntry {
  absl::string_view path;  // relative to the root
  absl::string_view name;
  const struct stat* info;  // of a link itself
  // For a regular file: opens it, unless it is another kind of thing by now.
  absl::FunctionRef<absl::StatusOr<FileRoot::File>()> open;
};

// What a walk did not go into.
struct WalkLosses {
  uint64_t unreadable = 0;  // folders that could not be opened
  uint64_t bad_names = 0;   // names that are not UTF-8
  bool bounded = false;     // a bound on the number of things was met
};

// Visits all below `path` (not itself) down to `depth` (1: what is in it), or just `path` when it
// is a file: names in bytewise order, a folder before what is in it. Links are visited and never
// followed. Ends when `visit` returns false. CANCELLED when it was stopped.
absl::Status Walk(const FileRoot& root, absl::string_view path, uint32_t depth,
                  const StopToken& stop, WalkLosses& losses,
                  absl::FunctionRef<bool(const WalkEntry&)> visit);

// `*` any characters but `/`, `?` one of them, `**` any characters, `**/` also nothing; all others
// stand for themselves. Without a `/` it is for the name, else for the path.
class Glob {
 public:
  explicit Glob(absl::string_view pattern);
  bool Matches(const WalkEntry& entry) const;

 private:
  bool on_path_;
  std::unique_ptr<RE2> pattern_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_FILES_WALK_H_
