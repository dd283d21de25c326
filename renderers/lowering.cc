#include "renderers/lowering.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "renderers/schema_walk.h"

namespace toolrack {
namespace {

bool IsLegalPropertyName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
}

// Takes the members of one variant into the root object.
void FoldVariant(const JsonText& root, JsonText variant, JsonText& into,
                 std::vector<std::string>& required, bool& first, bool all) {
  if (const JsonText* target = ResolveLocal(root, variant.StringAt("$ref"))) variant = *target;
  for (const char* key : {"allOf", "anyOf", "oneOf"}) {
    if (const JsonText* inner = variant.Find(key); inner != nullptr && inner->is_array()) {
      for (const JsonText& sub : inner->items) {
        const JsonText* more = sub.Find("properties");
        if (more == nullptr) continue;
        for (const JsonMember& member : more->members) {
          if (into.Find(member.key) == nullptr) into.Set(member.key, member.value);
        }
      }
    }
  }
  if (const JsonText* properties = variant.Find("properties")) {
    for (const JsonMember& member : properties->members) {
      if (into.Find(member.key) == nullptr) into.Set(member.key, member.value);
    }
  }
  const std::vector<std::string> own = StringsAt(variant, "required");
  if (all || first) {
    for (const std::string& name : own) {
      if (!Has(required, name)) required.push_back(name);
    }
  } else {
    std::erase_if(required, [&own](const std::string& name) { return !Has(own, name); });
  }
  first = false;
}

// oneOf, anyOf and allOf at the root are refused by Anthropic and OpenAI: their properties move
// into the root object; what every variant requires stays required.
void FoldRoot(JsonText& schema, std::vector<LoweringNote>& notes) {
  JsonText properties = JsonText::Object();
  if (const JsonText* own = schema.Find("properties"); own != nullptr && own->is_object()) {
    properties = *own;
  }
  std::vector<std::string> required = StringsAt(schema, "required");
  bool folded = false;
  for (const char* key : {"allOf", "anyOf", "oneOf"}) {
    const JsonText* variants = schema.Find(key);
    if (variants == nullptr) continue;
    folded = true;
    std::vector<std::string> of_all;
    bool first = true;
    for (const JsonText& variant : variants->items) {
      FoldVariant(schema, variant, properties, of_all, first, absl::string_view(key) == "allOf");
    }
    for (const std::string& name : of_all) {
      if (!Has(required, name)) required.push_back(name);
    }
    notes.push_back({"root_combinator_folded", absl::StrCat("/", key),
                     absl::StrCat(key, " at the root was folded into one object")});
    schema.Erase(key);
  }
  if (!folded) return;
  schema.Set("properties", std::move(properties));
  if (required.empty()) {
    schema.Erase("required");
  } else {
    schema.Set("required", Strings(required));
  }
}

class Lowerer {
 public:
  Lowerer(SchemaTarget target, std::vector<LoweringNote>& notes) : target_(target), notes_(notes) {}

  void Root(JsonText& schema) {
    if (!schema.is_object()) {
      Note("root_not_object", "", "the root was no object and was replaced by an open object");
      schema = JsonText::Object();
    }
    // A root that is only a reference.
    if (schema.Find("$ref") != nullptr) {
      JsonText defs = JsonText::Object();
      const JsonText root = schema;
      if (const JsonText* to = ResolveLocal(root, schema.StringAt("$ref")); to && to->is_object()) {
        JsonText merged = *to;
        for (const JsonMember& member : root.members) {
          if (member.key != "$ref" && merged.Find(member.key) == nullptr) {
            merged.members.push_back(member);
          }
        }
        schema = std::move(merged);
      } else {
        schema.Erase("$ref");
      }
      Note("root_reference_written_out", "/$ref", "the root's $ref was written out");
    }
    FoldRoot(schema, notes_);
    if (schema.StringAt("type") != "object") {
      if (const JsonText* type = schema.Find("type")) {
        Note("root_type_set", "/type",
             absl::StrCat("the root's type ", WriteJson(*type), " became \"object\""));
        schema.Set("type", JsonText::String("object"));
      } else {
        schema.members.insert(schema.members.begin(), {"type", JsonText::String("object")});
      }
    }
    for (const char* key : {"enum", "not", "const"}) {
      if (target_ != SchemaTarget::kAnthropic && schema.Erase(key)) {
        Note("root_keyword_dropped", absl::StrCat("/", key),
             absl::StrCat(key, " at the root is refused and was left out"));
      }
    }
    if (schema.Find("properties") == nullptr) schema.Set("properties", JsonText::Object());
    schema.Erase("$schema");
    if (target_ == SchemaTarget::kGemini) WriteOutRefs(schema);
    Schema(schema, "", 0);
  }

