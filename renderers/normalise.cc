#include <algorithm>
#include <string>
#include <utility>

#include "renderers/lowering.h"
#include "renderers/schema_walk.h"

namespace toolrack {
namespace {

void Plain(JsonText& schema, size_t depth) {
  if (!schema.is_object() || depth > kMaxSchemaDepth) return;
  if (const JsonText* value = schema.Find("allOf"); value != nullptr && value->items.size() == 1) {
    const JsonText only = value->items[0];
    schema.Erase("allOf");
    for (const JsonMember& member : only.members) {
      if (schema.Find(member.key) == nullptr) schema.Set(member.key, member.value);
    }
  }
  if (const JsonText* value = schema.Find("const")) {
    const JsonText only = *value;
    schema.Erase("const");
    schema.Set("enum", JsonText::Array({only}));
    if (only.is_string() && schema.Find("type") == nullptr) {
      schema.Set("type", JsonText::String("string"));
    }
  }
  if (const JsonText* value = schema.Find("anyOf"); value != nullptr && value->is_array()) {
    JsonText variants = *value;
    schema.Erase("anyOf");
    const bool null = std::erase_if(variants.items, [](const JsonText& variant) {
                        return variant.StringAt("type") == "null";
                      }) > 0;
    if (variants.items.size() == 1) {
      for (const JsonMember& member : variants.items[0].members) {
        if (schema.Find(member.key) == nullptr) schema.Set(member.key, member.value);
      }
    } else if (!variants.items.empty()) {
      schema.Set("oneOf", std::move(variants));
    }
    if (null) schema.Set("nullable", JsonText::Bool(true));
  }
  for (const char* key : {"description", "title"}) {
    if (JsonText* text = schema.Find(key); text != nullptr && text->is_string()) {
      std::replace_if(
          text->text.begin(), text->text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    }
  }
  EachSubschema(schema, "", [depth](JsonText& sub, const std::string&) { Plain(sub, depth + 1); });
}

}  // namespace

void NormaliseSchema(JsonText& schema) {
  WriteOutRefs(schema);
  Plain(schema, 0);
}

}  // namespace toolrack
