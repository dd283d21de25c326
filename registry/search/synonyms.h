// Words that tools use for each other.
#ifndef TOOLRACK_REGISTRY_SEARCH_SYNONYMS_H_
#define TOOLRACK_REGISTRY_SEARCH_SYNONYMS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

// Stems of words that may stand for the word with this stem; empty when none are known. Lives
// forever. Thread-safe.
const std::vector<std::string>& SynonymsOf(absl::string_view stem);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_SYNONYMS_H_
