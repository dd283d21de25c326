#include "registry/builtin/result_read.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

constexpr uint64_t kMost = 32 << 10;
constexpr size_t kLongestCharacter = 4;

struct ResultReadArgs {
  std::string handle;
  uint64_t offset = 0;
  uint64_t length = kMost;
  static auto Describe() {
    return Fields(Field("handle", &ResultReadArgs::handle, "The handle that the cut result gave.")
                      .MinLength(1)
                      .MaxLength(128),
                  Field("offset", &ResultReadArgs::offset,
                        "The first byte to read; `next_offset` of the range before.")
                      .Default(0),
                  Field("length", &ResultReadArgs::length, "At most so many bytes; fewer may come.")
                      .Min(kLongestCharacter)
                      .Default(kMost));
  }
};

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

absl::StatusOr<v1::ToolResult> ReadRange(const ReadStored& read, uint64_t max_bytes,
                                         const ResultReadArgs& args, const ToolCall& call) {
  v1::ReadResultRequest request;
  request.set_handle(args.handle);
  request.set_offset(args.offset);
  request.set_length(std::min(args.length, max_bytes));
  absl::StatusOr<v1::ReadResultResponse> range = read(request, call.context);
  if (!range.ok()) return range.status();
  const std::string& data = range->data();
  // An offset within a character begins with the next one.
  size_t from = 0;
  while (from < data.size() && from < kLongestCharacter && ContinuesCharacter(data[from])) ++from;
  absl::string_view text = absl::string_view(data).substr(from);
  if (!range->eof()) text = text.substr(0, FirstInvalidUtf8(text));
  const uint64_t offset = std::min<uint64_t>(args.offset, range->total_bytes()) + from;
  const uint64_t next = offset + text.size();
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(std::string(text));
  result.set_structured_json(absl::StrCat(
      "{\"offset\":", offset, ",\"next_offset\":", next, ",\"total_bytes\":", range->total_bytes(),
      ",\"eof\":", next >= range->total_bytes() ? "true" : "false", "}"));
  result.set_summary(absl::StrCat("bytes ", offset, " to ", next, " of ", range->total_bytes()));
  return result;
}

}  // namespace

ToolFactory MakeResultReadTool(ReadStored read, uint64_t max_bytes) {
  max_bytes = std::clamp<uint64_t>(max_bytes, kLongestCharacter, kMost);
  return MakeTool(
      ToolSpec(
          "__result_read",
          "Reads more of a tool's result that was cut because it is long: a range of its text, "
          "from the handle that the cut result gave.")
          .Category("basic")
          .ReadOnly()
          .Idempotent()
          .OpenWorld(false),
      [read = std::move(read), max_bytes](const ResultReadArgs& args, ToolCall& call) {
        return ReadRange(read, max_bytes, args, call);
      });
}

}  // namespace toolrack
