#include "renderers/tokens.h"

#include <array>

namespace toolrack {
namespace {

enum class Class { kLetter, kDigit, kSpace, kPunct, kOther };

constexpr std::array<Class, 256> MakeClasses() {
  std::array<Class, 256> classes{};
  for (size_t c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    classes[c] = c >= 0x80                         ? Class::kOther
                 : letter                          ? Class::kLetter
                 : c >= '0' && c <= '9'            ? Class::kDigit
                 : c == ' ' || (c >= 9 && c <= 13) ? Class::kSpace
                                                   : Class::kPunct;
  }
  return classes;
}
constexpr std::array<Class, 256> kClasses = MakeClasses();
Class ClassOf(char c) { return kClasses[static_cast<unsigned char>(c)]; }

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
