// A folder that nothing opened through it lies outside of.
//
// The kernel keeps the promise (openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, Linux 5.6),
// not a look at the text of the path: `..` above the folder, absolute paths, links that lead out,
// absolute links (wherever they lead) and /proc's magic links are refused while the path is walked,
// so nothing can be swapped in between. Relative links that stay inside are followed when something
// is read; what is written is never a link.
//
// Paths are relative to the folder, of bytes but NUL. Errors are the tool's own verdict in words
// for a model: INVALID_ARGUMENT for a path that can never be, else NOT_FOUND, PERMISSION_DENIED and
// so on; each says what to do next. Thread-safe; everything blocks.
#ifndef TOOLRACK_REGISTRY_BUILTIN_FILES_ROOT_H_
#define TOOLRACK_REGISTRY_BUILTIN_FILES_ROOT_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/fd.h"

namespace toolrack {

class FileRoot {
 public:
  // INVALID_ARGUMENT when the folder is not there, FAILED_PRECONDITION when this system has no
  // openat2 (an old kernel, a seccomp filter).
  static absl::StatusOr<std::shared_ptr<const FileRoot>> Open(const std::string& folder);

  struct File {
    Fd fd;
    struct stat info;
  };
  // A regular file, to read. Nothing else is opened: no device is touched and no FIFO waited for.
  absl::StatusOr<File> OpenFile(absl::string_view path) const;
  // A folder or a regular file, to walk.
  absl::StatusOr<File> OpenAny(absl::string_view path) const;

  struct Place {
    Fd folder;         // what it is in
    std::string name;  // not empty, `.` or `..`, without `/`
  };
  // Where a file is or may be. With `create` the folders on the way are made.
  absl::StatusOr<Place> OpenParent(absl::string_view path, bool create) const;

 private:
  explicit FileRoot(Fd folder) : folder_(std::move(folder)) {}
  // -1 and errno.
  Fd Resolve(const std::string& path, int flags) const;
  absl::Status MakeFolder(const std::string& path) const;

  const Fd folder_;
};

// `errno` of an operation on this path, in words.
absl::Status FileError(int error, absl::string_view path);
// Of what is no regular file: "a folder", "a FIFO" …
const char* KindOfFile(mode_t mode);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_FILES_ROOT_H_
