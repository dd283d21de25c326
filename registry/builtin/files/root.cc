#include "registry/builtin/files/root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

// The kernel gives up on `..` while something on the way is being renamed; the next try is as good.
constexpr int kTries = 64;

int OpenBeneath(int folder, const char* path, int flags) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int i = 1;; ++i) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof(how)));
    if (fd >= 0 || i == kTries || (errno != EAGAIN && errno != EINTR)) return fd;
  }
}

std::string Quoted(absl::string_view path) { return absl::StrCat("\"", ForMessage(path), "\""); }

absl::Status CheckPath(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("The path is empty. Give a file's path.");
  if (path.find('\0') == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError("The path has a NUL character; no file's path does.");
}

absl::Status NotRegular(absl::string_view path, mode_t mode) {
  if (S_ISDIR(mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(path), " is a folder, not a file. See what is in it with file_list."));
  }
  return absl::InvalidArgumentError(absl::StrCat(Quoted(path), " is ", KindOfFile(mode),
                                                 ", not a file. Only regular files can be used."));
}

}  // namespace

const char* KindOfFile(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

absl::Status FileError(int error, absl::string_view path) {
  const std::string what = Quoted(path);
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(
          absl::StrCat("There is no ", what, ". Look for it with file_list."));
    case ENOTDIR:
      return absl::InvalidArgumentError(absl::StrCat(
          what, " goes through something that is no folder. Look with file_list what is there."));
    case EISDIR:
      return absl::InvalidArgumentError(
          absl::StrCat(what, " is a folder, not a file. See what is in it with file_list."));
    case EXDEV:
      return absl::InvalidArgumentError(absl::StrCat(
          what,
          " leads out of the folder of these tools, by `..`, as an absolute path or by a "
          "link. Give a path that is relative to the folder and stays inside it."));
    case ELOOP:
      return absl::InvalidArgumentError(absl::StrCat(
          what, " leads through a link that may not be followed. Name the file itself."));
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(
          absl::StrCat(what, " is too long: a name has at most 255 bytes, a path 4,095."));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(
          "The tool server may not use ", what, ". Use another file, or ask for its permissions."));
    case EROFS:
      return absl::PermissionDeniedError(
          absl::StrCat(what, " lies on a read-only file system. Use another place."));
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(
          absl::StrCat("There is no space left to write ", what, ". Nothing was changed."));
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return absl::UnavailableError(
          absl::StrCat(what, " could not be used just now (", strerror(error), "). Try again."));
    default:
      return absl::UnknownError(absl::StrCat(what, " could not be used: ", strerror(error), "."));
  }
}

absl::StatusOr<std::shared_ptr<const FileRoot>> FileRoot::Open(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return absl::InvalidArgumentError(
        absl::StrCat("builtin.files.root: ", ForMessage(folder), " cannot be used (",
                     strerror(errno), "): name a folder that is there, or take the setting out"));
  }
  const Fd probe(OpenBeneath(fd.get(), ".", O_PATH | O_DIRECTORY));
  if (!probe) {
    return absl::FailedPreconditionError(absl::StrCat(
        "builtin.files.root: the file tools need the system call openat2, and it does not work "
        "here (",
        strerror(errno),
        "): run on Linux 5.6 or later and with a seccomp profile that allows openat2, or take the "
        "setting out"));
  }
  return std::shared_ptr<const FileRoot>(new FileRoot(std::move(fd)));
}

Fd FileRoot::Resolve(const std::string& path, int flags) const {
  return Fd(OpenBeneath(folder_.get(), path.c_str(), flags));
}

absl::StatusOr<FileRoot::File> FileRoot::OpenAny(absl::string_view path) const {
  TR_RETURN_IF_ERROR(CheckPath(path));
  const std::string text(path);
  // A look first: opening a device can do something by itself.
  File file;
  file.fd = Resolve(text, O_PATH);
  if (!file.fd || ::fstat(file.fd.get(), &file.info) != 0) return FileError(errno, path);
  if (!S_ISREG(file.info.st_mode) && !S_ISDIR(file.info.st_mode)) {
    return NotRegular(path, file.info.st_mode);
  }
  // It may be another one by now, so nothing is waited for and what was opened is looked at again.
  file.fd = Resolve(text, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.fd || ::fstat(file.fd.get(), &file.info) != 0) return FileError(errno, path);
  if (!S_ISREG(file.info.st_mode) && !S_ISDIR(file.info.st_mode)) {
    return NotRegular(path, file.info.st_mode);
  }
  return file;
}

absl::StatusOr<FileRoot::File> FileRoot::OpenFile(absl::string_view path) const {
  TR_ASSIGN_OR_RETURN(File file, OpenAny(path));
  if (!S_ISREG(file.info.st_mode)) return NotRegular(path, file.info.st_mode);
  return file;
}

absl::Status FileRoot::MakeFolder(const std::string& path) const {
  TR_ASSIGN_OR_RETURN(const Place place, OpenParent(path, /*create=*/true));
  // Somebody else may have made it meanwhile.
  if (::mkdirat(place.folder.get(), place.name.c_str(), 0777) != 0 && errno != EEXIST) {
    return FileError(errno, path);
  }
  return absl::OkStatus();
}

absl::StatusOr<FileRoot::Place> FileRoot::OpenParent(absl::string_view path, bool create) const {
  TR_RETURN_IF_ERROR(CheckPath(path));
  const size_t slash = path.rfind('/');
  absl::string_view folder = slash == path.npos ? "." : path.substr(0, slash);
  Place place;
  place.name = std::string(slash == path.npos ? path : path.substr(slash + 1));
  if (place.name.empty() || place.name == "." || place.name == "..") {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(path), " names a folder. Give the path of a file."));
  }
  while (folder.size() > 1 && folder.back() == '/') folder.remove_suffix(1);
  if (folder.empty()) folder = "/";  // refused by the kernel
  const std::string text(folder);
  place.folder = Resolve(text, O_PATH | O_DIRECTORY);
  if (!place.folder && errno == ENOENT && create) {
    TR_RETURN_IF_ERROR(MakeFolder(text));
    place.folder = Resolve(text, O_PATH | O_DIRECTORY);
  }
  if (!place.folder) {
    const int error = errno;
    if (error == ENOENT) {
      return absl::NotFoundError(
          absl::StrCat("There is no folder ", Quoted(folder),
                       ". Look with file_list, or make it on the way with `create_parents`."));
    }
    return FileError(error, path);
  }
  return place;
}

}  // namespace toolrack
