#include "registry/typed_fields.h"

namespace toolrack {

SchemaNote Nested(const SchemaNote& note) {
  SchemaNote nested;
  nested.depth = note.depth + 1;
  return nested;
}

void OpenSchema(const char* type, const SchemaNote& note, std::string& out) {
  out.push_back('{');
  AppendKey("type", out);
  AppendJson(absl::string_view(type), out);
  if (note.description.empty()) return;
  AppendKey("description", out);
  AppendJson(absl::string_view(note.description), out);
}

void CloseSchema(const SchemaNote& note, std::string& out) {
  if (!note.default_json.empty()) {
    AppendKey("default", out);
    out.append(note.default_json);
  }
  out.push_back('}');
}

void AppendEndlessSchema(std::string& out) {
  out.append(R"({"$ref":"#/a-type-that-contains-itself-is-not-supported"})");
}

namespace {

void AppendRule(absl::string_view keyword, const std::optional<uint64_t>& value, std::string& out) {
  if (!value.has_value()) return;
  AppendKey(keyword, out);
  AppendJson(*value, out);
}

}  // namespace

void AppendItemRules(const std::optional<uint64_t>& min, const std::optional<uint64_t>& max,
                     std::string& out) {
  AppendRule("minItems", min, out);
  AppendRule("maxItems", max, out);
}

Decoded CheckItems(size_t size, const std::optional<uint64_t>& min,
                   const std::optional<uint64_t>& max) {
  if (min.has_value() && size < *min) {
    return Misfit(absl::StrCat("expected at least ", *min, " elements, got ", size));
  }
  if (max.has_value() && size > *max) {
    return Misfit(absl::StrCat("expected at most ", *max, " elements, got ", size));
  }
  return nullptr;
}

void JsonType<std::string>::Schema(const RulesFor<std::string>& rules, const SchemaNote& note,
                                   std::string& out) {
  OpenSchema("string", note, out);
  AppendRule("minLength", rules.min_length, out);
  AppendRule("maxLength", rules.max_length, out);
  CloseSchema(note, out);
}

Decoded JsonType<std::string>::Decode(JsonView value, const RulesFor<std::string>& rules,
                                      std::string& out) {
  const std::optional<absl::string_view> got = value.AsString();
  if (!got.has_value()) return Unexpected("a string", value);
  if (rules.min_length.has_value() && CountCharacters(*got) < *rules.min_length) {
    return Misfit(absl::StrCat("expected at least ", *rules.min_length, " characters"));
  }
  if (rules.max_length.has_value() && CountCharacters(*got) > *rules.max_length) {
    return Misfit(absl::StrCat("expected at most ", *rules.max_length, " characters"));
  }
  out.assign(got->data(), got->size());
  return nullptr;
}

}  // namespace toolrack
