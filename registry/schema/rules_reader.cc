#include "registry/schema/rules_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/schema/exact.h"
#include "registry/schema/index.h"

namespace toolrack {
namespace {

template <typename Rules>
Rules& Made(std::unique_ptr<Rules>& rules) {
  if (!rules) rules = std::make_unique<Rules>();
  return *rules;
}

size_t CountValues(const Json& value) {
  size_t count = 1;
  if (value.is_structured()) {
    for (const Json& each : value) count += CountValues(each);
  }
  return count;
}

}  // namespace

ValueRules& RuleReader::values() { return Made(node_.values); }
NumberRules& RuleReader::number() { return Made(node_.number); }
StringRules& RuleReader::string() { return Made(node_.string); }
ArrayRules& RuleReader::array() { return Made(node_.array); }
ObjectRules& RuleReader::object() { return Made(node_.object); }
Combination& RuleReader::combination() { return Made(node_.combination); }

void RuleReader::Invalid(absl::string_view keyword, absl::string_view expected) {
  report_("invalid_keyword", keyword, absl::StrCat("`", keyword, "` must be ", expected));
}

void RuleReader::Unsupported(absl::string_view keyword, absl::string_view why) {
  report_("unsupported_keyword", keyword,
          absl::StrCat("`", keyword, "` cannot be enforced: ", why));
}

void RuleReader::Read(const Keyword& keyword, const Json& value, const Json& schema) {
  const absl::string_view name = keyword.name;
  const bool ours = (keyword.dialects & static_cast<uint8_t>(dialect_)) != 0;
  if (!ours) {
    // Identifiers of other dialects mean nothing; neither does `additionalItems` without a list.
    if (name == "id" || name == "$id" || name == "$anchor" || name == "$dynamicAnchor" ||
        name == "$recursiveAnchor" || name == "additionalItems") {
      return;
    }
    return Unsupported(name, absl::StrCat("it does not belong to ", DialectName(dialect_),
                                          ", the dialect of this schema"));
  }
  if (ReadCore(name, value) || ReadValueRule(name, value) || ReadNumberRule(name, value, schema) ||
      ReadStringRule(name, value) || ReadArrayRule(name, value, schema) ||
      ReadObjectRule(name, value) || ReadCombination(name, value, schema)) {
    return;
  }
  Unsupported(name, "this build does not know it");
}

void RuleReader::ReadAnnotation(const std::string& name, const Json& value) {
  const char* form = WrongAnnotation(name, value, dialect_);
  if (form != nullptr) {
    return Invalid(name, absl::StrCat(form, ", not ", ForMessage(DumpExactly(value), 40)));
  }
  if (name == "format" && options_.assert_format) {
    const Format* format = FindFormat(value.get_ref<const std::string&>());
    if (format != nullptr) string().format = format;
  }
}

void RuleReader::ReadNullable(const Json& schema) {
  const auto nullable = schema.find("nullable");
  if (nullable == schema.end()) return;
  if (!nullable->is_boolean()) return Invalid("nullable", "true or false");
  if (nullable->get<bool>() && schema.contains("type")) node_.types |= kNullType;
}

bool RuleReader::ReadCore(absl::string_view name, const Json& value) {
  if (name == "$defs" || name == "definitions") {
    // The subschemas are read when something refers to them. A fault in one that nothing uses is
    // still a fault: what its author meant cannot be known.
    if (!value.is_object()) {
      Invalid(name, "an object of schemas");
      return true;
    }
    for (const auto& [each, sub] : value.items()) {
      ReadSchemaAt(absl::StrCat(name, PointerStep(each)), sub);
    }
    return true;
  }
  if (name == "$recursiveAnchor") {
    if (!value.is_boolean()) Invalid(name, "true or false");
    return true;
  }
  return name[0] == '$' || name == "id";
}

bool RuleReader::ReadValueRule(absl::string_view name, const Json& value) {
  if (name == "type") {
    ReadTypes(value);
  } else if (name == "const") {
    values().constant = value;
    values().weight = std::max(values().weight, CountValues(value));
  } else if (name == "enum") {
    ReadAllowed(value);
  } else {
    return false;
  }
  return true;
}

void RuleReader::ReadAllowed(const Json& value) {
  if (!value.is_array()) return Invalid("enum", "an array of the allowed values");
  ValueRules& rules = values();
  rules.allowed = value.get_ref<const Json::array_t&>();
  for (size_t i = 0; i < value.size(); ++i) {
    rules.order.push_back(i);
    rules.weight = std::max(rules.weight, CountValues(value[i]));
  }
  std::sort(rules.order.begin(), rules.order.end(),
            [&value](size_t a, size_t b) { return CompareJson(value[a], value[b]) < 0; });
}

void RuleReader::ReadTypes(const Json& value) {
  constexpr char kExpected[] =
      "one of null, boolean, integer, number, string, array, object, or a list of them";
  JsonTypes types = 0;
  const Json list = value.is_array() ? value : Json::array({value});
  for (const Json& each : list) {
    const JsonTypes named = each.is_string() ? TypesNamed(each.get_ref<const std::string&>()) : 0;
    if (named == 0)
      return Invalid("type", absl::StrCat(kExpected, ", not ", ForMessage(DumpExactly(each), 40)));
    types |= named;
  }
  if (types == 0) return Invalid("type", kExpected);
  node_.types = types;
}

std::optional<Json> RuleReader::ReadNumber(absl::string_view keyword, const Json& value) {
  if ((TypeOf(value) & kNumberType) != 0) return value;
  Invalid(keyword, absl::StrCat("a number, not ", ForMessage(DumpExactly(value), 40)));
  return std::nullopt;
}

bool RuleReader::ReadNumberRule(absl::string_view name, const Json& value, const Json& schema) {
  // In draft-04 the exclusive bounds are flags beside the plain ones.
  const auto excluded = [&](const char* flag) {
    return dialect_ == Dialect::kDraft4 && schema.contains(flag) && schema[flag] == true;
  };
  if (name == "minimum") {
    (excluded("exclusiveMinimum") ? number().above : number().minimum) = ReadNumber(name, value);
  } else if (name == "maximum") {
    (excluded("exclusiveMaximum") ? number().below : number().maximum) = ReadNumber(name, value);
  } else if (name == "exclusiveMinimum" || name == "exclusiveMaximum") {
    if (dialect_ == Dialect::kDraft4) {
      if (!value.is_boolean()) Invalid(name, "true or false in draft-04");
      return true;
    }
    if (value.is_boolean()) {
      Invalid(name, absl::StrCat("a number in ", DialectName(dialect_),
                                 "; true and false belong to draft-04"));
      return true;
    }
    (name == "exclusiveMinimum" ? number().above : number().below) = ReadNumber(name, value);
  } else if (name == "multipleOf") {
    number().multiple_of = ReadNumber(name, value);
    if (!number().multiple_of) return true;
    if (CompareJson(*number().multiple_of, 0) <= 0) Invalid(name, "a number over 0");
    if (IsLongNumber(*number().multiple_of)) {
      Unsupported(name, "it has more digits than this build divides by");
      return true;
    }
    number().divisor = ToDecimal(*number().multiple_of);
  } else {
    return false;
  }
  return true;
}

uint64_t RuleReader::ReadCount(absl::string_view keyword, const Json& value) {
  const std::optional<uint64_t> count = ToCount(value);
  if (!count)
    Invalid(keyword,
            absl::StrCat("a whole number, 0 or more, not ", ForMessage(DumpExactly(value), 40)));
  return count.value_or(0);
}

std::optional<Pattern> RuleReader::ReadPattern(absl::string_view keyword,
                                               const std::string& source) {
  absl::StatusOr<Pattern> pattern = Pattern::Create(source);
  if (pattern.ok()) return std::move(*pattern);
  const bool cannot = absl::IsUnimplemented(pattern.status());
  report_(cannot ? "unsupported_pattern" : "invalid_keyword", keyword,
          absl::StrCat("the pattern ", ForMessage(JsonQuote(source), 80), ": ",
                       pattern.status().message()));
  return std::nullopt;
}

bool RuleReader::ReadStringRule(absl::string_view name, const Json& value) {
  if (name == "minLength") {
    string().min_length = ReadCount(name, value);
  } else if (name == "maxLength") {
    string().max_length = ReadCount(name, value);
  } else if (name == "pattern") {
    if (!value.is_string()) {
      Invalid(name, "a string");
    } else {
      string().pattern = ReadPattern(name, value.get_ref<const std::string&>());
    }
  } else {
    return false;
  }
  return true;
}

const Node* RuleReader::ReadSchemaAt(absl::string_view keyword, const Json& value) {
  const bool may_be_flag = dialect_ != Dialect::kDraft4 || keyword == "additionalItems" ||
                           keyword == "additionalProperties";
  if (value.is_object() || (value.is_boolean() && may_be_flag)) return child_(value);
  Invalid(keyword, may_be_flag ? "a schema (an object or a boolean)" : "a schema (an object)");
  return nullptr;
}

std::vector<const Node*> RuleReader::ReadSchemas(absl::string_view keyword, const Json& value) {
  std::vector<const Node*> out;
  if (!value.is_array()) {
    Invalid(keyword, "an array of schemas");
    return out;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    out.push_back(ReadSchemaAt(absl::StrCat(keyword, "/", i), value[i]));
  }
  return out;
}

std::vector<std::string> RuleReader::ReadNames(absl::string_view keyword, const Json& value) {
  std::vector<std::string> out;
  const bool strings =
      value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const Json& each) { return each.is_string(); });
  if (!strings) {
    Invalid(keyword, "an array of property names");
    return out;
  }
  for (const Json& each : value) {
    const auto& name = each.get_ref<const std::string&>();
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

bool RuleReader::ReadArrayRule(absl::string_view name, const Json& value, const Json& schema) {
  if (name == "minItems") {
    array().min_items = ReadCount(name, value);
  } else if (name == "maxItems") {
    array().max_items = ReadCount(name, value);
  } else if (name == "uniqueItems") {
    if (!value.is_boolean()) {
      Invalid(name, "true or false");
    } else if (value.get<bool>()) {
      array().unique = true;
    }
  } else if (name == "items") {
    if (!value.is_array()) {
      array().rest = ReadSchemaAt(name, value);
    } else if (dialect_ == Dialect::k2020_12) {
      Invalid(name,
              "one schema in 2020-12; a list of schemas is `prefixItems` there (or declare"
              " draft-07)");
    } else {
      array().prefix = ReadSchemas(name, value);
    }
  } else if (name == "additionalItems") {
    const Node* rest = ReadSchemaAt(name, value);
    if (schema.contains("items") && schema["items"].is_array()) array().rest = rest;
  } else if (name == "prefixItems") {
    array().prefix = ReadSchemas(name, value);
    if (value.is_array() && value.empty()) Invalid(name, "an array of at least one schema");
  } else if (name == "contains") {
    array().contains = ReadSchemaAt(name, value);
  } else if (name == "minContains") {
    array().min_contains = ReadCount(name, value);
  } else if (name == "maxContains") {
    array().max_contains = ReadCount(name, value);
  } else if (name == "unevaluatedItems") {
    array().unevaluated = ReadSchemaAt(name, value);
  } else {
    return false;
  }
  return true;
}

bool RuleReader::ReadObjectRule(absl::string_view name, const Json& value) {
  if (name == "minProperties") {
    object().min_properties = ReadCount(name, value);
  } else if (name == "maxProperties") {
    object().max_properties = ReadCount(name, value);
  } else if (name == "required") {
    object().required = ReadNames(name, value);
  } else if (name == "additionalProperties") {
    object().additional = ReadSchemaAt(name, value);
  } else if (name == "propertyNames") {
    object().names = ReadSchemaAt(name, value);
  } else if (name == "unevaluatedProperties") {
    object().unevaluated = ReadSchemaAt(name, value);
  } else if (name == "dependencies") {
    ReadDependencies(value);
  } else if (name == "properties" || name == "patternProperties" || name == "dependentSchemas" ||
             name == "dependentRequired") {
    if (!value.is_object()) {
      Invalid(name, name == "dependentRequired" ? "an object of arrays of names"
                                                : "an object of schemas");
      return true;
    }
    for (const auto& [each, sub] : value.items()) {
      const std::string at = absl::StrCat(name, PointerStep(each));
      if (name == "dependentRequired") {
        object().dependent_required.emplace_back(each, ReadNames(at, sub));
        continue;
      }
      const Node* node = ReadSchemaAt(at, sub);
      if (name == "properties") {
        object().properties.emplace_back(each, node);
      } else if (name == "dependentSchemas") {
        object().dependent_schemas.emplace_back(each, node);
      } else if (std::optional<Pattern> pattern = ReadPattern(at, each)) {
        object().patterns.emplace_back(std::move(*pattern), node);
      }
    }
  } else {
    return false;
  }
  return true;
}

void RuleReader::ReadDependencies(const Json& value) {
  if (!value.is_object()) return Invalid("dependencies", "an object");
  for (const auto& [each, sub] : value.items()) {
    const std::string at = absl::StrCat("dependencies", PointerStep(each));
    if (sub.is_array()) {
      object().dependent_required.emplace_back(each, ReadNames(at, sub));
    } else {
      object().dependent_schemas.emplace_back(each, ReadSchemaAt(at, sub));
    }
  }
}

bool RuleReader::ReadCombination(absl::string_view name, const Json& value, const Json& schema) {
  if (name == "allOf" || name == "anyOf" || name == "oneOf") {
    const std::vector<const Node*> branches = ReadSchemas(name, value);
    if (value.is_array() && value.empty()) Invalid(name, "an array of at least one schema");
    auto& to = name == "allOf"   ? combination().all_of
               : name == "anyOf" ? combination().any_of
                                 : combination().one_of;
    to.insert(to.end(), branches.begin(), branches.end());
  } else if (name == "not") {
    combination().negated = ReadSchemaAt(name, value);
  } else if (name == "if") {
    // Without `then` and `else` it still counts for unevaluatedProperties.
    combination().condition = ReadSchemaAt(name, value);
  } else if (name == "then" || name == "else") {
    const Node* branch = ReadSchemaAt(name, value);
    if (!schema.contains("if")) return true;  // without `if` it applies to nothing
    (name == "then" ? combination().then_schema : combination().else_schema) = branch;
  } else {
    return false;
  }
  return true;
}

void RuleReader::Finish() {
  if (node_.array && node_.array->contains == nullptr) {
    node_.array->min_contains = 0;
    node_.array->max_contains = UINT64_MAX;
  }
  if (node_.array) node_.array->contains_evaluates = dialect_ == Dialect::k2020_12;
}

}  // namespace toolrack
