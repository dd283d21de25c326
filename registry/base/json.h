// The one door to nlohmann::json: strict, bounded parsing, no exceptions out of it.
//
// Accepted is RFC 8259 JSON in UTF-8 and nothing else: no comments, no trailing commas, no NaN, no
// BOM, no duplicate keys, no lone surrogate escapes, numbers in the range of a double. The parsed
// form is for looking at; whoever needs the exact text keeps the text. Include <nlohmann/json.hpp>
// only in .cc files that walk a value.
//
// Thread-safe: pure functions.
#ifndef TOOLRACK_REGISTRY_BASE_JSON_H_
#define TOOLRACK_REGISTRY_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/struct.pb.h"

namespace toolrack {

using Json = nlohmann::json;

struct JsonLimits {
  size_t max_bytes = 1 << 20;
  size_t max_depth = 64;        // [[1]] has depth 2
  size_t max_nodes = SIZE_MAX;  // values of any kind, object members and array elements
};

// Why a text was not taken. `limit` is empty for plain syntax faults; else `max_bytes`, `max_depth`
// or `max_nodes`, and `allowed` and `actual` (as far as it was counted) say which and how far.
struct JsonFault {
  size_t offset = 0;    // byte where reading stopped
  std::string message;  // one line, e.g. "duplicate key \"a\""
  std::string limit;
  uint64_t allowed = 0;
  uint64_t actual = 0;
};

// Linear time; recursion-free. On success `out` is replaced.
std::variant<std::monostate, JsonFault> ParseJson(absl::string_view text, const JsonLimits& limits,
                                                  Json& out);

// For texts whose faults nobody tells apart (config, tests): INVALID_ARGUMENT with the fault's
// message.
absl::StatusOr<Json> ParseJsonOrStatus(absl::string_view text, const JsonLimits& limits = {});

// Compact text; bytes that are not UTF-8 are replaced. Depth must be bounded (values from ParseJson
// are).
std::string DumpJson(const Json& value);

// `text` as a JSON string literal, quotes included; bytes that are not UTF-8 are replaced.
std::string JsonQuote(absl::string_view text);

// google.protobuf.Struct to JSON text. Integral doubles within ±2^53 are written without a
// fraction. Fails with INVALID_ARGUMENT on NaN or infinity and on depth over `max_depth`. Keys in
// bytewise order (a Struct has none).
absl::StatusOr<std::string> StructToJson(const google::protobuf::Struct& value, size_t max_depth);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_JSON_H_
