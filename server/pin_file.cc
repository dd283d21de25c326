#include "server/pin_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/json.h"
#include "registry/base/log.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

constexpr int kVersion = 1;
constexpr size_t kMaxBytes = 256 << 20;

absl::Status Wrong(const std::string& path, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("The state file ", path, " cannot be used: ", what,
                   ". Mend it, or move it away to start with nothing known."));
}

absl::Status Failed(const std::string& path, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(what, " ", path, ": ", strerror(errno), "."));
}

// Closes.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int operator*() const { return fd_; }

 private:
  const int fd_;
};

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  char buffer[64 << 10];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed(path, "Reading");
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxBytes) return Wrong(path, "it is larger than 256 MiB");
  }
}

absl::Status WriteAll(int fd, absl::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed(path, "Writing");
    text.remove_prefix(static_cast<size_t>(count));
  }
  if (::fsync(fd) != 0) return Failed(path, "Writing");
  return absl::OkStatus();
}

}  // namespace

PinFile::PinFile(std::string folder, Executor* executor)
    : folder_(std::move(folder)), executor_(executor) {}

absl::Status PinFile::Load(Pins& pins) {
  if (folder_.empty()) return absl::OkStatus();
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed(folder_, "Creating the state folder");
  }
  struct stat info;
  if (::stat(folder_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Wrong(folder_, "it is no folder");
  }
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Wrong(folder_, "others may write there; it must be the daemon's own, mode 0700");
  }
  const Fd fd(::open(path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (*fd < 0) return errno == ENOENT ? absl::OkStatus() : Failed(path(), "Opening");
  TR_ASSIGN_OR_RETURN(const std::string text, ReadAll(*fd, path()));
  JsonLimits limits;
  limits.max_bytes = kMaxBytes;
  const absl::StatusOr<Json> value = ParseJsonOrStatus(text, limits);
  if (!value.ok()) return Wrong(path(), value.status().message());
  const auto list = value->find("pins");
  if (!value->is_object() || !value->contains("version") || (*value)["version"] != kVersion ||
      list == value->end() || !list->is_array()) {
    return Wrong(path(), "it is not what this daemon writes");
  }
  std::vector<Pins::Pin> known;
  for (const Json& pin : *list) {
    if (!pin.is_array() || pin.size() != 2 || !pin[0].is_string() || !pin[1].is_string()) {
      return Wrong(path(), "it is not what this daemon writes");
    }
    known.push_back({pin[0].get<std::string>(), pin[1].get<std::string>()});
  }
  pins.Load(std::move(known));
  return absl::OkStatus();
}

void PinFile::Changed(const Pins& pins) {
  if (folder_.empty() || posted_.exchange(true)) return;
  const bool taken = executor_->Post([this, &pins] {
    posted_.store(false);
    if (absl::Status status = Save(pins); !status.ok()) LogWarning(status.message());
  });
  if (!taken) posted_.store(false);
}

absl::Status PinFile::Save(const Pins& pins) const {
  if (folder_.empty()) return absl::OkStatus();
  Json list = Json::array();
  for (Pins::Pin& pin : pins.List()) {
    list.push_back(Json::array({std::move(pin.name), std::move(pin.digest)}));
  }
  const std::string text =
      DumpJson(Json::object({{"version", kVersion}, {"pins", std::move(list)}})) + "\n";
  const std::string beside = path() + ".new";
  {
    const Fd fd(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (*fd < 0) return Failed(beside, "Opening");
    TR_RETURN_IF_ERROR(WriteAll(*fd, text, beside));
  }
  if (::rename(beside.c_str(), path().c_str()) != 0) return Failed(path(), "Replacing");
  return absl::OkStatus();
}

}  // namespace toolrack
