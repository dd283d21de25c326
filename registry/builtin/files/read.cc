// file_read.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "registry/base/utf8.h"
#include "registry/builtin/files/content.h"
#include "registry/builtin/files/files.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

constexpr size_t kLongestCharacter = 4;

struct ReadArgs {
  std::string path;
  std::optional<uint64_t> first_line, lines, offset, length;
  static auto Describe() {
    return Fields(
        Field("path", &ReadArgs::path, "The file, relative to the folder, e.g. notes/todo.txt")
            .MinLength(1),
        Field("first_line", &ReadArgs::first_line,
              "Read lines, from this one on; the first line is 1.")
            .Min(1),
        Field("lines", &ReadArgs::lines, "Read at most so many lines.").Min(1),
        Field("offset", &ReadArgs::offset,
              "Read bytes, from this one on; the first byte is 0. For large or binary files."),
        Field("length", &ReadArgs::length, "Read at most so many bytes.").Min(kLongestCharacter));
  }
};

// What goes beside the content.
struct ReadReport {
  std::string path;
  uint64_t size = 0;  // of the file, in bytes
  std::optional<uint64_t> first_line, next_line, total_lines, offset, next_offset;
  bool eof = true;
  static auto Describe() {
    return Fields(Field("path", &ReadReport::path, ""), Field("size", &ReadReport::size, ""),
                  Field("first_line", &ReadReport::first_line, ""),
                  Field("next_line", &ReadReport::next_line, ""),
                  Field("total_lines", &ReadReport::total_lines, ""),
                  Field("offset", &ReadReport::offset, ""),
                  Field("next_offset", &ReadReport::next_offset, ""),
                  Field("eof", &ReadReport::eof, ""));
  }
};

// RFC 3986, the path of a `file:` URI that is relative to the folder.
std::string UriOf(absl::string_view path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) ||
        absl::string_view("-._~/").find(c) != absl::string_view::npos) {
      out.push_back(c);
    } else {
      absl::StrAppend(&out, "%", std::string(1, kHex[byte >> 4]), std::string(1, kHex[byte & 15]));
    }
  }
  return out;
}

v1::ToolResult ResultOfPiece(std::string bytes, const ReadReport& report, std::string summary) {
  v1::ToolResult result;
  v1::Content& content = *result.add_content();
  if (IsText(bytes)) {
    content.mutable_text()->set_text(std::move(bytes));
  } else {
    content.mutable_resource()->set_uri(UriOf(report.path));
    content.mutable_resource()->set_mime_type("application/octet-stream");
    content.mutable_resource()->set_blob(std::move(bytes));
  }
  std::string json;
  JsonType<ReadReport>::Encode(report, json);
  result.set_structured_json(std::move(json));
  result.set_summary(absl::StrCat(ForMessage(report.path), ": ", summary));
  return result;
}

// Whole characters only, where it is text: what is left out at the end is read with the next piece.
void TrimToCharacters(uint64_t& offset, std::string& bytes, bool eof) {
  size_t from = 0;
  while (from < bytes.size() && from < kLongestCharacter - 1 && offset > 0 &&
         (static_cast<unsigned char>(bytes[from]) & 0xC0) == 0x80) {
    ++from;
  }
  absl::string_view text = absl::string_view(bytes).substr(from);
  const size_t good = FirstInvalidUtf8(text);
  if (good != text.size()) {
    if (eof || text.size() - good >= kLongestCharacter) return;
    text = text.substr(0, good);
  }
  if (text.empty() || !IsText(text)) return;
  offset += from;
  bytes = std::string(text);
}

