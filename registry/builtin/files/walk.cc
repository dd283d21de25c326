#include "registry/builtin/files/walk.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "registry/base/status_macros.h"
#include "registry/base/utf8.h"
#include "registry/builtin/files/content.h"

namespace toolrack {
namespace {

// Bounds on memory and time, far over what a model can use.
constexpr size_t kMaxNames = 100'000;     // of one folder
constexpr uint64_t kMaxVisits = 500'000;  // of one walk

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

class Walker {
 public:
  Walker(const StopToken& stop, WalkLosses& losses, absl::FunctionRef<bool(const WalkEntry&)> visit)
      : stop_(stop), losses_(losses), visit_(visit) {}

  // False: the visitor has enough, or it was stopped.
  bool Folder(Fd fd, const std::string& path, uint32_t depth) {
    const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd.get()));
    if (folder == nullptr) {
      ++losses_.unreadable;
      return true;
    }
    fd.Release();
    const int at = ::dirfd(folder.get());
    for (const std::string& name : NamesIn(*folder)) {
      if (stop_.stop_requested()) return false;
      if (visits_ == kMaxVisits) {
        losses_.bounded = true;
        return false;
      }
      ++visits_;
      struct stat info;
      if (::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone
      const std::string here = path.empty() ? name : absl::StrCat(path, "/", name);
      if (!File(at, name, here, info)) return false;
      if (!S_ISDIR(info.st_mode) || depth <= 1) continue;
      Fd child(
          ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!child) {
        ++losses_.unreadable;
      } else if (!Folder(std::move(child), here, depth - 1)) {
        return false;
      }
    }
    return true;
  }

  bool File(int at, const std::string& name, const std::string& path, const struct stat& info) {
    const auto open = [&]() -> absl::StatusOr<FileRoot::File> {
      FileRoot::File file;
      file.fd.Reset(
          ::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
      if (!file.fd || ::fstat(file.fd.get(), &file.info) != 0) return FileError(errno, path);
      if (!S_ISREG(file.info.st_mode)) return FileError(ENOENT, path);
      return file;
    };
    return visit_({path, name, &info, open});
  }

 private:
  std::vector<std::string> NamesIn(DIR& folder) {
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(&folder)) {
      const absl::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (!IsUtf8(name)) {
        ++losses_.bad_names;
        continue;
      }
      if (names.size() == kMaxNames) {
        losses_.bounded = true;
        break;
      }
      names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const StopToken& stop_;
  WalkLosses& losses_;
  absl::FunctionRef<bool(const WalkEntry&)> visit_;
  uint64_t visits_ = 0;
};

// `a//b/./` is `a/b`; the folder itself is empty.
std::string Tidy(absl::string_view path) {
  std::string out;
  while (!path.empty()) {
    const absl::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    absl::StrAppend(&out, out.empty() ? "" : "/", part);
  }
  return out;
}

}  // namespace

absl::Status Walk(const FileRoot& root, absl::string_view path, uint32_t depth,
                  const StopToken& stop, WalkLosses& losses,
                  absl::FunctionRef<bool(const WalkEntry&)> visit) {
  TR_ASSIGN_OR_RETURN(FileRoot::File start, root.OpenAny(path));
  Walker walker(stop, losses, visit);
  const std::string tidy = Tidy(path);
  if (S_ISDIR(start.info.st_mode)) {
    walker.Folder(std::move(start.fd), tidy, depth);
  } else {
    const struct stat info = start.info;
    const auto open = [&]() -> absl::StatusOr<FileRoot::File> { return std::move(start); };
    const size_t slash = tidy.rfind('/');
    visit(
        {tidy, slash == tidy.npos ? tidy : absl::string_view(tidy).substr(slash + 1), &info, open});
  }
  return stop.stop_requested() ? FilesStopped() : absl::OkStatus();
}

Glob::Glob(absl::string_view pattern) : on_path_(absl::StrContains(pattern, "/")) {
  std::string out;
  while (!pattern.empty()) {
    if (absl::ConsumePrefix(&pattern, "**/")) {
      out += "(?:.*/)?";
    } else if (absl::ConsumePrefix(&pattern, "**")) {
      out += ".*";
    } else if (absl::ConsumePrefix(&pattern, "*")) {
      out += "[^/]*";
    } else if (absl::ConsumePrefix(&pattern, "?")) {
      out += "[^/]";
    } else {
      const size_t plain = std::min(pattern.find_first_of("*?"), pattern.size());
      out += RE2::QuoteMeta({pattern.data(), plain});
      pattern.remove_prefix(plain);
    }
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  pattern_ = std::make_unique<RE2>(out, options);
}

bool Glob::Matches(const WalkEntry& entry) const {
  const absl::string_view text = on_path_ ? entry.path : entry.name;
  return RE2::FullMatch({text.data(), text.size()}, *pattern_);
}

}  // namespace toolrack
