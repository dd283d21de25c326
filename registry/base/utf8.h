// UTF-8 checks (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF). Pure, thread-safe.
#ifndef TOOLRACK_REGISTRY_BASE_UTF8_H_
#define TOOLRACK_REGISTRY_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace toolrack {

// Offset of the first byte that is not part of a well-formed character; text.size() when all is
// well.
size_t FirstInvalidUtf8(absl::string_view text);
inline bool IsUtf8(absl::string_view text) { return FirstInvalidUtf8(text) == text.size(); }
// Each ill-formed sequence becomes U+FFFD (maximal subparts, Unicode 15 section 3.9).
std::string ReplaceInvalidUtf8(absl::string_view text);
// The longest prefix of at most `max_bytes` that does not end inside a character. `text` must be
// UTF-8.
absl::string_view Utf8Prefix(absl::string_view text, size_t max_bytes);
// The longest suffix of at most `max_bytes` that does not begin inside a character. `text` must be
// UTF-8.
absl::string_view Utf8Suffix(absl::string_view text, size_t max_bytes);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_UTF8_H_
