// What would make a model provider refuse a request that shows a tool as it is.
//
// The targets: `anthropic` (Messages API), `openai` (function calling), `openai_strict` (the same
// with `strict: true`), `gemini` (function declarations), `bedrock` (Converse). Such findings are
// data for whoever shows tools to models; the rack itself calls the tool all the same.
#ifndef TOOLRACK_REGISTRY_SCHEMA_LINT_H_
#define TOOLRACK_REGISTRY_SCHEMA_LINT_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

// By target, then rule; one finding for each of both, at the first place, with the number of the
// others. Pointers are into the definition: `/name`, `/input_schema/…`. Severity WARNING: refused;
// INFO: what `openai_strict` would refuse, which only matters where strict mode is wanted, and
// `other_dialect`.
//
//   name_too_long, name_characters     the name, were it sent as it is
//   root_combination                   `oneOf`, `anyOf`, `allOf` and the like at the root
//   other_dialect                      a form that 2020-12, which the target reads, does not have
//   property_name                      a property's name outside the target's rule
//   array_without_items                an array that does not say what is in it
//   null_properties                    `properties: null`
//   type_list                          `type` is a list
//   unsupported_keyword                keywords that the target does not know
//   enum_not_strings                   an `enum` with something else in it
//   boolean_schema                     `true` or `false` in a schema's place
//   recursive_reference                a `$ref` that cannot be written out
//   empty_object                       an object without properties
//   open_object, optional_property     `additionalProperties` is not false, a property not required
//
// Pure, thread-safe; some 20 µs for a schema of 1 KiB. Does not throw; a schema that is no JSON
// has no findings of its own.
std::vector<v1::Finding> LintForTargets(absl::string_view name, absl::string_view input_schema);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_LINT_H_
