#include "renderers/signature.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "registry/base/utf8.h"
#include "renderers/json_text.h"

namespace toolrack {
namespace {

constexpr size_t kMaxParameters = 24;
constexpr size_t kMaxEnum = 8;
constexpr size_t kMaxExcerpts = 4;

std::string TypeOf(const JsonText& schema) {
  if (const JsonText* values = schema.Find("enum"); values != nullptr && values->is_array() &&
                                                    !values->items.empty() &&
                                                    values->items.size() <= kMaxEnum) {
    std::vector<std::string> spelled;
    for (const JsonText& value : values->items) spelled.push_back(WriteJson(value));
    return absl::StrJoin(spelled, " | ");
  }
  const JsonText* type = schema.Find("type");
  if (type == nullptr) return "any";
  if (type->is_array()) {
    std::vector<std::string> names;
    for (const JsonText& name : type->items) names.push_back(name.text);
    return absl::StrJoin(names, " | ");
  }
  if (type->text == "array") {
    const JsonText* items = schema.Find("items");
    const std::string of = items == nullptr ? "any" : TypeOf(*items);
    return of == "any" ? "array" : absl::StrCat("array of ", of);
  }
  return type->text;
}

bool IsRequired(const JsonText& schema, const std::string& name) {
  const JsonText* required = schema.Find("required");
  return required != nullptr && required->is_array() &&
         std::any_of(required->items.begin(), required->items.end(),
                     [&name](const JsonText& item) { return item.text == name; });
}

std::string FirstToken(absl::string_view pointer) {
  if (pointer.empty() || pointer.front() != '/') return "";
  pointer.remove_prefix(1);
  return absl::StrReplaceAll(pointer.substr(0, pointer.find('/')), {{"~1", "/"}, {"~0", "~"}});
}

}  // namespace

std::string Signature(absl::string_view name, absl::string_view input_schema) {
  const std::optional<JsonText> schema = ParseJsonText(input_schema);
  const JsonText* properties = schema && schema->is_object() ? schema->Find("properties") : nullptr;
  if (!schema || !schema->is_object()) return absl::StrCat(name, "(…)");
  if (properties == nullptr || !properties->is_object()) return absl::StrCat(name, "()");
  std::vector<std::string> parameters;
  for (const JsonMember& member : properties->members) {
    if (parameters.size() == kMaxParameters) {
      parameters.push_back("…");
      break;
    }
    parameters.push_back(absl::StrCat(
        member.key, IsRequired(*schema, member.key) ? ": " : "?: ", TypeOf(member.value)));
  }
  return absl::StrCat(name, "(", absl::StrJoin(parameters, ", "), ")");
}

std::string SchemaExcerpt(absl::string_view input_schema, const std::vector<std::string>& pointers,
                          size_t max_bytes) {
  const std::optional<JsonText> schema = ParseJsonText(input_schema);
  const JsonText* properties = schema && schema->is_object() ? schema->Find("properties") : nullptr;
  if (properties == nullptr || !properties->is_object()) return "";
  std::string out;
  std::set<std::string> seen;
  for (const std::string& pointer : pointers) {
    const std::string name = FirstToken(pointer);
    const JsonText* property = properties->Find(name);
    if (property == nullptr || seen.size() == kMaxExcerpts || !seen.insert(name).second) continue;
    const std::string text = WriteJson(*property);
    const absl::string_view shown = Utf8Prefix(text, max_bytes);
    absl::StrAppend(&out, out.empty() ? "" : "\n", name, ": ", shown,
                    shown.size() < text.size() ? "…" : "");
  }
  return out;
}

}  // namespace toolrack
