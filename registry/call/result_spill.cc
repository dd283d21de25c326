#include "registry/call/result_spill.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

absl::Status Failed(absl::string_view what, const std::string& folder) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " in results.spill_dir ", folder, " failed: ", strerror(errno), "."));
}

class MemoryBody final : public ResultBody {
 public:
  explicit MemoryBody(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  absl::StatusOr<std::string> Read(uint64_t from, uint64_t length) const override {
    return from >= bytes_.size() ? std::string() : bytes_.substr(from, length);
  }

 private:
  const std::string bytes_;
};

class FileBody final : public ResultBody {
 public:
  FileBody(int fd, uint64_t size) : fd_(fd), size_(size) {}
  ~FileBody() override { ::close(fd_); }
  uint64_t size() const override { return size_; }
  absl::StatusOr<std::string> Read(uint64_t from, uint64_t length) const override {
    if (from >= size_) return std::string();
    std::string out(std::min(length, size_ - from), '\0');
    size_t have = 0;
    while (have < out.size()) {
      const ssize_t count =
          ::pread(fd_, out.data() + have, out.size() - have, static_cast<off_t>(from + have));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        return absl::InternalError(
            absl::StrCat("reading a kept result failed: ",
                         count == 0 ? "it is shorter than it was" : strerror(errno)));
      }
      have += static_cast<size_t>(count);
    }
    return out;
  }

 private:
  const int fd_;
  const uint64_t size_;
};

class FileSpill final : public ResultSpill {
 public:
  explicit FileSpill(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::shared_ptr<const ResultBody>> Write(absl::string_view bytes) override {
    const int fd = OpenNameless();
    if (fd < 0) return Failed("Opening a file", folder_);
    auto body = std::make_shared<const FileBody>(fd, bytes.size());
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Failed("Writing", folder_);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return std::shared_ptr<const ResultBody>(std::move(body));
  }

 private:
  int OpenNameless() const {
    const int fd = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
    // A file system without them (overlayfs of old, NFS): made and unlinked at once.
    const std::string path = absl::StrCat(folder_, "/", RandomId());
    const int named = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (named >= 0) ::unlink(path.c_str());
    return named;
  }

  const std::string folder_;
};

}  // namespace

std::shared_ptr<const ResultBody> MakeMemoryBody(std::string bytes) {
  return std::make_shared<const MemoryBody>(std::move(bytes));
}

absl::StatusOr<std::unique_ptr<ResultSpill>> MakeFileSpill(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed("Creating the folder", folder);
  }
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) return Failed("Looking", folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("results.spill_dir ", folder,
                     " must be a folder of the daemon's own user that others cannot write to."));
  }
  auto spill = std::make_unique<FileSpill>(folder);
  // What cannot be written now will not be later: say so at the start.
  const auto tried = spill->Write("x");
  if (!tried.ok()) return tried.status();
  return std::unique_ptr<ResultSpill>(std::move(spill));
}

}  // namespace toolrack
