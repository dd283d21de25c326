// JSON that is looked at and written again without losing anything: key order, number spelling, and
// where each value stood.
//
// registry/base/json.h answers whether a text is good JSON and gives a value for validation; this
// one serves rendering, where `1.0` must stay `1.0` and the keys must stay as registered. Pure,
// thread-safe.
#ifndef TOOLRACK_RENDERERS_JSON_TEXT_H_
#define TOOLRACK_RENDERERS_JSON_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

struct JsonMember;

// One value. `text` is a number's digits, `true`, `false`, `null`, or a string's characters.
struct JsonText {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string text = "null";
  std::vector<JsonText> items;      // of an array
  std::vector<JsonMember> members;  // of an object, in order
  // Where it stood in the text that was parsed; begin == end for values made by hand.
  size_t begin = 0;
  size_t end = 0;

  static JsonText String(absl::string_view value);
  static JsonText Number(absl::string_view digits);
  static JsonText Bool(bool value);
  static JsonText Array(std::vector<JsonText> items = {});
  static JsonText Object(std::vector<JsonMember> members = {});

  bool is_object() const { return kind == Kind::kObject; }
  bool is_array() const { return kind == Kind::kArray; }
  bool is_string() const { return kind == Kind::kString; }
  bool is_true() const { return kind == Kind::kBool && text == "true"; }

  // Null when this is no object or has no such member; the last one of several.
  const JsonText* Find(absl::string_view key) const;
  JsonText* Find(absl::string_view key);
  // The text of a string member; empty when there is none.
  absl::string_view StringAt(absl::string_view key) const;
  // Replaces or appends. This must be an object.
  void Set(absl::string_view key, JsonText value);
  // True when there was one.
  bool Erase(absl::string_view key);
};

struct JsonMember {
  std::string key;
  JsonText value;
};

// RFC 8259, at most `max_depth` deep; duplicate keys are kept as they are. Nullopt for anything
// else. Linear.
std::optional<JsonText> ParseJsonText(absl::string_view text, size_t max_depth = 128);

// How a family spaces its JSON.
struct JsonStyle {
  absl::string_view item = ",";
  absl::string_view colon = ":";
};
inline constexpr JsonStyle kCompactJson{",", ":"};
// As Python's json.dumps(ensure_ascii=False).
inline constexpr JsonStyle kSpacedJson{", ", ": "};

// UTF-8 raw, no HTML escapes, `/` and DEL as they are, control characters as `\n`, `\t`, `\u001f`.
std::string WriteJson(const JsonText& value, const JsonStyle& style = kCompactJson);
void AppendJson(const JsonText& value, const JsonStyle& style, std::string& out);
// A string literal, quotes included.
void AppendJsonString(absl::string_view text, std::string& out);
// The same without the quotes: for strings that are written in pieces.
void AppendJsonEscaped(absl::string_view text, std::string& out);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_JSON_TEXT_H_