 private:
  void Note(absl::string_view rule, std::string pointer, std::string message) {
    notes_.push_back({std::string(rule), std::move(pointer), std::move(message)});
  }

  void Properties(JsonText& schema, const std::string& pointer, bool root) {
    JsonText* properties = schema.Find("properties");
    if (properties == nullptr) return;
    if (!properties->is_object()) {
      Note("bad_properties", Step(pointer, "properties"), "was no object and became an empty one");
      schema.Set("properties", JsonText::Object());
      return;
    }
    std::vector<std::string> gone;
    for (JsonMember& member : properties->members) {
      const auto at = [&] { return Step(Step(pointer, "properties"), member.key); };
      if (!IsSchema(member.value)) {
        Note("property_not_schema", at(),
             absl::StrCat(WriteJson(member.value), " is no schema; the property is left open"));
        member.value = JsonText::Object();
      } else if (member.value.kind == JsonText::Kind::kBool) {
        member.value = JsonText::Object();
      }
      if (root && target_ == SchemaTarget::kAnthropic && !IsLegalPropertyName(member.key)) {
        Note("property_name_refused", at(),
             "a property name is 1 to 64 of A-Z a-z 0-9 _ . -; left out");
        gone.push_back(member.key);
      }
    }
    for (const std::string& name : gone) properties->Erase(name);
    if (!gone.empty()) {
      std::vector<std::string> required = StringsAt(schema, "required");
      std::erase_if(required, [&gone](const std::string& name) { return Has(gone, name); });
      schema.Set("required", Strings(required));
    }
  }

  void Array(JsonText& schema, const std::string& pointer) {
    const JsonText* type = schema.Find("type");
    const bool array =
        type != nullptr &&
        (type->is_string() ? type->text == "array" : Has(StringsAt(schema, "type"), "array"));
    if (!array || target_ == SchemaTarget::kAnthropic) return;
    JsonText* items = schema.Find("items");
    if (items != nullptr && items->is_object()) return;
    JsonText filler = JsonText::Object();
    if (items != nullptr && items->is_array()) {
      JsonText variants = JsonText::Array(items->items);
      if (!variants.items.empty()) filler.Set("anyOf", std::move(variants));
    } else if (const JsonText* prefix = schema.Find("prefixItems");
               prefix != nullptr && !prefix->items.empty()) {
      filler.Set("anyOf", *prefix);
    }
    if (filler.members.empty() && target_ == SchemaTarget::kGemini) {
      filler.Set("type", JsonText::String("string"));
    }
    Note("array_without_items", pointer, "items is needed and was filled in");
    schema.Set("items", std::move(filler));
  }

