// One typo in the rarest word of a query: the kinds that people make, by a fixed rule.
#ifndef TOOLRACK_TESTS_CONFORMANCE_SEARCH_TYPOS_H_
#define TOOLRACK_TESTS_CONFORMANCE_SEARCH_TYPOS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "registry/search/tokens.h"
#include "tests/conformance/search/retrieval_set.h"

namespace toolrack {

enum class Typo { kDrop, kDouble, kSwap, kReplace };

class TypoMaker {
 public:
  // Words are rare by the tools of `set`.
  explicit TypoMaker(const RetrievalSet& set) {
    set.registry->Peek().ForEach("", [this](const ToolEntryPtr& entry) {
      const v1::Tool& tool = entry->definition->tool;
      std::set<std::string> words;
      SplitWords(tool.name() + " " + tool.description(),
                 [&words](absl::string_view word) { words.emplace(word); });
      for (const std::string& word : words) ++tools_with_[word];
      return true;
    });
  }

  // The query itself when no word has four letters.
  std::string Apply(const std::string& query, Typo typo) const {
    std::string rarest;
    size_t least = 0;
    for (size_t at = 0; at < query.size();) {
      size_t end = at;
      while (end < query.size() && absl::ascii_isalpha(query[end])) ++end;
      const std::string word = query.substr(at, end - at);
      const std::string lower = absl::AsciiStrToLower(word);
      if (word.size() >= 4 && !IsStopWord(lower)) {
        const auto found = tools_with_.find(lower);
        // What no tool has cannot be lost.
        const size_t with = found == tools_with_.end() ? 0 : found->second;
        if (with > 0 && (rarest.empty() || with < least)) {
          rarest = word;
          least = with;
        }
      }
      at = std::max(end, at + 1);
    }
    if (rarest.empty()) return query;
    const size_t place = query.find(rarest);
    return query.substr(0, place) + Spoiled(rarest, typo) + query.substr(place + rarest.size());
  }

 private:
  static std::string Spoiled(std::string word, Typo typo) {
    const size_t at = word.size() / 2;
    switch (typo) {
      case Typo::kDrop:
        word.erase(at, 1);
        break;
      case Typo::kDouble:
        word.insert(at, 1, word[at]);
        break;
      case Typo::kSwap:
        std::swap(word[at], word[at - 1]);
        break;
      case Typo::kReplace:
        word[at] = word[at] == 'k' ? 'j' : 'k';
        break;
    }
    return word;
  }

  std::map<std::string, size_t> tools_with_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CONFORMANCE_SEARCH_TYPOS_H_
