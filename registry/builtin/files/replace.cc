#include "registry/builtin/files/replace.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/base/status_macros.h"
#include "registry/builtin/files/content.h"

namespace toolrack {
namespace {

constexpr size_t kChunk = 1 << 20;
constexpr mode_t kPermissions = 0777;

// Takes the new file away again unless it was kept.
class NewFile {
 public:
  explicit NewFile(int folder)
      : folder_(folder), name_(absl::StrCat(".toolrack-", RandomId(), ".tmp")) {
    fd_.Reset(::openat(folder_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       0666));
  }
  ~NewFile() {
    if (fd_ && !kept_) ::unlinkat(folder_, name_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  // False and errno.
  bool RenameTo(const std::string& name, bool replace) {
    const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
    if (::renameat2(folder_, name_.c_str(), folder_, name.c_str(), flags) == 0) {
      kept_ = true;
    } else if (errno == EINVAL && !replace) {
      // This file system cannot do that; a second name does not replace either.
      return ::linkat(folder_, name_.c_str(), folder_, name.c_str(), 0) == 0;
    }
    return kept_;
  }

 private:
  const int folder_;
  const std::string name_;
  Fd fd_;
  bool kept_ = false;
};

}  // namespace

absl::Status FileExists(absl::string_view path) {
  return absl::AlreadyExistsError(
      absl::StrCat("\"", ForMessage(path),
                   "\" is there already; it was not changed. Give `overwrite` to replace it, or "
                   "change a part of it with file_edit."));
}

absl::StatusOr<std::optional<struct stat>> LookAt(const FileRoot::Place& place,
                                                  absl::string_view path) {
  struct stat info;
  if (::fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<struct stat>();
    return FileError(errno, path);
  }
  if (S_ISREG(info.st_mode)) return std::optional<struct stat>(info);
  return absl::InvalidArgumentError(
      absl::StrCat("\"", ForMessage(path), "\" is ", KindOfFile(info.st_mode),
                   ", which is not written to. Give the path of a file, or of one that is not "
                   "there yet."));
}

absl::Status ReplaceFile(const FileRoot::Place& place, absl::string_view path,
                         const std::optional<struct stat>& old, absl::string_view content,
                         const StopToken& stop) {
  NewFile file(place.folder.get());
  if (!file) return FileError(errno, path);
  if (old.has_value() && ::fchmod(file.fd(), old->st_mode & kPermissions) != 0) {
    return FileError(errno, path);
  }
  while (!content.empty()) {
    if (stop.stop_requested()) return FilesStopped();
    const ssize_t put = ::write(file.fd(), content.data(), std::min(content.size(), kChunk));
    if (put < 0 && errno != EINTR) return FileError(errno, path);
    if (put > 0) content.remove_prefix(static_cast<size_t>(put));
  }
  if (::fsync(file.fd()) != 0) return FileError(errno, path);
  if (stop.stop_requested()) return FilesStopped();
  if (!file.RenameTo(place.name, old.has_value())) {
    return errno == EEXIST ? FileExists(path) : FileError(errno, path);
  }
  // So that the new name, too, outlives a power cut. That it cannot be done everywhere is no fault.
  const Fd folder(::openat(place.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
  return absl::OkStatus();
}

}  // namespace toolrack
