// file_write and file_edit.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "registry/builtin/files/content.h"
#include "registry/builtin/files/files.h"
#include "registry/builtin/files/replace.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

constexpr size_t kPlacesShown = 10;

struct WriteArgs {
  std::string path, content;
  bool overwrite = false, create_parents = false;
  static auto Describe() {
    return Fields(
        Field("path", &WriteArgs::path, "The file, relative to the tools' folder.").MinLength(1),
        Field("content", &WriteArgs::content, "All that is to be in it."),
        Field("overwrite", &WriteArgs::overwrite, "Replace the file when it is there already.")
            .Default(false),
        Field("create_parents", &WriteArgs::create_parents,
              "Make the folders on the way that are not there.")
            .Default(false));
  }
};

struct Written {
  std::string path;
  uint64_t size = 0;
  bool replaced = false;
  static auto Describe() {
    return Fields(Field("path", &Written::path, ""), Field("size", &Written::size, ""),
                  Field("replaced", &Written::replaced, "There was a file before."));
  }
};

absl::StatusOr<Written> Write(const FileTools& tools, const WriteArgs& args,
                              const StopToken& stop) {
  if (args.content.size() > tools.max_file_bytes) {
    return absl::OutOfRangeError(absl::StrCat("`content` has ", args.content.size(),
                                              " bytes; a file may have at most ",
                                              tools.max_file_bytes, ". Write several files."));
  }
  absl::MutexLock lock(tools.writing.get());
  TR_ASSIGN_OR_RETURN(const FileRoot::Place place,
                      tools.root->OpenParent(args.path, args.create_parents));
  TR_ASSIGN_OR_RETURN(const std::optional<struct stat> old, LookAt(place, args.path));
  if (old.has_value() && !args.overwrite) return FileExists(args.path);
  TR_RETURN_IF_ERROR(ReplaceFile(place, args.path, old, args.content, stop));
  return Written{args.path, args.content.size(), old.has_value()};
}

struct EditArgs {
  std::string path, old_text, new_text;
  bool all = false;
  static auto Describe() {
    return Fields(
        Field("path", &EditArgs::path, "The file, relative to the tools' folder.").MinLength(1),
        Field("old_text", &EditArgs::old_text,
              "The text to replace, exactly as it stands in the file, with its spaces and line "
              "breaks. It must occur once, unless `all` is given: take in enough around it.")
            .MinLength(1),
        Field("new_text", &EditArgs::new_text, "What stands there afterwards; may be empty."),
        Field("all", &EditArgs::all, "Replace it wherever it occurs.").Default(false));
  }
};

struct Edited {
  std::string path;
  uint64_t replaced = 0, size = 0;
  std::vector<uint64_t> lines;
  static auto Describe() {
    return Fields(Field("path", &Edited::path, ""),
                  Field("replaced", &Edited::replaced, "How many places."),
                  Field("lines", &Edited::lines, "Where, before the change; the first ones."),
                  Field("size", &Edited::size, "Bytes of the file now."));
  }
};

absl::Status NotThere(const EditArgs& args, absl::string_view text) {
  std::string hint = "Read the file and copy the text as it stands there.";
  if (absl::StrContains(text, "\r\n") && absl::StrContains(args.old_text, "\n") &&
      !absl::StrContains(args.old_text, "\r\n")) {
    hint = "The lines of this file end with \\r\\n: write its line breaks so.";
  }
  return absl::NotFoundError(absl::StrCat("`old_text` does not occur in \"", ForMessage(args.path),
                                          "\"; nothing was changed. ", hint));
}

