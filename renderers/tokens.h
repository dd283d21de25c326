// How many tokens a text is for a model. Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_TOKENS_H_
#define TOOLRACK_RENDERERS_TOKENS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace toolrack {

class TokenCounter {
 public:
  virtual ~TokenCounter() = default;
  virtual size_t Count(absl::string_view text) const = 0;
  // Of a prompt of raw text, where the family's special tokens count one each.
  virtual size_t CountPrompt(absl::string_view text) const { return Count(text); }
  // `o200k_base`, or `estimate`.
  virtual absl::string_view method() const = 0;
};

// Without a rank file: a run of ASCII letters counts one token for each eight begun, digits one for
// three, punctuation one for three, two or more blanks one, other bytes one for four. An
// approximation: for the definitions of 117 real tools 8 to 16 % more than o200k_base counts.
const TokenCounter& EstimateTokens();

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_TOKENS_H_
