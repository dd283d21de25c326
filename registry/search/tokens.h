// From text to words that can be compared: the same for tools and for queries.
#ifndef TOOLRACK_REGISTRY_SEARCH_TOKENS_H_
#define TOOLRACK_REGISTRY_SEARCH_TOKENS_H_

#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// Splits `text` (UTF-8; other bytes are gaps) into lower-case words and calls `take` for each, in
// order. NFKC first; then a new word begins at everything that is no letter or digit, at camelCase,
// at the last capital of an acronym that a word follows (HTTPServer), and between letters and
// digits. `'s` is dropped. Runs of Han, Kana and Hangul give each character and each pair of
// neighbours. Thread-safe.
void SplitWords(absl::string_view text, absl::FunctionRef<void(absl::string_view)> take);

// Words that say nothing about what a tool does. `word` is in lower case.
bool IsStopWord(absl::string_view word);

// The Snowball stem of an English word; other words as they are. `word` is in lower case.
// Thread-safe.
std::string Stem(absl::string_view word);

// Lower case, letters and digits only (of any script): equal for `Get Weather`, `get_weather` and
// `getWeather`.
std::string FoldName(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_TOKENS_H_
