#include "registry/schema/lint.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/schema/index.h"
#include "registry/schema/keywords.h"

namespace toolrack {
namespace {

constexpr char kAnthropic[] = "anthropic", kOpenAi[] = "openai", kStrict[] = "openai_strict",
               kGemini[] = "gemini", kBedrock[] = "bedrock";
constexpr size_t kMaxDetails = 8;

using Names = std::initializer_list<absl::string_view>;
bool IsOneOf(absl::string_view name, Names names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr Names kGeminiKeywords = {"anyOf",
                                   "default",
                                   "description",
                                   "enum",
                                   "example",
                                   "format",
                                   "items",
                                   "maxItems",
                                   "maxLength",
                                   "maximum",
                                   "maxProperties",
                                   "minItems",
                                   "minLength",
                                   "minimum",
                                   "minProperties",
                                   "nullable",
                                   "pattern",
                                   "properties",
                                   "propertyOrdering",
                                   "required",
                                   "title",
                                   "type"};
constexpr Names kStrictKeywords = {"$defs",
                                   "$ref",
                                   "$schema",
                                   "additionalProperties",
                                   "anyOf",
                                   "const",
                                   "definitions",
                                   "description",
                                   "enum",
                                   "exclusiveMaximum",
                                   "exclusiveMinimum",
                                   "format",
                                   "items",
                                   "maxItems",
                                   "maximum",
                                   "minItems",
                                   "minimum",
                                   "multipleOf",
                                   "pattern",
                                   "properties",
                                   "required",
                                   "title",
                                   "type"};
constexpr Names kStrictFormats = {"date-time", "time", "date", "duration", "email",
                                  "hostname",  "ipv4", "ipv6", "uuid"};

struct Rule {
  const char* target;
  const char* rule;
  v1::FindingSeverity severity;
  const char* message;
};
constexpr auto kWarning = v1::FINDING_SEVERITY_WARNING, kInfo = v1::FINDING_SEVERITY_INFO;

// In the order in which findings come out.
constexpr Rule kRules[] = {
    {kAnthropic, "name_too_long", kWarning, "at most 128 characters; send another name for it"},
    {kAnthropic, "name_characters", kWarning,
     "letters, digits, `_` and `-` only; send another name for it"},
    {kAnthropic, "root_combination", kWarning,
     "no `oneOf`, `anyOf` or `allOf` at the root; move it into a property, or into the "
     "description"},
    {kAnthropic, "other_dialect", kWarning,
     "schemas are read as 2020-12, where this form is no schema; rewrite it"},
    {kAnthropic, "property_name", kWarning,
     "property names must be 1 to 64 letters, digits, `_`, `.` and `-`"},
    {kOpenAi, "name_too_long", kWarning, "at most 64 characters; send another name for it"},
    {kOpenAi, "name_characters", kWarning,
     "letters, digits, `_` and `-` only; send another name for it"},
    {kOpenAi, "root_combination", kWarning,
     "no `oneOf`, `anyOf`, `allOf`, `enum` or `not` at the root; move it into a property, or into"
     " the description"},
    {kOpenAi, "array_without_items", kWarning, "an array must have `items`, be it `{}`"},
    {kStrict, "open_object", kInfo, "every object needs `\"additionalProperties\": false`"},
    {kStrict, "optional_property", kInfo,
     "every property must be in `required`; an optional one takes null instead"},
    {kStrict, "unsupported_keyword", kInfo, "unknown to strict mode"},
    {kGemini, "name_too_long", kWarning, "at most 64 characters; send another name for it"},
    {kGemini, "name_characters", kWarning,
     "a letter or `_` first, then letters, digits, `_`, `.` and `-`; send another name for it"},
    {kGemini, "type_list", kWarning, "`type` must be one name; write null as `nullable`"},
    {kGemini, "unsupported_keyword", kWarning, "unknown to function declarations; leave them out"},
    {kGemini, "array_without_items", kWarning, "an array must have `items`"},
    {kGemini, "enum_not_strings", kWarning, "an `enum` holds strings only"},
    {kGemini, "boolean_schema", kWarning, "a schema must be an object"},
    {kGemini, "recursive_reference", kWarning,
     "there is no `$ref`, and this one refers back to what holds it, so it cannot be written out"},
    {kGemini, "empty_object", kWarning, "an object must have properties"},
    {kBedrock, "name_too_long", kWarning, "at most 64 characters; send another name for it"},
    {kBedrock, "name_characters", kWarning,
     "letters, digits, `_` and `-` only; send another name for it"},
    {kBedrock, "root_combination", kWarning,
     "no `oneOf`, `anyOf` or `allOf` at the root; move it into a property, or into the "
     "description"},
    {kBedrock, "null_properties", kWarning, "`properties` must be an object; write `{}`"},
};

bool HasType(const Json& schema, absl::string_view name) {
  const auto type = schema.find("type");
  if (type == schema.end()) return false;
  if (!type->is_array()) return *type == std::string(name);
  return std::find(type->begin(), type->end(), Json(std::string(name))) != type->end();
}

bool IsObjectSchema(const Json& schema) {
  return HasType(schema, "object") || schema.contains("properties");
}

class Linter {
 public:
  void Name(absl::string_view name) {
    const auto all = [name](absl::string_view others) {
      return std::all_of(name.begin(), name.end(), [others](char c) {
        return absl::ascii_isalnum(c) || absl::StrContains(others, c);
      });
    };
    if (name.size() > 128) Add(kAnthropic, "name_too_long", "/name");
    for (const char* target : {kOpenAi, kGemini, kBedrock}) {
      if (name.size() > 64) Add(target, "name_too_long", "/name");
    }
    for (const char* target : {kAnthropic, kOpenAi, kBedrock}) {
      if (!all("_-")) Add(target, "name_characters", "/name");
    }
    const bool starts = !name.empty() && (absl::ascii_isalpha(name[0]) || name[0] == '_');
    if (!starts || !all("_.-")) Add(kGemini, "name_characters", "/name");
  }

  void Schema(const Json& root) {
    root_ = &root;
    if (root.is_object()) Root(root);
    Walk(root, "/input_schema", 0);
  }

  std::vector<v1::Finding> Take() {
    std::vector<v1::Finding> out;
    for (const Rule& rule : kRules) {
      const auto at = places_.find({rule.target, rule.rule});
      if (at == places_.end()) continue;
      const Places& places = at->second;
      v1::Finding& finding = out.emplace_back();
      finding.set_target(rule.target);
      finding.set_rule(rule.rule);
      finding.set_severity(rule.severity);
      finding.set_pointer(places.first);
      std::string& message = *finding.mutable_message();
      if (!places.details.empty()) {
        message = absl::StrCat("`", absl::StrJoin(places.details, "`, `"), "`",
                               places.more_details ? " and more" : "", ": ");
      }
      message += rule.message;
      if (places.count > 1) absl::StrAppend(&message, " (", places.count, " places)");
    }
    return out;
  }

 private:
  struct Places {
    std::string first;
    size_t count = 0;
    std::vector<std::string> details;
    bool more_details = false;
  };

  void Add(const char* target, const char* rule, const std::string& pointer,
           absl::string_view detail = "") {
    Places& places = places_[{target, rule}];
    if (places.count++ == 0) places.first = pointer;
    if (detail.empty()) return;
    const std::string shown = ForMessage(detail, 40);
    if (std::find(places.details.begin(), places.details.end(), shown) != places.details.end()) {
      return;
    }
    if (places.details.size() < kMaxDetails) {
      places.details.push_back(shown);
    } else {
      places.more_details = true;
    }
  }

  void Root(const Json& root) {
    for (const char* name : {"oneOf", "anyOf", "allOf", "enum", "not"}) {
      if (!root.contains(name)) continue;
      const std::string pointer = absl::StrCat("/input_schema/", name);
      Add(kOpenAi, "root_combination", pointer, name);
      if (IsOneOf(name, {"enum", "not"})) continue;
      Add(kAnthropic, "root_combination", pointer, name);
      Add(kBedrock, "root_combination", pointer, name);
    }
  }

  void Walk(const Json& schema, const std::string& pointer, int depth) {
    if (depth > 64) return;
    if (schema.is_boolean()) return Add(kGemini, "boolean_schema", pointer);
    if (!schema.is_object()) return;
    Forms(schema, pointer);
    Keywords(schema, pointer);
    Objects(schema, pointer);
    for (const auto& [name, value] : schema.items()) {
      const Keyword* keyword = FindKeyword(name);
      if (keyword == nullptr || keyword->shape == Shape::kNone) continue;
      const std::string at = absl::StrCat(pointer, "/", name);
      const bool named =
          keyword->shape == Shape::kNamedSchemas || keyword->shape == Shape::kDependencies;
      if (named && value.is_object()) {
        for (const auto& [each, sub] : value.items()) Walk(sub, at + PointerStep(each), depth + 1);
      } else if (value.is_array()) {
        for (size_t i = 0; i < value.size(); ++i)
          Walk(value[i], absl::StrCat(at, "/", i), depth + 1);
      } else if (name != "additionalProperties") {  // a flag as good as always
        Walk(value, at, depth + 1);
      }
    }
  }

  void Forms(const Json& schema, const std::string& pointer) {
    const auto is = [&schema](const char* name, auto form) {
      const auto at = schema.find(name);
      return at != schema.end() && form(*at);
    };
    const auto list = [](const Json& value) { return value.is_array(); };
    const auto flag = [](const Json& value) { return value.is_boolean(); };
    if (is("items", list)) Add(kAnthropic, "other_dialect", pointer + "/items", "items");
    for (const char* bound : {"exclusiveMinimum", "exclusiveMaximum"}) {
      if (is(bound, flag)) {
        Add(kAnthropic, "other_dialect", absl::StrCat(pointer, "/", bound), bound);
      }
    }
    if (is("type", list)) Add(kGemini, "type_list", pointer + "/type");
    if (is("properties", [](const Json& value) { return value.is_null(); })) {
      Add(kBedrock, "null_properties", pointer + "/properties");
    }
    if (is("enum", [](const Json& value) {
          return value.is_array() && !std::all_of(value.begin(), value.end(), [](const Json& each) {
                   return each.is_string();
                 });
        })) {
      Add(kGemini, "enum_not_strings", pointer + "/enum");
    }
    if (HasType(schema, "array") && !schema.contains("items")) {
      Add(kGemini, "array_without_items", pointer);
      if (!schema.contains("prefixItems")) Add(kOpenAi, "array_without_items", pointer);
    }
    const auto reference = schema.find("$ref");
    if (reference != schema.end() && reference->is_string() && RefersBack(schema)) {
      Add(kGemini, "recursive_reference", pointer + "/$ref");
    }
  }

  void Keywords(const Json& schema, const std::string& pointer) {
    for (const auto& [name, value] : schema.items()) {
      const std::string at = pointer + PointerStep(name);
      if (!IsOneOf(name, kGeminiKeywords)) Add(kGemini, "unsupported_keyword", at, name);
      if (!IsOneOf(name, kStrictKeywords)) Add(kStrict, "unsupported_keyword", at, name);
      if (name == "format" && value.is_string() &&
          !IsOneOf(value.get_ref<const std::string&>(), kStrictFormats)) {
        Add(kStrict, "unsupported_keyword", at,
            absl::StrCat("format: ", value.get_ref<const std::string&>()));
      }
    }
  }

  void Objects(const Json& schema, const std::string& pointer) {
    if (!IsObjectSchema(schema)) return;
    const auto properties = schema.find("properties");
    const bool some = properties != schema.end() && properties->is_object() && !properties->empty();
    if (!some) Add(kGemini, "empty_object", pointer);
    const auto additional = schema.find("additionalProperties");
    if (additional == schema.end() || *additional != false) Add(kStrict, "open_object", pointer);
    if (!some) return;
    const auto required = schema.find("required");
    for (const auto& [name, each] : properties->items()) {
      const std::string at = absl::StrCat(pointer, "/properties", PointerStep(name));
      const bool needed =
          required != schema.end() && required->is_array() &&
          std::find(required->begin(), required->end(), Json(name)) != required->end();
      if (!needed) Add(kStrict, "optional_property", at, name);
      const bool plain =
          !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
            return absl::ascii_isalnum(c) || absl::StrContains("_.-", c);
          });
      if (!plain) Add(kAnthropic, "property_name", at, name);
    }
  }

