// Labels of host names in Punycode.
#ifndef TOOLRACK_REGISTRY_SCHEMA_IDNA_H_
#define TOOLRACK_REGISTRY_SCHEMA_IDNA_H_

#include "absl/strings/string_view.h"

namespace toolrack {

// Whether a label that starts with `xn--` stands for one that IDNA 2008 allows (RFC 5891, section
// 4.2; the characters by RFC 5892). Characters that only exist for compatibility are told by their
// blocks, and the direction of writing (RFC 5893) is not looked at.
bool IsInternationalLabel(absl::string_view label);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_IDNA_H_
