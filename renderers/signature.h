// A tool on one line: what it is called and what it takes.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_SIGNATURE_H_
#define TOOLRACK_RENDERERS_SIGNATURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

// `name(city: string, days?: integer, unit?: "c" | "f")`, in the order of the schema. For
// orientation: what is more than a type and a short enum is `any`, `object` or `array`. A schema
// that is no object's gives `name(…)`.
std::string Signature(absl::string_view name, absl::string_view input_schema);

// The schemas of those properties that `pointers` (RFC 6901, into arguments) lead to, one a line:
// `city: {"type":"string"}`. Each at most `max_bytes` long, at most four.
std::string SchemaExcerpt(absl::string_view input_schema, const std::vector<std::string>& pointers,
                          size_t max_bytes = 400);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_SIGNATURE_H_
