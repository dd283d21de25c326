#include "renderers/tokens.h"

#include "absl/strings/ascii.h"

namespace toolrack {
namespace {

enum class Class { kLetter, kDigit, kSpace, kPunct, kOther };

Class ClassOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) return Class::kOther;
  if (absl::ascii_isalpha(byte)) return Class::kLetter;
  if (absl::ascii_isdigit(byte)) return Class::kDigit;
  if (absl::ascii_isspace(byte)) return Class::kSpace;
  return Class::kPunct;
}

class Estimate final : public TokenCounter {
 public:
  size_t Count(absl::string_view text) const override {
    size_t tokens = 0;
    for (size_t at = 0; at < text.size();) {
      const Class kind = ClassOf(text[at]);
      const size_t from = at;
      while (at < text.size() && ClassOf(text[at]) == kind) ++at;
      tokens += OfRun(kind, at - from);
    }
    return tokens;
  }
  absl::string_view method() const override { return "estimate"; }

 private:
  static size_t OfRun(Class kind, size_t length) {
    switch (kind) {
      case Class::kLetter:
        return (length + 7) / 8;
      case Class::kDigit:
        return (length + 2) / 3;
      case Class::kSpace:
        return length > 1 ? 1 : 0;
      case Class::kPunct:
        return (length + 2) / 3;
      case Class::kOther:
        return (length + 3) / 4;
    }
    return 0;
  }
};

}  // namespace

const TokenCounter& EstimateTokens() {
  static const Estimate kEstimate;
  return kEstimate;
}

}  // namespace toolrack
