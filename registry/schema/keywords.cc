#include "registry/schema/keywords.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace toolrack {
namespace {

constexpr uint8_t k4 = 1, k6 = 2, k7 = 4, k19 = 8, k20 = 16;
constexpr uint8_t kAll = k4 | k6 | k7 | k19 | k20;
constexpr uint8_t kFrom6 = k6 | k7 | k19 | k20;
constexpr uint8_t kFrom7 = k7 | k19 | k20;
constexpr uint8_t kFrom19 = k19 | k20;

// Sorted by name.
constexpr Keyword kKeywords[] = {
    {"$anchor", kFrom19, Shape::kNone},
    {"$defs", kAll, Shape::kNamedSchemas},  // asserts nothing, so it may stand anywhere
    {"$dynamicAnchor", k20, Shape::kNone},
    {"$dynamicRef", k20, Shape::kNone},
    {"$id", kFrom6, Shape::kNone},
    {"$recursiveAnchor", k19, Shape::kNone},
    {"$recursiveRef", k19, Shape::kNone},
    {"$ref", kAll, Shape::kNone},
    {"$schema", kAll, Shape::kNone},
    {"additionalItems", k4 | k6 | k7 | k19, Shape::kSchema},
    {"additionalProperties", kAll, Shape::kSchema},
    {"allOf", kAll, Shape::kSchemas},
    {"anyOf", kAll, Shape::kSchemas},
    {"const", kFrom6, Shape::kNone},
    {"contains", kFrom6, Shape::kSchema},
    {"definitions", kAll, Shape::kNamedSchemas},
    // Dropped from 2019-09 on, but kept by the common validators; enforced in every dialect.
    {"dependencies", kAll, Shape::kDependencies},
    {"dependentRequired", kFrom19, Shape::kNone},
    {"dependentSchemas", kFrom19, Shape::kNamedSchemas},
    {"else", kFrom7, Shape::kSchema},
    {"enum", kAll, Shape::kNone},
    {"exclusiveMaximum", kAll, Shape::kNone},
    {"exclusiveMinimum", kAll, Shape::kNone},
    {"id", k4, Shape::kNone},
    {"if", kFrom7, Shape::kSchema},
    {"items", kAll, Shape::kSchemaOrSchemas},
    {"maxContains", kFrom19, Shape::kNone},
    {"maxItems", kAll, Shape::kNone},
    {"maxLength", kAll, Shape::kNone},
    {"maxProperties", kAll, Shape::kNone},
    {"maximum", kAll, Shape::kNone},
    {"minContains", kFrom19, Shape::kNone},
    {"minItems", kAll, Shape::kNone},
    {"minLength", kAll, Shape::kNone},
    {"minProperties", kAll, Shape::kNone},
    {"minimum", kAll, Shape::kNone},
    {"multipleOf", kAll, Shape::kNone},
    {"not", kAll, Shape::kSchema},
    {"oneOf", kAll, Shape::kSchemas},
    {"pattern", kAll, Shape::kNone},
    {"patternProperties", kAll, Shape::kNamedSchemas},
    {"prefixItems", k20, Shape::kSchemas},
    {"properties", kAll, Shape::kNamedSchemas},
    {"propertyNames", kFrom6, Shape::kSchema},
    {"required", kAll, Shape::kNone},
    {"then", kFrom7, Shape::kSchema},
    {"type", kAll, Shape::kNone},
    {"unevaluatedItems", kFrom19, Shape::kSchema},
    {"unevaluatedProperties", kFrom19, Shape::kSchema},
    {"uniqueItems", kAll, Shape::kNone},
};

struct Annotation {
  const char* name;
  uint8_t dialects;
  const char* form;
  bool (*fits)(const Json& value);
};

bool IsText(const Json& value) { return value.is_string(); }
bool IsFlag(const Json& value) { return value.is_boolean(); }

constexpr Annotation kAnnotations[] = {
    {"$comment", kFrom7, "a string", IsText},
    {"contentEncoding", kFrom7, "a string", IsText},
    {"contentMediaType", kFrom7, "a string", IsText},
    {"deprecated", kFrom19, "true or false", IsFlag},
    {"description", kAll, "a string", IsText},
    {"examples", kFrom6, "an array", [](const Json& value) { return value.is_array(); }},
    {"format", kAll, "a string", IsText},
    {"readOnly", kFrom7, "true or false", IsFlag},
    {"title", kAll, "a string", IsText},
    {"writeOnly", kFrom7, "true or false", IsFlag},
};

}  // namespace

const char* WrongAnnotation(absl::string_view name, const Json& value, Dialect dialect) {
  for (const Annotation& each : kAnnotations) {
    if (name != each.name) continue;
    const bool ours = (each.dialects & static_cast<uint8_t>(dialect)) != 0;
    return !ours || each.fits(value) ? nullptr : each.form;
  }
  return nullptr;
}

std::optional<Dialect> DialectOf(absl::string_view schema_uri) {
  absl::ConsumeSuffix(&schema_uri, "#");
  if (!absl::ConsumePrefix(&schema_uri, "http://")) absl::ConsumePrefix(&schema_uri, "https://");
  if (!absl::ConsumePrefix(&schema_uri, "json-schema.org/")) return std::nullopt;
  if (schema_uri == "draft-04/schema") return Dialect::kDraft4;
  if (schema_uri == "draft-06/schema") return Dialect::kDraft6;
  if (schema_uri == "draft-07/schema") return Dialect::kDraft7;
  if (schema_uri == "draft/2019-09/schema") return Dialect::k2019_09;
  if (schema_uri == "draft/2020-12/schema") return Dialect::k2020_12;
  return std::nullopt;
}

absl::string_view DialectName(Dialect dialect) {
  switch (dialect) {
    case Dialect::kDraft4:
      return "draft-04";
    case Dialect::kDraft6:
      return "draft-06";
    case Dialect::kDraft7:
      return "draft-07";
    case Dialect::k2019_09:
      return "2019-09";
    case Dialect::k2020_12:
      return "2020-12";
  }
  return "";
}

const Keyword* FindKeyword(absl::string_view name) {
  const Keyword* at = std::lower_bound(
      std::begin(kKeywords), std::end(kKeywords), name,
      [](const Keyword& keyword, absl::string_view wanted) { return keyword.name < wanted; });
  return at != std::end(kKeywords) && at->name == name ? at : nullptr;
}

}  // namespace toolrack
