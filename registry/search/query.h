// A query taken apart: words with what they are in the index, names that it gives.
#ifndef TOOLRACK_REGISTRY_SEARCH_QUERY_H_
#define TOOLRACK_REGISTRY_SEARCH_QUERY_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "registry/search/index.h"
#include "registry/search/operators.h"
#include "registry/tool_filter.h"

namespace toolrack {

// An index as one caller sees it. What is hidden from the caller finds nothing, corrects nothing
// and is named nowhere; only the statistics of the ranking are of all tools. Refers to its
// arguments.
class IndexView {
 public:
  using DocId = SearchIndex::DocId;
  IndexView(const SearchIndex& index, const ToolVisibility& visible)
      : index_(index), visible_(visible) {}

  const SearchIndex& index() const { return index_; }
  bool hides() const { return visible_ != nullptr; }
  bool Knows(DocId doc) const { return !visible_ || visible_(index_.definition(doc)); }
  bool Knows(const ToolDefinition& definition) const { return !visible_ || visible_(definition); }
  // Whether a tool that the caller knows has it.
  bool Knows(const SearchIndex::Term& term) const;
  // How many tools the caller knows.
  size_t Count() const;

 private:
  const SearchIndex& index_;
  const ToolVisibility& visible_;
};

struct ParsedQuery {
  struct Near {
    std::string word;
    SearchIndex::Term term;
  };
  struct Word {
    std::string surface;  // lower case, as written
    std::string stem;
    uint32_t count = 1;
    SearchIndex::Term term;  // no tools when the caller knows none with it
    // Without such tools: what it may have been meant to be.
    std::vector<Near> near;

    bool known() const { return term.docs > 0; }
  };
  std::string text;
  std::vector<Word> words;  // distinct, in order; no stop words
  std::vector<std::string> phrases;
  // The query, or a part of it, is just the name of these: they come first, in this order.
  std::vector<SearchIndex::DocId> exact;
};

// `text` without operators.
ParsedQuery ParseQuery(const IndexView& view, absl::string_view text,
                       std::vector<std::string> phrases);

// The documents that `token` names: by the whole canonical name, by the name without namespace, or
// by what stands after the first or last `__`, `/` or `.`; case and separators do not count. The
// literal name comes first.
std::vector<SearchIndex::DocId> FindNamed(const SearchIndex& index, absl::string_view token);

// How telling a word is, also one that no tool has.
float IdfOf(const SearchIndex& index, const ParsedQuery::Word& word);
// Whether the document has the word, or what it was taken for.
bool HasWord(const SearchIndex& index, const ParsedQuery::Word& word, SearchIndex::DocId doc);
// The share of the query, by weight of its words, that is in the document: 0 to 1.
float Coverage(const SearchIndex& index, const ParsedQuery& query, SearchIndex::DocId doc);

// The parts of a text that end like sentences, without what ends them.
std::vector<absl::string_view> SentencesOf(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_QUERY_H_