absl::StatusOr<v1::ToolResult> ReadBytes(const FileTools& tools, const ReadArgs& args,
                                         const FileRoot::File& file, const StopToken& stop) {
  ReadReport report;
  report.path = args.path;
  report.size = static_cast<uint64_t>(file.info.st_size);
  uint64_t offset = args.offset.value_or(0);
  const uint64_t length =
      std::min(args.length.value_or(tools.max_file_bytes), tools.max_file_bytes);
  TR_ASSIGN_OR_RETURN(std::string bytes, ReadPiece(file, args.path, offset, length, stop));
  report.eof = bytes.size() < length || offset + bytes.size() >= report.size;
  const uint64_t end = offset + bytes.size();
  TrimToCharacters(offset, bytes, report.eof);
  report.offset = offset;
  report.next_offset = offset + bytes.size();
  report.eof = report.eof && *report.next_offset == end;
  std::string summary =
      absl::StrCat("bytes ", offset, " to ", *report.next_offset, " of ", report.size);
  return ResultOfPiece(std::move(bytes), report, std::move(summary));
}

absl::StatusOr<v1::ToolResult> ReadLines(const ReadArgs& args, std::string all) {
  if (!IsText(all)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", ForMessage(args.path),
                     "\" is not UTF-8 text, so it has no lines. Read it with `offset` and "
                     "`length`, or whole."));
  }
  ReadReport report;
  report.path = args.path;
  report.size = all.size();
  const uint64_t first = args.first_line.value_or(1);
  const uint64_t last = first + std::min(args.lines.value_or(UINT64_MAX), UINT64_MAX - first);
  // A line ends with its line break; the last one may have none.
  uint64_t line = 1;
  size_t from = all.size(), to = all.size();
  for (size_t at = 0; at < all.size(); ++line) {
    if (line == first) from = at;
    if (line == last) to = at;
    const size_t end = all.find('\n', at);
    at = end == std::string::npos ? all.size() : end + 1;
  }
  report.total_lines = line - 1;
  report.first_line = first;
  report.next_line = std::min(last, line);
  report.eof = to == all.size();
  std::string summary =
      from == all.size()
          ? absl::StrCat("it has ", line - 1, " lines; none from ", first, " on")
          : absl::StrCat("lines ", first, " to ", *report.next_line - 1, " of ", line - 1);
  if (from == all.size()) report.next_line = line;
  return ResultOfPiece(all.substr(from, to - from), report, std::move(summary));
}

absl::StatusOr<v1::ToolResult> Read(const FileTools& tools, const ReadArgs& args,
                                    const StopToken& stop) {
  const bool by_line = args.first_line.has_value() || args.lines.has_value();
  const bool by_byte = args.offset.has_value() || args.length.has_value();
  if (by_line && by_byte) {
    return absl::InvalidArgumentError(
        "Lines and bytes cannot be mixed. Give `first_line` and `lines`, or `offset` and "
        "`length`.");
  }
  TR_ASSIGN_OR_RETURN(const FileRoot::File file, tools.root->OpenFile(args.path));
  if (by_byte) return ReadBytes(tools, args, file, stop);
  TR_ASSIGN_OR_RETURN(std::string all, ReadWhole(file, args.path, tools.max_file_bytes, stop));
  if (by_line) return ReadLines(args, std::move(all));
  ReadReport report;
  report.path = args.path;
  report.size = all.size();
  std::string summary = absl::StrCat("all of it, ", all.size(), " bytes");
  return ResultOfPiece(std::move(all), report, std::move(summary));
}

}  // namespace

ToolFactory MakeFileReadTool(const FileTools& tools) {
  return MakeBlockingTool(
      tools.executor,
      ToolSpec("file_read",
               absl::StrCat("Reads a file: all of it, a range of lines, or a range of bytes. At "
                            "most ",
                            tools.max_file_bytes,
                            " bytes at once; of larger files read ranges of bytes. Text comes as "
                            "text, other files as bytes."))
          .Category("file")
          .ReadOnly()
          .Idempotent()
          .OpenWorld(false)
          .Example("show me the file config.yaml")
          .Example("read the first 50 lines of the log"),
      [tools](const ReadArgs& args, ToolCall& call) { return Read(tools, args, call.stop); });
}

}  // namespace toolrack
