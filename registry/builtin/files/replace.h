// Putting content in a file's place, whole or not at all.
#ifndef TOOLRACK_REGISTRY_BUILTIN_FILES_REPLACE_H_
#define TOOLRACK_REGISTRY_BUILTIN_FILES_REPLACE_H_

#include <sys/stat.h>

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/stop.h"
#include "registry/builtin/files/root.h"

namespace toolrack {

// What is at the place: nullopt when nothing is; an error when it is no regular file (a link is
// none: what is written is named itself).
absl::StatusOr<std::optional<struct stat>> LookAt(const FileRoot::Place& place,
                                                  absl::string_view path);

// Writes another file beside it and renames that one: whoever reads sees the old or the new
// content, and after a failure the old one. `old` (LookAt) gives its permissions to the new one,
// without set-user and set-group; a new file gets those of the process's umask. Without `old`
// nothing is replaced: ALREADY_EXISTS when there is something by now.
absl::Status ReplaceFile(const FileRoot::Place& place, absl::string_view path,
                         const std::optional<struct stat>& old, absl::string_view content,
                         const StopToken& stop);

absl::Status FileExists(absl::string_view path);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_FILES_REPLACE_H_