  void Gemini(JsonText& schema, const std::string& pointer) {
    if (JsonText* value = schema.Find("const")) {
      JsonText values = JsonText::Array({*value});
      schema.Erase("const");
      schema.Set("enum", std::move(values));
    }
    if (const JsonText* type = schema.Find("type"); type != nullptr && type->is_array()) {
      std::vector<std::string> words = StringsAt(schema, "type");
      const bool nullable = std::erase(words, "null") > 0;
      if (words.size() == 1) {
        schema.Set("type", JsonText::String(words[0]));
      } else {
        schema.Erase("type");
        JsonText variants = JsonText::Array();
        for (const std::string& word : words) {
          JsonText variant = JsonText::Object();
          variant.Set("type", JsonText::String(word));
          variants.items.push_back(std::move(variant));
        }
        if (!words.empty()) schema.Set("anyOf", std::move(variants));
      }
      if (nullable) schema.Set("nullable", JsonText::Bool(true));
    }
    if (const JsonText* one_of = schema.Find("oneOf")) {
      JsonText variants = *one_of;
      schema.Erase("oneOf");
      schema.Set("anyOf", std::move(variants));
    }
    if (JsonText* variants = schema.Find("anyOf"); variants != nullptr && variants->is_array()) {
      if (std::erase_if(variants->items, [](const JsonText& variant) {
            return variant.StringAt("type") == "null";
          }) > 0) {
        if (variants->items.size() == 1) {
          const JsonText only = variants->items[0];
          schema.Erase("anyOf");
          for (const JsonMember& member : only.members) {
            if (schema.Find(member.key) == nullptr) schema.Set(member.key, member.value);
          }
        }
        schema.Set("nullable", JsonText::Bool(true));
      }
    }
    if (const JsonText* values = schema.Find("enum"); values != nullptr && values->is_array()) {
      JsonText words = JsonText::Array();
      bool changed = false;
      for (const JsonText& value : values->items) {
        changed = changed || !value.is_string();
        if (value.kind != JsonText::Kind::kNull)
          words.items.push_back(JsonText::String(
              value.is_string() || !value.items.empty() ? value.text : WriteJson(value)));
      }
      if (changed || words.items.empty()) {
        Note("enum_not_text", Step(pointer, "enum"), "an enum holds only text here; left out");
        schema.Erase("enum");
      }
    }
    static const auto* kKept = new std::vector<std::string>{
        "type",      "format",    "title",      "description", "nullable",      "enum",
        "maxItems",  "minItems",  "properties", "required",    "minProperties", "maxProperties",
        "minLength", "maxLength", "pattern",    "example",     "anyOf",         "propertyOrdering",
        "default",   "items",     "minimum",    "maximum"};
    std::vector<std::string> dropped;
    for (const JsonMember& member : schema.members) {
      if (!Has(*kKept, member.key)) dropped.push_back(member.key);
    }
    for (const std::string& key : dropped) {
      schema.Erase(key);
      if (key == "$comment" || key == "$id" || key == "examples" || key == "$schema") continue;
      Note("keyword_dropped", Step(pointer, key),
           absl::StrCat(key, " is not known there; left out"));
    }
    if (schema.Find("properties") != nullptr && schema.Find("type") == nullptr) {
      schema.Set("type", JsonText::String("object"));
    }
    std::vector<std::string> required = StringsAt(schema, "required");
    if (!required.empty()) {
      const JsonText* properties = schema.Find("properties");
      std::erase_if(required, [properties](const std::string& name) {
        return properties == nullptr || properties->Find(name) == nullptr;
      });
      schema.Set("required", Strings(required));
    }
    if (required.empty()) schema.Erase("required");
  }

  void Schema(JsonText& schema, const std::string& pointer, size_t depth) {
    if (!schema.is_object() || depth > kMaxSchemaDepth * 2) return;
    Properties(schema, pointer, depth == 0);
    Array(schema, pointer);
    if (target_ == SchemaTarget::kGemini) Gemini(schema, pointer);
    if (depth > 0) schema.Erase("$schema");
    EachSubschema(schema, pointer, [this, depth](JsonText& sub, const std::string& at) {
      Schema(sub, at, depth + 1);
    });
  }

  const SchemaTarget target_;
  std::vector<LoweringNote>& notes_;
};

}  // namespace

void LowerSchema(SchemaTarget target, JsonText& schema, std::vector<LoweringNote>& notes) {
  if (target == SchemaTarget::kAny) return;
  Lowerer(target, notes).Root(schema);
}

}  // namespace toolrack
