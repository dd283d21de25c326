#include "server/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "registry/base/fd.h"

namespace toolrack {
namespace {

constexpr int kMostRounds = 20;

struct Seen {
  ProcessId id;
  pid_t parent = 0;
};

// From /proc/PID/stat: its name, in parentheses, may hold anything.
std::optional<Seen> Look(pid_t pid) {
  const Fd fd(::open(absl::StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = fd ? ::read(fd.get(), text, sizeof(text)) : -1;
  if (size <= 0) return std::nullopt;
  const absl::string_view all(text, static_cast<size_t>(size));
  const size_t name_end = all.rfind(") ");
  if (name_end == all.npos) return std::nullopt;
  // After the name: state, parent, …; the start time is the 20th.
  const std::vector<absl::string_view> words = absl::StrSplit(all.substr(name_end + 2), ' ');
  Seen out;
  out.id.pid = pid;
  if (words.size() < 20 || !absl::SimpleAtoi(words[1], &out.parent) ||
      !absl::SimpleAtoi(words[19], &out.id.start_time)) {
    return std::nullopt;
  }
  return out;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::vector<Seen> AllProcesses() {
  std::vector<Seen> out;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir("/proc"));
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    if (std::optional<Seen> seen = Look(pid)) out.push_back(*seen);
  }
  return out;
}

void Signal(const ProcessId& process, int signal) {
  const Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  // The number may have gone to another process before it was opened, not after.
  if (!fd || ProcessOf(process.pid) != process) return;
  ::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0);
}

bool Has(const std::vector<ProcessId>& all, const ProcessId& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

ProcessId ProcessOf(pid_t pid) {
  const std::optional<Seen> seen = Look(pid);
  return seen.has_value() ? seen->id : ProcessId{pid, 0};
}

std::vector<ProcessId> DescendantsOf(const std::vector<ProcessId>& roots) {
  const std::vector<Seen> all = AllProcesses();
  std::vector<ProcessId> family = roots;
  for (size_t i = 0; i < family.size(); ++i) {
    const bool there =
        std::any_of(all.begin(), all.end(), [&](const Seen& seen) { return seen.id == family[i]; });
    if (!there) continue;  // its number may be another one's
    for (const Seen& seen : all) {
      if (seen.parent == family[i].pid && !Has(family, seen.id)) family.push_back(seen.id);
    }
  }
  family.erase(family.begin(), family.begin() + static_cast<ptrdiff_t>(roots.size()));
  return family;
}

void KillTrees(std::vector<ProcessId> roots) {
  for (const ProcessId& process : roots) Signal(process, SIGSTOP);
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<ProcessId> more = DescendantsOf(roots);
    for (const ProcessId& process : more) Signal(process, SIGSTOP);
    roots.insert(roots.end(), more.begin(), more.end());
    if (more.empty()) break;
  }
  for (const ProcessId& process : roots) Signal(process, SIGKILL);
}

}  // namespace toolrack
