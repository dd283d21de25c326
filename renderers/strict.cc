#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "renderers/lowering.h"
#include "renderers/schema_walk.h"

namespace toolrack {
namespace {

class Strictener {
 public:
  Strictener(SchemaTarget target, const JsonText& root, std::vector<LoweringNote>& notes)
      : openai_(target == SchemaTarget::kOpenAi), root_(root), notes_(notes) {}

  bool Schema(JsonText& schema, const std::string& pointer, size_t depth) {
    if (!schema.is_object()) return Fail(pointer, "a boolean schema");
    if (depth > 10) return Fail(pointer, "more than 10 levels");
    Rewrite(schema);
    for (const char* key :
         {"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
          "oneOf", "allOf", "prefixItems", "unevaluatedProperties", "unevaluatedItems", "contains",
          "propertyNames"}) {
      if (schema.Find(key) != nullptr) return Fail(pointer, key);
    }
    if (schema.Find("$ref") != nullptr && !openai_ && Recursive(schema)) {
      return Fail(pointer, "a recursive $ref");
    }
    DropNarrowing(schema, pointer);
    if (!IsTyped(schema)) return Fail(pointer, "no type");
    if (IsObject(schema) && !Object(schema, pointer)) return false;
    if (IsArray(schema)) {
      const JsonText* items = schema.Find("items");
      if (items == nullptr || items->members.empty()) return Fail(pointer, "an array of anything");
    }
    bool good = true;
    EachSubschema(schema, pointer, [&](JsonText& sub, const std::string& at) {
      // Of the object itself: a property may have that name, too.
      if (good && at != pointer + "/additionalProperties") good = Schema(sub, at, depth + 1);
    });
    return good;
  }
  std::string why() const { return why_; }

