// The values of `format` that can be asserted (JSON Schema 2020-12 validation, section 7.3).
//
// Pure, thread-safe; time linear in the text.
#ifndef TOOLRACK_REGISTRY_SCHEMA_FORMATS_H_
#define TOOLRACK_REGISTRY_SCHEMA_FORMATS_H_

#include "absl/strings/string_view.h"

namespace toolrack {

struct Format {
  const char* name;
  const char* wanted;  // for messages: "a date like 2026-01-31"
  bool (*fits)(absl::string_view text);
};

// `date-time`, `date`, `time` and `duration` (RFC 3339), `email` (RFC 5321), `hostname` (RFC 1123;
// labels in Punycode by RFC 5891), `ipv4`, `ipv6` (RFC 4291), `uri` (RFC 3986), `uuid` (RFC 4122),
// `regex` (ECMA-262), `json-pointer` (RFC 6901). nullptr for any other name.
const Format* FindFormat(absl::string_view name);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_FORMATS_H_
