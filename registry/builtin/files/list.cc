// file_list.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/status_macros.h"
#include "registry/builtin/files/files.h"
#include "registry/builtin/files/walk.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

constexpr uint32_t kMaxDepth = 64;

struct ListArgs {
  std::string path;
  std::optional<std::string> glob;
  uint32_t depth = 1;
  static auto Describe() {
    return Fields(
        Field("path", &ListArgs::path, "The folder to list, relative to the tools' folder.")
            .MinLength(1)
            .Default("."),
        Field("glob", &ListArgs::glob,
              "Only what fits: * any characters but /, ? one of them, ** any. Without a / it is "
              "for names (*.md), else for paths from the tools' folder (src/**/*.cc).")
            .MinLength(1)
            .MaxLength(1000),
        Field("depth", &ListArgs::depth, "How many levels down; 1 is only what is in it.")
            .Min(1)
            .Max(kMaxDepth)
            .Default(1));
  }
};

struct ListEntry {
  std::string path, kind;
  std::optional<uint64_t> size;
  static auto Describe() {
    return Fields(Field("path", &ListEntry::path, "Relative to the tools' folder."),
                  Field("kind", &ListEntry::kind, "file, folder, link or other"),
                  Field("size", &ListEntry::size, "Bytes of a file."));
  }
};

struct Listing {
  std::vector<ListEntry> entries;
  uint64_t left_out = 0, unreadable_folders = 0, unreadable_names = 0;
  bool complete = true;
  static auto Describe() {
    return Fields(Field("entries", &Listing::entries, ""),
                  Field("left_out", &Listing::left_out, "Fit, but were too many."),
                  Field("unreadable_folders", &Listing::unreadable_folders, ""),
                  Field("unreadable_names", &Listing::unreadable_names, "Not UTF-8."),
                  Field("complete", &Listing::complete, "Nothing was left out."));
  }
};

const char* KindOf(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "folder";
  return S_ISLNK(mode) ? "link" : "other";
}

absl::StatusOr<Listing> List(const FileTools& tools, const ListArgs& args, const StopToken& stop) {
  std::optional<Glob> glob;
  if (args.glob.has_value()) glob.emplace(*args.glob);
  Listing out;
  WalkLosses losses;
  TR_RETURN_IF_ERROR(
      Walk(*tools.root, args.path, args.depth, stop, losses, [&](const WalkEntry& entry) {
        if (glob.has_value() && !glob->Matches(entry)) return true;
        if (out.entries.size() == tools.max_entries) {
          ++out.left_out;
          return true;
        }
        ListEntry& added = out.entries.emplace_back();
        added.path = std::string(entry.path);
        added.kind = KindOf(entry.info->st_mode);
        if (S_ISREG(entry.info->st_mode)) added.size = static_cast<uint64_t>(entry.info->st_size);
        return true;
      }));
  out.unreadable_folders = losses.unreadable;
  out.unreadable_names = losses.bad_names;
  out.complete =
      out.left_out == 0 && losses.unreadable == 0 && losses.bad_names == 0 && !losses.bounded;
  return out;
}

}  // namespace

ToolFactory MakeFileListTool(const FileTools& tools) {
  return MakeBlockingTool(
      tools.executor,
      ToolSpec("file_list",
               absl::StrCat("Lists what is in a folder, sorted by name, with the size of files; on "
                            "request also below it, or only what fits a pattern. At most ",
                            tools.max_entries,
                            " entries; says how many were left out. Links are not followed."))
          .Category("file")
          .ReadOnly()
          .Idempotent()
          .OpenWorld(false)
          .Example("which files are in the folder docs")
          .Example("find all markdown files"),
      [tools](const ListArgs& args, ToolCall& call) { return List(tools, args, call.stop); });
}

}  // namespace toolrack
