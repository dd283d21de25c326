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
  // `o200k_base`, or `estimate`.
  virtual absl::string_view method() const = 0;
};

// Without a rank file: words of ASCII letters count one token for each six letters begun, digits
// one for three, runs of punctuation one for two, blanks nothing but in runs, other characters one
// for each two. An approximation; README says how far off it was on real tools.
const TokenCounter& EstimateTokens();

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_TOKENS_H_
