// The dialects of JSON Schema and the keywords that each one knows.
#ifndef TOOLRACK_REGISTRY_SCHEMA_KEYWORDS_H_
#define TOOLRACK_REGISTRY_SCHEMA_KEYWORDS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "registry/base/json.h"

namespace toolrack {

// In order of time; each is one bit, so that sets of them can be written.
enum class Dialect : uint8_t {
  kDraft4 = 1,
  kDraft6 = 2,
  kDraft7 = 4,
  k2019_09 = 8,
  k2020_12 = 16,
};

// By the value of `$schema`, with or without its empty fragment. nullopt: none that we know.
std::optional<Dialect> DialectOf(absl::string_view schema_uri);
// "draft-07", "2020-12" …
absl::string_view DialectName(Dialect dialect);

// Where subschemas lie in a keyword's value.
enum class Shape : uint8_t {
  kNone,
  kSchema,
  kSchemas,          // an array of them
  kNamedSchemas,     // an object of them
  kSchemaOrSchemas,  // `items` before 2020-12
  kDependencies,     // an object of schemas and of arrays of names
};

struct Keyword {
  const char* name;
  uint8_t dialects;  // those that enforce it, as bits
  Shape shape;
};

// nullptr for annotations and for names that no dialect knows.
const Keyword* FindKeyword(absl::string_view name);

// What a dialect demands of the form of an annotation, in words: "a string"; nullptr when it
// demands nothing, or `value` has it.
const char* WrongAnnotation(absl::string_view name, const Json& value, Dialect dialect);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_KEYWORDS_H_
