#include "server/rpc/runtime_dir.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "registry/base/log.h"

namespace toolrack {
namespace {

absl::Status Unusable(const std::string& path, const char* what) {
  return absl::FailedPreconditionError(
      absl::StrCat("The runtime folder ", path, " cannot be used: ", what, ": ", strerror(errno),
                   ". Give another one with --runtime-dir."));
}

std::string HolderOf(int lock) {
  char text[32];
  const ssize_t size = ::pread(lock, text, sizeof text - 1, 0);
  const std::string pid(absl::StripAsciiWhitespace(
      absl::string_view(text, size > 0 ? static_cast<size_t>(size) : 0)));
  return pid.empty() ? "another daemon" : absl::StrCat("another daemon (pid ", pid, ")");
}

}  // namespace

absl::StatusOr<gid_t> GroupOf(const std::string& name_or_number) {
  uint32_t number = 0;
  if (absl::SimpleAtoi(name_or_number, &number)) return static_cast<gid_t>(number);
  group entry;
  group* found = nullptr;
  std::vector<char> buffer(64 << 10);
  ::getgrnam_r(name_or_number.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("There is no group named ", name_or_number, " (socket_group)."));
  }
  return found->gr_gid;
}

absl::StatusOr<std::unique_ptr<RuntimeDir>> RuntimeDir::Create(const std::string& path,
                                                               std::optional<gid_t> group) {
  const bool made = ::mkdir(path.c_str(), 0750) == 0;
  if (!made && errno != EEXIST) return Unusable(path, "making it failed");
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return Unusable(path, "looking at it failed");
  if (!S_ISDIR(info.st_mode)) {
    errno = ENOTDIR;
    return Unusable(path, "it is no folder");
  }
  // The umask may have taken more away than we want.
  if (made && ::chmod(path.c_str(), 0750) != 0) return Unusable(path, "chmod failed");
  if (made && group.has_value() && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return Unusable(path, "giving it to the socket group failed");
  }
  if ((info.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH && !made) {
    LogWarning(absl::StrCat("everybody may write the runtime folder ", path,
                            ": others could put their sockets in the place of ours"));
  }
  const std::string file = absl::StrCat(path, "/toolrackd.lock");
  const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return Unusable(path, "opening toolrackd.lock failed");
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const absl::Status status = absl::AlreadyExistsError(
        absl::StrCat("The runtime folder ", path, " is in use by ", HolderOf(lock),
                     ". Stop it, or give another folder with --runtime-dir."));
    ::close(lock);
    return status;
  }
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(lock, 0) != 0 ||
      ::pwrite(lock, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const absl::Status status = Unusable(path, "writing toolrackd.lock failed");
    ::close(lock);
    return status;
  }
  return std::unique_ptr<RuntimeDir>(new RuntimeDir(path, lock));
}

// The file stays: removing it would let a third daemon lock a new file while a second one waits on
// the old one.
RuntimeDir::~RuntimeDir() { ::close(lock_); }

}  // namespace toolrack