  // Whether following the references below `schema` comes back to it.
  bool RefersBack(const Json& schema) {
    std::vector<const Json*> open = {Target(schema)};
    absl::flat_hash_map<const Json*, bool> seen;
    while (!open.empty()) {
      const Json* at = open.back();
      open.pop_back();
      if (at == nullptr || !seen.try_emplace(at, true).second) continue;
      if (at == &schema) return true;
      if (!at->is_structured()) continue;
      for (const Json& each : *at) open.push_back(&each);
      open.push_back(Target(*at));
    }
    return false;
  }

  const Json* Target(const Json& schema) {
    if (!schema.is_object()) return nullptr;
    const auto reference = schema.find("$ref");
    if (reference == schema.end() || !reference->is_string()) return nullptr;
    const auto& text = reference->get_ref<const std::string&>();
    if (text == "#") return root_;
    if (!absl::StartsWith(text, "#/")) return nullptr;
    try {
      const Json::json_pointer pointer(text.substr(1));
      return root_->contains(pointer) ? &root_->at(pointer) : nullptr;
    } catch (const Json::exception&) {
      return nullptr;  // no pointer; the compiler says so
    }
  }

  const Json* root_ = nullptr;
  std::map<std::pair<absl::string_view, absl::string_view>, Places> places_;
};

}  // namespace

std::vector<v1::Finding> LintForTargets(absl::string_view name, absl::string_view input_schema) {
  Linter linter;
  linter.Name(name);
  Json schema;
  const auto parsed = ParseJson(input_schema, {SIZE_MAX, 1000}, schema);
  if (std::holds_alternative<std::monostate>(parsed)) linter.Schema(schema);
  return linter.Take();
}

}  // namespace toolrack