absl::StatusOr<Edited> Edit(const FileTools& tools, const EditArgs& args, const StopToken& stop) {
  absl::MutexLock lock(tools.writing.get());
  TR_ASSIGN_OR_RETURN(const FileRoot::Place place, tools.root->OpenParent(args.path, false));
  TR_ASSIGN_OR_RETURN(const std::optional<struct stat> old, LookAt(place, args.path));
  if (!old.has_value()) return FileError(ENOENT, args.path);
  FileRoot::File file;
  file.fd.Reset(::openat(place.folder.get(), place.name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.fd || ::fstat(file.fd.get(), &file.info) != 0) return FileError(errno, args.path);
  if (!S_ISREG(file.info.st_mode)) return FileError(ENOENT, args.path);
  TR_ASSIGN_OR_RETURN(const std::string text,
                      ReadWhole(file, args.path, tools.max_file_bytes, stop));
  if (!IsText(text)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", ForMessage(args.path), "\" is not UTF-8 text; only text can be edited."));
  }
  Edited out;
  out.path = args.path;
  std::string changed;
  uint64_t line = 1;
  size_t from = 0;
  for (size_t at = text.find(args.old_text); at != std::string::npos;
       at = text.find(args.old_text, from)) {
    line += static_cast<uint64_t>(std::count(text.begin() + static_cast<ptrdiff_t>(from),
                                             text.begin() + static_cast<ptrdiff_t>(at), '\n'));
    if (out.lines.size() < kPlacesShown) out.lines.push_back(line);
    absl::StrAppend(&changed, absl::string_view(text).substr(from, at - from), args.new_text);
    line += static_cast<uint64_t>(std::count(args.old_text.begin(), args.old_text.end(), '\n'));
    from = at + args.old_text.size();
    ++out.replaced;
    if (changed.size() > tools.max_file_bytes) break;
  }
  if (out.replaced == 0) return NotThere(args, text);
  if (out.replaced > 1 && !args.all) {
    std::string places;
    for (const uint64_t place_line : out.lines) {
      absl::StrAppend(&places, places.empty() ? "" : ", ", place_line);
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "`old_text` occurs ", out.replaced, " times in \"", ForMessage(args.path), "\", in lines ",
        places, out.replaced > out.lines.size() ? " and more" : "",
        "; nothing was changed. Take in more of what stands around the one you mean, or give "
        "`all`."));
  }
  changed.append(text, from);
  out.size = changed.size();
  if (out.size > tools.max_file_bytes) {
    return absl::OutOfRangeError(absl::StrCat("The file would be larger than the most, ",
                                              tools.max_file_bytes,
                                              " bytes; nothing was changed. Write several files."));
  }
  // Somebody else may have changed it since it was read: theirs is not undone.
  TR_ASSIGN_OR_RETURN(const std::optional<struct stat> now, LookAt(place, args.path));
  const auto same = [&now](const struct stat& then) {
    return then.st_dev == now->st_dev && then.st_ino == now->st_ino &&
           then.st_size == now->st_size && then.st_mtim.tv_sec == now->st_mtim.tv_sec &&
           then.st_mtim.tv_nsec == now->st_mtim.tv_nsec;
  };
  if (!now.has_value() || !same(file.info)) {
    return absl::AbortedError(
        absl::StrCat("\"", ForMessage(args.path),
                     "\" was changed by somebody else meanwhile; nothing was changed. Read it "
                     "again, then edit."));
  }
  TR_RETURN_IF_ERROR(ReplaceFile(place, args.path, now, changed, stop));
  return out;
}

}  // namespace

ToolFactory MakeFileWriteTool(const FileTools& tools) {
  return MakeBlockingTool(
      tools.executor,
      ToolSpec(
          "file_write",
          absl::StrCat("Writes a text file, whole. A file that is there already is replaced "
                       "only with `overwrite`. At most ",
                       tools.max_file_bytes, " bytes. To change a part of a file use file_edit."))
          .Category("file")
          .ReadOnly(false)
          .Destructive()
          .Idempotent()
          .OpenWorld(false)
          .Example("save this as notes.md"),
      [tools](const WriteArgs& args, ToolCall& call) { return Write(tools, args, call.stop); });
}

ToolFactory MakeFileEditTool(const FileTools& tools) {
  return MakeBlockingTool(
      tools.executor,
      ToolSpec("file_edit",
               "Replaces a text in a file by another, exactly. The text must occur once in it, or "
               "all its places are replaced with `all`; otherwise nothing is changed and the "
               "answer says how often and in which lines it occurs.")
          .Category("file")
          .ReadOnly(false)
          .Destructive()
          .Idempotent(false)
          .OpenWorld(false)
          .Example("rename this function in main.py")
          .Example("fix the typo in the README"),
      [tools](const EditArgs& args, ToolCall& call) { return Edit(tools, args, call.stop); });
}

}  // namespace toolrack
