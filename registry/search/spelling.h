// Words near to a misspelled one.
#ifndef TOOLRACK_REGISTRY_SEARCH_SPELLING_H_
#define TOOLRACK_REGISTRY_SEARCH_SPELLING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// How many edits a word may be away: 0 (too short), 1, or 2 from eight letters on.
size_t EditsAllowed(absl::string_view word);

// Finds the words of a fixed list that are within EditsAllowed of a given one. Immutable,
// thread-safe. Large lists are looked up by what is left of a word when letters are dropped
// (symmetric deletes, of the first seven bytes), small ones are scanned; the answers are the same.
class Speller {
 public:
  Speller() = default;
  // The words must outlive this.
  explicit Speller(const std::vector<const std::string*>& words);

  // Calls `take(number of the word, distance)` for each near word, in no order.
  void Near(absl::string_view word, absl::FunctionRef<void(uint32_t, size_t)> take) const;
  size_t bytes() const;

 private:
  std::vector<const std::string*> words_;
  std::vector<uint64_t> letters_;                     // which characters each word has
  std::vector<std::pair<uint32_t, uint32_t>> drops_;  // hash of what is left, word; sorted
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_SPELLING_H_
