#include "renderers/value_codec.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "renderers/schema_walk.h"

namespace toolrack {
namespace {

void AddKind(absl::string_view word, AllowedTypes& types) {
  if (word == "string") types.string = true;
  if (word == "number" || word == "integer") types.number = true;
  if (word == "boolean") types.boolean = true;
  if (word == "null") types.null = true;
  if (word == "array") types.array = true;
  if (word == "object") types.object = true;
}

absl::string_view KindOf(const JsonText& value) {
  switch (value.kind) {
    case JsonText::Kind::kNull:
      return "null";
    case JsonText::Kind::kBool:
      return "boolean";
    case JsonText::Kind::kNumber:
      return "number";
    case JsonText::Kind::kString:
      return "string";
    case JsonText::Kind::kArray:
      return "array";
    case JsonText::Kind::kObject:
      return "object";
  }
  return "";
}

void Collect(const JsonText& root, const JsonText& schema, int depth, AllowedTypes& types) {
  if (depth > 8) return;
  if (const JsonText* type = schema.Find("type")) {
    if (type->is_string()) AddKind(type->text, types);
    for (const JsonText& item : type->items) AddKind(item.text, types);
  } else if (const JsonText* values = schema.Find("enum")) {
    for (const JsonText& value : values->items) AddKind(KindOf(value), types);
  } else if (const JsonText* value = schema.Find("const")) {
    AddKind(KindOf(*value), types);
  } else {
    if (const JsonText* to = ResolveLocal(root, schema.StringAt("$ref"))) {
      Collect(root, *to, depth + 1, types);
    }
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      const JsonText* variants = schema.Find(key);
      if (variants == nullptr) continue;
      for (const JsonText& variant : variants->items) Collect(root, variant, depth + 1, types);
    }
  }
  if (const JsonText* nullable = schema.Find("nullable");
      nullable != nullptr && nullable->is_true()) {
    types.null = true;
  }
}

const JsonText* FindProperty(const JsonText& root, const JsonText& schema, absl::string_view name,
                             int depth) {
  if (depth > 8) return nullptr;
  if (const JsonText* properties = schema.Find("properties")) {
    if (const JsonText* found = properties->Find(name)) return found;
  }
  if (const JsonText* to = ResolveLocal(root, schema.StringAt("$ref"))) {
    if (const JsonText* found = FindProperty(root, *to, name, depth + 1)) return found;
  }
  for (const char* key : {"allOf", "anyOf", "oneOf"}) {
    const JsonText* variants = schema.Find(key);
    if (variants == nullptr) continue;
    for (const JsonText& variant : variants->items) {
      if (const JsonText* found = FindProperty(root, variant, name, depth + 1)) return found;
    }
  }
  return nullptr;
}

bool Allows(const AllowedTypes& types, const JsonText& value) {
  switch (value.kind) {
    case JsonText::Kind::kNull:
      return types.null;
    case JsonText::Kind::kBool:
      return types.boolean;
    case JsonText::Kind::kNumber:
      return types.number;
    case JsonText::Kind::kString:
      return false;  // a quoted text stays a text with its quotes
    case JsonText::Kind::kArray:
      return types.array;
    case JsonText::Kind::kObject:
      return types.object;
  }
  return false;
}

std::string Quoted(absl::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

}  // namespace

AllowedTypes TypesOfProperty(const JsonText& root, absl::string_view name) {
  AllowedTypes types;
  if (const JsonText* schema = FindProperty(root, root, name, 0)) Collect(root, *schema, 0, types);
  return types;
}

std::string DecodeValue(const AllowedTypes& types, absl::string_view text, bool& repaired) {
  if (types.only_string()) return Quoted(text);
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  const std::optional<JsonText> value = ParseJsonText(trimmed);
  if (value && (types.any() || Allows(types, *value))) return std::string(trimmed);
  if (types.string) return Quoted(text);
  const bool truth = trimmed == "True";
  if ((truth || trimmed == "False") && (types.boolean || types.any())) {
    repaired = true;
    return truth ? "true" : "false";
  }
  if (trimmed == "None" && types.null) {
    repaired = true;
    return "null";
  }
  // What fits nowhere goes on as it is: the validator says what is wrong with it. A quoted value of
  // a property that is no text is given without its quotes only if that fits.
  if (value && value->is_string()) {
    const std::optional<JsonText> inner = ParseJsonText(value->text);
    if (inner && Allows(types, *inner)) {
      repaired = true;
      return value->text;
    }
  }
  return value && !types.any() ? std::string(trimmed) : Quoted(text);
}

}  // namespace toolrack
