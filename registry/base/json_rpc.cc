#include "registry/base/json_rpc.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

// The reader of text that is known to be good JSON.
class Reader {
 public:
  explicit Reader(absl::string_view text) : text_(text) {}

  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  absl::string_view Value() {
    SkipSpace();
    const size_t begin = at_;
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        if (depth == 0) break;
        continue;
      }
      if (depth == 0 && at_ > begin && (c == ',' || c == '}' || c == ']')) break;
      if (depth == 0 && absl::ascii_isspace(static_cast<unsigned char>(c))) break;
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) break;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  const absl::string_view text_;
  size_t at_ = 0;
};

bool IsId(absl::string_view text) {
  return !text.empty() && (text[0] == '"' || text[0] == '-' || absl::ascii_isdigit(text[0]));
}

JsonRpcFault Invalid(absl::string_view id, absl::string_view why) {
  return {kJsonRpcInvalidRequest, absl::StrCat("Invalid request: ", why),
          IsId(id) ? std::string(id) : "null"};
}

std::variant<JsonRpcMessage, JsonRpcFault> ReadCall(const std::vector<JsonSlice>& members,
                                                    absl::string_view id) {
  JsonRpcMessage out;
  const auto method = JsonStringValue(FindMember(members, "method"));
  if (!method) return Invalid(id, "`method` must be a string");
  if (!id.empty() && !IsId(id)) return Invalid(id, "`id` must be a string or a number");
  const absl::string_view params = FindMember(members, "params");
  if (!params.empty() && params[0] != '{' && params[0] != '[') {
    return Invalid(id, "`params` must be an object");
  }
  out.kind = id.empty() ? JsonRpcMessage::Kind::kNotification : JsonRpcMessage::Kind::kRequest;
  out.id = std::string(id);
  out.method = *method;
  out.params = std::string(params);
  return out;
}

std::variant<JsonRpcMessage, JsonRpcFault> ReadResponse(const std::vector<JsonSlice>& members,
                                                        absl::string_view id) {
  JsonRpcMessage out;
  out.id = std::string(id);
  const absl::string_view result = FindMember(members, "result");
  const absl::string_view error = FindMember(members, "error");
  if (result.empty() == error.empty()) {
    return Invalid(id, "it needs `method`, or one of `result` and `error`");
  }
  if (!result.empty()) {
    if (!IsId(id)) return Invalid(id, "`id` must be a string or a number");
    out.kind = JsonRpcMessage::Kind::kResult;
    out.result = std::string(result);
    return out;
  }
  if (!id.empty() && id != "null" && !IsId(id)) {
    return Invalid(id, "`id` must be a string or a number");
  }
  const std::vector<JsonSlice> inner = JsonMembers(error);
  const auto message = JsonStringValue(FindMember(inner, "message"));
  if (!message || !absl::SimpleAtoi(FindMember(inner, "code"), &out.error_code)) {
    return Invalid(id, "`error` must have an integer `code` and a string `message`");
  }
  if (id.empty()) out.id = "null";
  out.kind = JsonRpcMessage::Kind::kError;
  out.error_message = *message;
  out.error_data = std::string(FindMember(inner, "data"));
  return out;
}

// Within strings JSON has no raw line ends, so that each one stands between tokens.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

std::vector<JsonSlice> JsonMembers(absl::string_view text) {
  std::vector<JsonSlice> out;
  Reader reader(text);
  if (!reader.Take('{')) return out;
  while (!reader.Take('}')) {
    const absl::string_view key = reader.Value();
    if (key.empty() || !reader.Take(':')) break;
    const absl::string_view value = reader.Value();
    if (value.empty()) break;
    out.push_back({JsonStringValue(key).value_or(""), value});
    reader.Take(',');
  }
  return out;
}

absl::string_view FindMember(const std::vector<JsonSlice>& members, absl::string_view key) {
  for (const JsonSlice& member : members) {
    if (member.key == key) return member.value;
  }
  return "";
}

std::optional<std::string> JsonStringValue(absl::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::nullopt;
  if (text.find('\\') == absl::string_view::npos) {
    return std::string(text.substr(1, text.size() - 2));
  }
  Json value;
  JsonLimits limits;
  limits.max_bytes = text.size();
  if (!std::holds_alternative<std::monostate>(ParseJson(text, limits, value))) return std::nullopt;
  return value.get<std::string>();
}

std::variant<JsonRpcMessage, JsonRpcFault> ParseJsonRpc(absl::string_view text,
                                                        const JsonLimits& limits) {
  Json value;
  const auto parsed = ParseJson(text, limits, value);
  if (const JsonFault* fault = std::get_if<JsonFault>(&parsed)) {
    return JsonRpcFault{kJsonRpcParseError,
                        absl::StrCat("Parse error at byte ", fault->offset, ": ", fault->message)};
  }
  if (value.is_array()) return Invalid("", "batches are not taken; send one message at a time");
  if (!value.is_object()) return Invalid("", "it must be an object");
  const std::vector<JsonSlice> members = JsonMembers(text);
  const absl::string_view id = FindMember(members, "id");
  if (JsonStringValue(FindMember(members, "jsonrpc")) != "2.0") {
    return Invalid(id, "`jsonrpc` must be \"2.0\"");
  }
  return FindMember(members, "method").empty() ? ReadResponse(members, id) : ReadCall(members, id);
}

std::string JsonRpcRequest(absl::string_view id, absl::string_view method,
                           absl::string_view params) {
  return OneLine(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":)", JsonQuote(method),
                              params.empty() ? "" : R"(,"params":)", params, "}"));
}

std::string JsonRpcNotification(absl::string_view method, absl::string_view params) {
  return OneLine(absl::StrCat(R"({"jsonrpc":"2.0","method":)", JsonQuote(method),
                              params.empty() ? "" : R"(,"params":)", params, "}"));
}

std::string JsonRpcResult(absl::string_view id, absl::string_view result) {
  return OneLine(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":)", result, "}"));
}

std::string JsonRpcError(absl::string_view id, int64_t code, absl::string_view message,
                         absl::string_view data) {
  return OneLine(absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"error":{"code":)", code,
                              R"(,"message":)", JsonQuote(message),
                              data.empty() ? "" : R"(,"data":)", data, "}}"));
}

void JsonRpcLines::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const absl::string_view piece = bytes.substr(0, end);
    if (!skipping_ && piece.size() > max_bytes_ - partial_.size()) {
      skipping_ = true;
      partial_ = std::string();
    }
    if (!skipping_) partial_.append(piece.data(), piece.size());
    if (end == absl::string_view::npos) return;
    EndLine();
    bytes.remove_prefix(end + 1);
  }
}

void JsonRpcLines::EndLine() {
  if (std::exchange(skipping_, false)) {
    lines_.push_back({"", true});
    return;
  }
  std::string line = std::exchange(partial_, std::string());
  if (!absl::StripAsciiWhitespace(line).empty()) {
    if (line.back() == '\r') line.pop_back();
    lines_.push_back({std::move(line), false});
  }
}

std::optional<JsonRpcLines::Line> JsonRpcLines::Next() {
  if (lines_.empty()) return std::nullopt;
  Line line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

}  // namespace toolrack
