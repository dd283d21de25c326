// What of a tool is searched.
#ifndef TOOLRACK_REGISTRY_SEARCH_FIELDS_H_
#define TOOLRACK_REGISTRY_SEARCH_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

// The words in a schema that tell what it is about, from the root down through all subschemas.
struct SchemaWords {
  std::vector<std::string> names;         // of properties, in order
  std::vector<std::string> descriptions;  // and titles
  std::vector<std::string> values;        // strings of `enum` and `const`
  std::vector<std::string> required;      // properties of the root that must be given
};

// Empty for a text that is no JSON. Linear in its length. Thread-safe.
SchemaWords ReadSchemaWords(absl::string_view schema);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_FIELDS_H_
