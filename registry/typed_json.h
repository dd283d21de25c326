// JSON in and out for typed tools, without the JSON library in sight of their authors.
//
// Pure functions and views, thread-safe.
#ifndef TOOLRACK_REGISTRY_TYPED_JSON_H_
#define TOOLRACK_REGISTRY_TYPED_JSON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// A look at a parsed value, which it must not outlive.
class JsonView {
 public:
  explicit JsonView(const nlohmann::json* value) : value_(value) {}

  enum class Kind { kNull, kBoolean, kNumber, kString, kArray, kObject };
  Kind kind() const;
  // "an integer", "a string" …: for messages.
  const char* KindName() const;

  // The following ask for their kind; another kind gives nullopt, or nothing.
  std::optional<bool> AsBool() const;
  // Exact, or nullopt; `1.0` is 1.
  std::optional<int64_t> AsInt64() const;
  std::optional<uint64_t> AsUint64() const;
  std::optional<double> AsDouble() const;
  std::optional<absl::string_view> AsString() const;
  size_t size() const;              // of an array or object
  JsonView At(size_t index) const;  // of an array, index < size()
  std::optional<JsonView> Find(absl::string_view key) const;
  // Until `visit` returns false. In bytewise order of the keys.
  void ForEachMember(absl::FunctionRef<bool(absl::string_view, JsonView)> visit) const;

 private:
  const nlohmann::json* value_;
};

// What does not fit, and where: `pointer` is a JSON Pointer.
struct DecodeFault {
  std::string pointer;
  std::string message;
};
// Null: all is well.
using Decoded = std::unique_ptr<DecodeFault>;
Decoded Misfit(std::string message);
Decoded Unexpected(const char* wanted, JsonView got);
// The same fault, seen from one level further out.
Decoded Under(absl::string_view key, Decoded fault);
Decoded Under(size_t index, Decoded fault);

// JSON text.
void AppendJson(bool value, std::string& out);
void AppendJson(int64_t value, std::string& out);
void AppendJson(uint64_t value, std::string& out);
// The shortest text that reads back as the same number; `null` for NaN and infinities, which JSON
// does not have.
void AppendJson(double value, std::string& out);
// Bytes that are not UTF-8 are replaced.
void AppendJson(absl::string_view value, std::string& out);
// `"key":`, with a comma before it unless `out` ends with `{`.
void AppendKey(absl::string_view key, std::string& out);

// Characters of a UTF-8 text, as minLength counts them.
size_t CountCharacters(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TYPED_JSON_H_
