// JSON-RPC 2.0 messages as MCP uses them, and their framing by lines.
//
// Ids, parameters and results stay JSON text, byte for byte as they came: an id is echoed as it was
// spelt, and arguments reach a tool unchanged. Batches are not taken. Source:
// https://www.jsonrpc.org/specification and the MCP specification, "Base Protocol".
//
// The functions are pure and thread-safe.
#ifndef TOOLRACK_REGISTRY_BASE_JSON_RPC_H_
#define TOOLRACK_REGISTRY_BASE_JSON_RPC_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/base/json.h"

namespace toolrack {

inline constexpr int kJsonRpcParseError = -32700;
inline constexpr int kJsonRpcInvalidRequest = -32600;
inline constexpr int kJsonRpcMethodNotFound = -32601;
inline constexpr int kJsonRpcInvalidParams = -32602;
inline constexpr int kJsonRpcInternalError = -32603;

// One message. Fields that its kind has not are empty.
struct JsonRpcMessage {
  enum class Kind { kRequest, kNotification, kResult, kError };
  Kind kind = Kind::kNotification;
  std::string id;      // JSON text of a number or a string; of an error also `null`
  std::string method;  // of a request or notification
  std::string params;  // JSON text of an object or array; empty: none
  std::string result;  // JSON text
  int64_t error_code = 0;
  std::string error_message;
  std::string error_data;  // JSON text; empty: none
};

// Why a text is no message, as the error that its sender should get.
struct JsonRpcFault {
  int code = kJsonRpcParseError;  // kJsonRpcParseError or kJsonRpcInvalidRequest
  std::string message;            // one line
  std::string id = "null";        // JSON text; null when it could not be read
};

std::variant<JsonRpcMessage, JsonRpcFault> ParseJsonRpc(absl::string_view text,
                                                        const JsonLimits& limits);

// Messages as one line without its end: line ends between tokens of the parts become spaces.
// `id`, `params`, `result` and `data` are JSON text; empty `params` and `data` are left out.
std::string JsonRpcRequest(absl::string_view id, absl::string_view method,
                           absl::string_view params = "");
std::string JsonRpcNotification(absl::string_view method, absl::string_view params = "");
std::string JsonRpcResult(absl::string_view id, absl::string_view result);
std::string JsonRpcError(absl::string_view id, int64_t code, absl::string_view message,
                         absl::string_view data = "");

// A member of an object, its value as it stood in the text.
struct JsonSlice {
  std::string key;
  absl::string_view value;  // into the text
};
// In order; empty when the value is no object. `text` must be what ParseJson takes.
std::vector<JsonSlice> JsonMembers(absl::string_view text);
// Empty: there is none.
absl::string_view FindMember(const std::vector<JsonSlice>& members, absl::string_view key);
// The characters of a JSON string; nullopt for any other value.
std::optional<std::string> JsonStringValue(absl::string_view text);

// Cuts a stream of bytes into lines, however the bytes come. Not thread-safe.
class JsonRpcLines {
 public:
  struct Line {
    std::string text;       // without its end; empty when it was too long
    bool too_long = false;  // over the bound; its bytes were dropped
  };
  explicit JsonRpcLines(size_t max_bytes) : max_bytes_(max_bytes) {}
  void Append(absl::string_view bytes);
  // The next whole line; blank ones are left out.
  std::optional<Line> Next();
  // Bytes of a line that has not ended.
  size_t pending() const { return partial_.size(); }

 private:
  void EndLine();
  const size_t max_bytes_;
  std::string partial_;
  bool skipping_ = false;
  std::deque<Line> lines_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_JSON_RPC_H_
