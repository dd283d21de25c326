#include "registry/search/spelling.h"

#include <algorithm>

#include "registry/edit_distance.h"

namespace toolrack {
namespace {

constexpr size_t kShortest = 4, kLong = 8;
constexpr size_t kPrefix = 7;
// Scanning so many takes about as long as looking 29 hashes up.
constexpr size_t kScanned = 4096;

uint64_t LettersOf(absl::string_view word) {
  uint64_t letters = 0;
  for (const char c : word) letters |= uint64_t{1} << (static_cast<unsigned char>(c) & 63);
  return letters;
}

uint32_t HashOf(absl::string_view text) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// Hashes of the prefix with at most `edits` bytes dropped. Two words that are so many edits apart
// have one in common: each edit takes at most one byte out of what the two prefixes share.
void DropsOf(absl::string_view word, size_t edits, std::vector<uint32_t>& out) {
  const std::string prefix(word.substr(0, kPrefix));
  out.push_back(HashOf(prefix));
  if (edits == 0) return;
  for (size_t i = 0; i < prefix.size(); ++i) {
    std::string once = prefix;
    once.erase(i, 1);
    out.push_back(HashOf(once));
    if (edits == 1) continue;
    for (size_t j = i; j < once.size(); ++j) {
      std::string twice = once;
      twice.erase(j, 1);
      out.push_back(HashOf(twice));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

}  // namespace

size_t EditsAllowed(absl::string_view word) {
  return word.size() < kShortest ? 0 : word.size() < kLong ? 1 : 2;
}

Speller::Speller(const std::vector<const std::string*>& words) : words_(words) {
  letters_.reserve(words.size());
  for (const std::string* word : words) letters_.push_back(LettersOf(*word));
  if (words.size() <= kScanned) return;
  std::vector<uint32_t> drops;
  for (uint32_t number = 0; number < words.size(); ++number) {
    const std::string& word = *words[number];
    // Words that are asked for have four letters; two edits are for those of eight.
    if (word.size() + 1 < kShortest) continue;
    drops.clear();
    DropsOf(word, word.size() + 2 < kLong ? 1 : 2, drops);
    for (const uint32_t drop : drops) drops_.emplace_back(drop, number);
  }
  std::sort(drops_.begin(), drops_.end());
  drops_.shrink_to_fit();
}

void Speller::Near(absl::string_view word, absl::FunctionRef<void(uint32_t, size_t)> take) const {
  const size_t edits = EditsAllowed(word);
  if (edits == 0) return;
  const uint64_t letters = LettersOf(word);
  const auto look = [&](uint32_t number) {
    const std::string& candidate = *words_[number];
    // An edit changes at most two of the characters that are there.
    if (static_cast<size_t>(__builtin_popcountll(letters ^ letters_[number])) > 2 * edits ||
        candidate.size() + edits < word.size() || word.size() + edits < candidate.size()) {
      return;
    }
    const size_t distance = BoundedEditDistance(word, candidate, edits);
    if (distance <= edits) take(number, distance);
  };
  if (drops_.empty()) {
    for (uint32_t number = 0; number < words_.size(); ++number) look(number);
    return;
  }
  std::vector<uint32_t> drops, numbers;
  DropsOf(word, edits, drops);
  for (const uint32_t drop : drops) {
    auto at = std::lower_bound(drops_.begin(), drops_.end(), std::make_pair(drop, uint32_t{0}));
    for (; at != drops_.end() && at->first == drop; ++at) numbers.push_back(at->second);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (const uint32_t number : numbers) look(number);
}

size_t Speller::bytes() const {
  return words_.capacity() * sizeof(words_[0]) + letters_.capacity() * sizeof(letters_[0]) +
         drops_.capacity() * sizeof(drops_[0]);
}

}  // namespace toolrack
