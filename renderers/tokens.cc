#include "renderers/tokens.h"

#include <array>
#include <cstdint>

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

// Where in a run of one class a character stands, as far as it counts: one step a character and no
// branch, for prompts are megabytes of short runs.
class Steps {
 public:
  constexpr Steps() {
    // Of each class: after how many characters it counts again, or for blanks that only the second
    // one counts.
    constexpr uint8_t kPeriods[kClassCount] = {8, 3, 3, 3, 4};
    uint8_t first[kClassCount] = {};
    uint8_t states = 0;
    for (size_t kind = 0; kind < kClassCount; ++kind) {
      first[kind] = states;
      states = static_cast<uint8_t>(states + kPeriods[kind]);
    }
    for (size_t kind = 0; kind < kClassCount; ++kind) {
      const bool space = kind == static_cast<size_t>(Class::kSpace);
      for (uint8_t at = 0; at < kPeriods[kind]; ++at) {
        const auto state = static_cast<uint8_t>(first[kind] + at);
        counts[state] = at == (space ? 1 : 0);
        for (size_t other = 0; other < kClassCount; ++other) next[state][other] = first[other];
        const bool last = at + 1 == kPeriods[kind];
        next[state][kind] = static_cast<uint8_t>(last ? (space ? state : first[kind]) : state + 1);
      }
    }
    for (size_t kind = 0; kind < kClassCount; ++kind) next[kStart][kind] = first[kind];
  }
  static constexpr size_t kClassCount = 5;
  static constexpr uint8_t kStart = 31;
  uint8_t next[32][8] = {};
  uint8_t counts[32] = {};
};
constexpr Steps kSteps;

class Estimate final : public TokenCounter {
 public:
  size_t Count(absl::string_view text) const override {
    size_t tokens = 0;
    uint8_t state = Steps::kStart;
    for (const char c : text) {
      state = kSteps.next[state][static_cast<size_t>(ClassOf(c))];
      tokens += kSteps.counts[state];
    }
    return tokens;
  }
  absl::string_view method() const override { return "estimate"; }
};

}  // namespace

const TokenCounter& EstimateTokens() {
  static const Estimate kEstimate;
  return kEstimate;
}

}  // namespace toolrack
