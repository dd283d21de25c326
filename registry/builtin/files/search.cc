// file_search.
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "registry/base/utf8.h"
#include "registry/builtin/files/content.h"
#include "registry/builtin/files/files.h"
#include "registry/builtin/files/walk.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

constexpr size_t kShownBytes = 400;        // of a line
constexpr uint64_t kFilesPerReport = 100;  // of progress
constexpr uint32_t kMaxDepth = 64;

struct SearchArgs {
  std::string query, path;
  bool regex = false, ignore_case = false;
  std::optional<std::string> glob;
  uint32_t max_matches = 100;
  static auto Describe() {
    return Fields(
        Field("query", &SearchArgs::query, "What to look for within one line.")
            .MinLength(1)
            .MaxLength(1000),
        Field("regex", &SearchArgs::regex,
              "The query is a regular expression (RE2: no look-around, no back references).")
            .Default(false),
        Field("ignore_case", &SearchArgs::ignore_case, "a also finds A.").Default(false),
        Field("path", &SearchArgs::path,
              "The folder or file to search, relative to the tools' folder.")
            .MinLength(1)
            .Default("."),
        Field("glob", &SearchArgs::glob,
              "Only files that fit: * any characters but /, ? one of them, ** any. Without a / it "
              "is for names (*.md), else for paths from the tools' folder (src/**/*.cc).")
            .MinLength(1)
            .MaxLength(1000),
        Field("max_matches", &SearchArgs::max_matches, "Stop after so many lines.")
            .Min(1)
            .Default(100));
  }
};

struct FileMatch {
  std::string path, text;
  uint64_t line = 0;
  static auto Describe() {
    return Fields(Field("path", &FileMatch::path, ""), Field("line", &FileMatch::line, "From 1."),
                  Field("text", &FileMatch::text, "The line, or the part around the place."));
  }
};

struct Found {
  std::vector<FileMatch> matches;
  uint64_t files_searched = 0, too_large = 0, not_text = 0, unreadable = 0;
  bool complete = true;
  static auto Describe() {
    return Fields(Field("matches", &Found::matches, ""),
                  Field("files_searched", &Found::files_searched, ""),
                  Field("too_large", &Found::too_large, "Files left out."),
                  Field("not_text", &Found::not_text, "Files left out."),
                  Field("unreadable", &Found::unreadable, "Files and folders left out."),
                  Field("complete", &Found::complete, "No more lines would be found."));
  }
};

// The line, or what is around the place found: whole characters.
std::string Shown(absl::string_view line, size_t at) {
  if (line.size() <= kShownBytes) return std::string(line);
  size_t from = std::min(at - std::min(at, kShownBytes / 4), line.size() - kShownBytes);
  while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;
  const absl::string_view part = Utf8Prefix(line.substr(from), kShownBytes);
  return absl::StrCat(from > 0 ? "…" : "", part, from + part.size() < line.size() ? "…" : "");
}

class FileSearch {
 public:
  FileSearch(const FileTools& tools, const SearchArgs& args, ToolCall& call)
      : tools_(tools),
        args_(args),
        call_(call),
        most_(std::min(args.max_matches, tools.max_entries)) {}

  absl::StatusOr<Found> Run() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_literal(!args_.regex);
    options.set_case_sensitive(!args_.ignore_case);
    const RE2 pattern(args_.query, options);
    if (!pattern.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("`query` is not a regular expression: ", ForMessage(pattern.error(), 200),
                       ". Mend it, or leave `regex` out to look for the text as it stands."));
    }
    std::optional<Glob> glob;
    if (args_.glob.has_value()) glob.emplace(*args_.glob);
    WalkLosses losses;
    TR_RETURN_IF_ERROR(
        Walk(*tools_.root, args_.path, kMaxDepth, call_.stop, losses, [&](const WalkEntry& entry) {
          if (!S_ISREG(entry.info->st_mode)) return true;
          if (glob.has_value() && !glob->Matches(entry)) return true;
          return File(entry, pattern);
        }));
    found_.unreadable += losses.unreadable + losses.bad_names;
    if (losses.bounded || found_.too_large + found_.unreadable > 0) found_.complete = false;
    return std::move(found_);
  }

 private:
  // False: enough.
  bool File(const WalkEntry& entry, const RE2& pattern) {
    const absl::StatusOr<FileRoot::File> file = entry.open();
    if (!file.ok()) {
      ++found_.unreadable;
      return true;
    }
    const absl::StatusOr<std::string> text =
        ReadWhole(*file, entry.path, tools_.max_file_bytes, call_.stop);
    if (!text.ok()) {
      ++(absl::IsOutOfRange(text.status()) ? found_.too_large : found_.unreadable);
      return true;
    }
    if (!IsText(*text)) {
      ++found_.not_text;
      return true;
    }
    if (++found_.files_searched % kFilesPerReport == 0) Report();
    return Lines(entry.path, *text, pattern);
  }

  bool Lines(absl::string_view path, absl::string_view text, const RE2& pattern) {
    for (uint64_t number = 1; !text.empty(); ++number) {
      absl::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      re2::StringPiece place;
      if (!pattern.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, &place, 1)) {
        continue;
      }
      if (found_.matches.size() == most_) {
        found_.complete = false;
        return false;
      }
      FileMatch& match = found_.matches.emplace_back();
      match.path = std::string(path);
      match.line = number;
      match.text = Shown(line, static_cast<size_t>(place.data() - line.data()));
    }
    return true;
  }

  void Report() {
    v1::Progress progress;
    progress.set_progress(static_cast<double>(found_.files_searched));
    progress.set_message(absl::StrCat(found_.files_searched, " files searched, ",
                                      found_.matches.size(), " lines found"));
    call_.reporter->OnProgress(std::move(progress));
  }

  const FileTools& tools_;
  const SearchArgs& args_;
  ToolCall& call_;
  const uint32_t most_;
  Found found_;
};

}  // namespace

ToolFactory MakeFileSearchTool(const FileTools& tools) {
  return MakeBlockingTool(
      tools.executor,
      ToolSpec("file_search",
               absl::StrCat("Finds lines in text files, by a text or a regular expression, in a "
                            "folder and all below it. Gives path, line number and the line. Files "
                            "over ",
                            tools.max_file_bytes,
                            " bytes and binary files are left out and counted; links are not "
                            "followed."))
          .Category("file")
          .ReadOnly()
          .Idempotent()
          .OpenWorld(false)
          .Example("where is the word timeout used")
          .Example("grep for TODO in the sources"),
      [tools](const SearchArgs& args, ToolCall& call) {
        return FileSearch(tools, args, call).Run();
      });
}

}  // namespace toolrack
