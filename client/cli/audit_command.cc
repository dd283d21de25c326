// audit: the daemon's record of calls, the newest lines of it and what comes.
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "client/cli/text.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr size_t kBlock = 256 << 10;
constexpr int kLookMs = 250;  // how often a file is looked at that is followed

struct AuditOptions {
  std::string file;
  std::string tool;
  std::string principal;
  std::string outcome;
  size_t lines = 20;
  bool follow = false;
};

std::string Member(const Json& record, const char* name) {
  const auto at = record.find(name);
  if (at == record.end()) return "";
  return at->is_string() ? at->get<std::string>() : at->dump();
}

bool Matches(const std::string& glob, const std::string& text) {
  return glob.empty() || ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

class Reader {
 public:
  Reader(CommandLine& line, const AuditOptions& options) : line_(line), options_(options) {}
  ~Reader() { Close(); }

  bool Open() {
    Close();
    fd_ = ::open(options_.file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) return false;
    device_ = info.st_dev;
    inode_ = info.st_ino;
    position_ = 0;
    return true;
  }

  // The last lines that fit, oldest first; reads backwards no further than it must.
  bool ShowLast() {
    struct stat info;
    if (::fstat(fd_, &info) != 0) return false;
    std::deque<std::string> found;
    std::string tail;  // of the line that the last block began in the middle of
    off_t at = info.st_size;
    bool whole = false;  // the text behind `tail` ends a line
    while (at > 0 && found.size() < options_.lines) {
      const size_t size = std::min<off_t>(at, kBlock);
      at -= static_cast<off_t>(size);
      std::string block(size, '\0');
      if (!ReadAt(block, at)) return false;
      block.append(tail);
      if (!whole) {
        // What is being written just now is not looked at.
        const size_t end = block.rfind('\n');
        if (end == std::string::npos) {
          tail = std::move(block);
          continue;
        }
        position_ = at + static_cast<off_t>(end) + 1;
        block.resize(end);
        whole = true;
      }
      while (found.size() < options_.lines) {
        const size_t begin = block.rfind('\n');
        if (begin == std::string::npos) break;
        Keep(block.substr(begin + 1), found);
        block.resize(begin);
      }
      tail = std::move(block);
    }
    if (at == 0 && whole && found.size() < options_.lines) Keep(tail, found);
    for (const std::string& each : found) Show(each);
    return true;
  }

  // Shows what was appended. False: it cannot be read.
  bool ShowNew() {
    std::string block(kBlock, '\0');
    while (true) {
      const ssize_t count = ::pread(fd_, block.data(), block.size(), position_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      if (count == 0) return true;
      position_ += count;
      part_.append(block.data(), static_cast<size_t>(count));
      size_t end;
      while ((end = part_.find('\n')) != std::string::npos) {
        const std::string one = part_.substr(0, end);
        part_.erase(0, end + 1);
        if (Fits(one)) Show(one);
      }
    }
  }

  // The file of that name is another one by now, or was cut short.
  bool Moved() const {
    struct stat info;
    if (::stat(options_.file.c_str(), &info) != 0) return false;  // not there yet
    return info.st_dev != device_ || info.st_ino != inode_ || info.st_size < position_;
  }

 private:
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool ReadAt(std::string& block, off_t at) const {
    size_t have = 0;
    while (have < block.size()) {
      const ssize_t count =
          ::pread(fd_, block.data() + have, block.size() - have, at + static_cast<off_t>(have));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      have += static_cast<size_t>(count);
    }
    return true;
  }
  bool Fits(const std::string& text) const {
    const absl::StatusOr<Json> record = ParseJsonOrStatus(text, {});
    return record.ok() && record->is_object() && Matches(options_.tool, Member(*record, "tool")) &&
           Matches(options_.principal, Member(*record, "principal")) &&
           Matches(options_.outcome, Member(*record, "outcome"));
  }
  void Keep(std::string text, std::deque<std::string>& found) const {
    if (Fits(text)) found.push_front(std::move(text));
  }
  void Show(const std::string& text) {
    if (line_.json()) {
      line_.PrintLine(text);
    } else {
      const absl::StatusOr<Json> record = ParseJsonOrStatus(text, {});
      const std::string row =
          Printable(absl::StrFormat("%s  %-18s %-24s %-16s %8sus  %s", Member(*record, "time"),
                                    Member(*record, "outcome"), Member(*record, "tool"),
                                    Member(*record, "principal"), Member(*record, "duration_us"),
                                    Member(*record, "call_id")),
                    Lines::kKeep);
      const size_t columns = line_.terminal().columns;
      line_.PrintLine(columns > 0 ? CutToWidth(row, columns) : row);
    }
    line_.terminal().out.flush();
  }

  CommandLine& line_;
  const AuditOptions& options_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t position_ = 0;
  std::string part_;  // of a line whose end is not there yet
};

int Unreadable(CommandLine& line, const std::string& file) {
  return line.Fail(absl::FailedPreconditionError(
      absl::StrCat("The audit log ", file, " cannot be read: ", strerror(errno),
                   ". It belongs to the daemon's user; run this as that user, or name a copy of it "
                   "with --file.")));
}

int Audit(CommandLine& line, AuditOptions& options) {
  if (options.file.empty()) {
    const auto client = line.Connect(Scope::kControl);
    if (client == nullptr) return kExitUsage;
    const absl::StatusOr<v1::GetStatusResponse> status = client->GetStatus(line.Options(kPatience));
    if (!status.ok()) return line.Fail(status.status());
    if (status->audit_file().empty()) {
      return line.Fail(absl::FailedPreconditionError(
          "The daemon records no calls. Set audit.file in its configuration."));
    }
    options.file = status->audit_file();
  }
  Reader reader(line, options);
  if (!reader.Open() || !reader.ShowLast()) return Unreadable(line, options.file);
  const StopToken& stop = line.terminal().stop;
  while (options.follow && !stop.stop_requested() && line.terminal().out) {
    if (!reader.ShowNew()) return Unreadable(line, options.file);
    if (reader.Moved()) {
      // What was written to the old one meanwhile comes first.
      if (!reader.ShowNew() || !reader.Open()) return Unreadable(line, options.file);
      continue;
    }
    ::poll(nullptr, 0, kLookMs);
  }
  return kExitOk;
}

}  // namespace

void AddAuditCommand(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<AuditOptions>();
  CLI::App* audit = app.add_subcommand("audit", "The newest records of calls, oldest first.");
  audit->add_option("-n,--lines", options->lines, "How many.")->check(CLI::PositiveNumber);
  audit->add_flag("-f,--follow", options->follow, "Go on with what comes.");
  audit->add_option("--tool", options->tool, "Only tools of this name; `*` stands for any.");
  audit->add_option("--principal", options->principal, "Only this principal; `*` as well.");
  audit->add_option("--outcome", options->outcome,
                    "Only this outcome: `ok`, `tool_error` or a reason; `*` as well.");
  audit->add_option("--file", options->file, "This file instead of the daemon's own.");
  audit->callback(
      [&line, options] { line.Choose([&line, options] { return Audit(line, *options); }); });
}

}  // namespace toolrack