 private:
  bool Fail(const std::string& pointer, absl::string_view what) {
    if (why_.empty()) why_ = absl::StrCat(what, " at ", pointer.empty() ? "the root" : pointer);
    return false;
  }
  static bool IsTyped(const JsonText& schema) {
    for (const char* key :
         {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties"}) {
      if (schema.Find(key) != nullptr) return true;
    }
    return false;
  }
  static bool IsObject(const JsonText& schema) {
    return schema.StringAt("type") == "object" || Has(StringsAt(schema, "type"), "object");
  }
  static bool IsArray(const JsonText& schema) {
    return schema.StringAt("type") == "array" || Has(StringsAt(schema, "type"), "array");
  }
  bool Recursive(const JsonText& schema) {
    // A reference that leads, over any others, to itself.
    std::set<std::string> seen;
    std::function<bool(const JsonText&)> walk = [&](const JsonText& at) {
      const std::string ref(at.StringAt("$ref"));
      if (!ref.empty()) {
        if (!seen.insert(ref).second) return true;
        const JsonText* to = ResolveLocal(root_, ref);
        const bool loop = to == nullptr || walk(*to);
        seen.erase(ref);
        return loop;
      }
      bool found = false;
      EachSubschema(const_cast<JsonText&>(at), "",
                    [&](JsonText& sub, const std::string&) { found = found || walk(sub); });
      return found;
    };
    return walk(schema);
  }
  // Other spellings of what the subset has.
  void Rewrite(JsonText& schema) {
    if (JsonText* value = schema.Find("oneOf"); value != nullptr && value->is_array()) {
      JsonText variants = std::move(*value);
      schema.Erase("oneOf");
      if (schema.Find("anyOf") == nullptr) schema.Set("anyOf", std::move(variants));
    }
    if (const JsonText* value = schema.Find("allOf");
        value != nullptr && value->items.size() == 1) {
      const JsonText only = value->items[0];
      schema.Erase("allOf");
      for (const JsonMember& member : only.members) {
        if (schema.Find(member.key) == nullptr) schema.Set(member.key, member.value);
      }
    }
    if (const JsonText* value = schema.Find("const"); value != nullptr && openai_) {
      JsonText values = JsonText::Array({*value});
      schema.Erase("const");
      schema.Set("enum", std::move(values));
    }
    if (schema.Find("$ref") != nullptr) {
      std::erase_if(schema.members, [](const JsonMember& member) {
        return member.key != "$ref" && member.key != "$defs" && member.key != "definitions";
      });
    }
    if (schema.Find("properties") != nullptr && schema.Find("type") == nullptr &&
        schema.Find("$ref") == nullptr) {
      schema.Set("type", JsonText::String("object"));
    }
  }
  void DropNarrowing(JsonText& schema, const std::string& pointer) {
    static const auto* kOpenAiDrops = new std::vector<std::string>{
        "uniqueItems",   "default",   "minLength",       "maxLength",        "minProperties",
        "maxProperties", "examples",  "example",         "$comment",         "deprecated",
        "readOnly",      "writeOnly", "contentEncoding", "contentMediaType", "title",
        "$schema",       "$id",       "nullable"};
    static const auto* kAnthropicDrops = new std::vector<std::string>{
        "minimum",       "maximum",   "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        "minLength",     "maxLength", "maxItems",         "uniqueItems",      "minProperties",
        "maxProperties", "examples",  "example",          "$comment",         "deprecated",
        "readOnly",      "writeOnly", "contentEncoding",  "contentMediaType", "pattern",
        "$schema",       "$id",       "nullable"};
    for (const std::string& key : openai_ ? *kOpenAiDrops : *kAnthropicDrops) {
      if (schema.Erase(key)) Dropped(pointer, key);
    }
    static const auto* kFormats = new std::vector<std::string>{
        "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"};
    if (const std::string format(schema.StringAt("format"));
        !format.empty() && !Has(*kFormats, format) && (openai_ || format != "uri")) {
      schema.Erase("format");
      Dropped(pointer, "format");
    }
    if (const JsonText* least = schema.Find("minItems");
        !openai_ && least != nullptr && least->text != "0" && least->text != "1") {
      schema.Erase("minItems");
      Dropped(pointer, "minItems");
    }
  }
  void Dropped(const std::string& pointer, absl::string_view key) {
    notes_.push_back(
        {"strict_keyword_dropped", Step(pointer, key),
         absl::StrCat(key, " is outside the strict subset; the rack still checks it")});
  }
  bool Object(JsonText& schema, const std::string& pointer) {
    if (const JsonText* more = schema.Find("additionalProperties");
        more != nullptr && (more->is_true() || more->is_object())) {
      return Fail(pointer, "additionalProperties");
    }
    JsonText* properties = schema.Find("properties");
    if (properties == nullptr) {
      if (!pointer.empty()) return Fail(pointer, "an object of anything");
      schema.Set("properties", JsonText::Object());
      properties = schema.Find("properties");
    }
    schema.Set("additionalProperties", JsonText::Bool(false));
    properties = schema.Find("properties");
    if (!openai_) return true;
    const std::vector<std::string> required = StringsAt(schema, "required");
    std::vector<std::string> all;
    for (JsonMember& member : properties->members) {
      all.push_back(member.key);
      if (Has(required, member.key)) continue;
      if (!IsTyped(member.value)) {
        return Fail(Step(Step(pointer, "properties"), member.key), "no type");
      }
      AllowNull(member.value);
    }
    schema.Set("required", Strings(all));
    return true;
  }
  // An optional property is one that may be null.
  static void AllowNull(JsonText& schema) {
    if (!schema.is_object()) return;
    JsonText null = JsonText::Object();
    null.Set("type", JsonText::String("null"));
    if (JsonText* variants = schema.Find("anyOf")) {
      variants->items.push_back(std::move(null));
      return;
    }
    JsonText* type = schema.Find("type");
    if (type == nullptr || schema.Find("$ref") != nullptr) {
      JsonText inner = std::move(schema);
      schema = JsonText::Object();
      schema.Set("anyOf", JsonText::Array({std::move(inner), std::move(null)}));
      return;
    }
    std::vector<std::string> words =
        type->is_string() ? std::vector<std::string>{type->text} : StringsAt(schema, "type");
    if (!Has(words, "null")) words.push_back("null");
    schema.Set("type", Strings(words));
    if (JsonText* values = schema.Find("enum"); values != nullptr && values->is_array()) {
      if (std::none_of(values->items.begin(), values->items.end(),
                       [](const JsonText& value) { return value.kind == JsonText::Kind::kNull; })) {
        values->items.emplace_back();
      }
    }
  }

  const bool openai_;
  const JsonText& root_;
  std::vector<LoweringNote>& notes_;
  std::string why_;
};

// What one schema of OpenAI's strict mode may have in all.
class StrictSize {
 public:
  void Add(const JsonText& schema) {
    if (const JsonText* properties = schema.Find("properties")) {
      properties_ += properties->members.size();
      Names(*properties);
    }
    for (const char* key : {"$defs", "definitions"}) {
      if (const JsonText* defs = schema.Find(key)) Names(*defs);
    }
    if (const JsonText* values = schema.Find("enum")) {
      size_t characters = 0;
      for (const JsonText& value : values->items) characters += value.text.size();
      values_ += values->items.size();
      characters_ += characters;
      long_enum_ = long_enum_ || (values->items.size() > 250 && characters > 15000);
    }
    EachSubschema(const_cast<JsonText&>(schema), "",
                  [this](JsonText& sub, const std::string&) { Add(sub); });
  }
  std::string Over() const {
    if (properties_ > 5000) return "more than 5,000 properties";
    if (values_ > 1000) return "more than 1,000 enum values";
    if (long_enum_) return "more than 15,000 characters in an enum of more than 250 values";
    if (characters_ > 120000) return "more than 120,000 characters of names and values";
    return "";
  }

 private:
  void Names(const JsonText& object) {
    for (const JsonMember& member : object.members) characters_ += member.key.size();
  }
  size_t properties_ = 0, characters_ = 0, values_ = 0;
  bool long_enum_ = false;
};

}  // namespace

bool MakeStrict(SchemaTarget target, JsonText& schema, std::vector<LoweringNote>& notes,
                std::string& why) {
  JsonText made = schema;
  std::vector<LoweringNote> more;
  Strictener strict(target, schema, more);
  if (!strict.Schema(made, "", 0)) {
    why = strict.why();
    return false;
  }
  if (target == SchemaTarget::kOpenAi) {
    StrictSize size;
    size.Add(made);
    why = size.Over();
    if (!why.empty()) return false;
  }
  schema = std::move(made);
  notes.insert(notes.end(), more.begin(), more.end());
  return true;
}

}  // namespace toolrack
