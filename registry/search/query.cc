#include "registry/search/query.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;
using Word = ParsedQuery::Word;

constexpr size_t kMaxNear = 2;
constexpr size_t kMaxListedNames = 10;
// A text of thousands of unknown words is no query of words.
constexpr size_t kMaxCorrected = 16;

// A word of the query as it may be the name of a tool: without what stands around it.
absl::string_view Bare(absl::string_view token) {
  constexpr absl::string_view kAround = "\"'`()[]{}<>,;:.?!*";
  while (!token.empty() && absl::StrContains(kAround, token.front())) token.remove_prefix(1);
  while (!token.empty() && absl::StrContains(kAround, token.back())) token.remove_suffix(1);
  return token;
}

// Whether the word is plainly a name and not a word of a sentence.
bool LooksLikeIdentifier(absl::string_view token) {
  bool letter = false, inner_capital = false, digit = false;
  for (size_t i = 0; i < token.size(); ++i) {
    letter |= absl::ascii_isalpha(token[i]);
    digit |= absl::ascii_isdigit(token[i]);
    inner_capital |= i > 0 && absl::ascii_isupper(token[i]) && absl::ascii_islower(token[i - 1]);
  }
  return letter && (inner_capital || digit || absl::StrContains(token, '_') ||
                    absl::StrContains(token, '.') || absl::StrContains(token, '/'));
}

std::vector<DocId> ExactNames(const SearchIndex& index, absl::string_view text) {
  std::vector<DocId> out;
  const auto add = [&out](const std::vector<DocId>& docs) {
    for (const DocId doc : docs) {
      if (std::find(out.begin(), out.end(), doc) == out.end()) out.push_back(doc);
    }
  };
  constexpr size_t kLongestName = 192;
  if (text.size() <= kLongestName) {
    const std::string folded = FoldName(text);
    const std::vector<DocId> whole =
        folded.empty() ? std::vector<DocId>() : index.FindByFoldedName(folded);
    if (!whole.empty()) {
      add(FindNamed(index, absl::StripAsciiWhitespace(text)));
      add(whole);
      return out;
    }
  }
  const std::vector<absl::string_view> tokens =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r\n,"), absl::SkipEmpty());
  bool all_named = tokens.size() <= kMaxListedNames;
  std::vector<DocId> all;
  for (const absl::string_view raw : tokens) {
    const absl::string_view token = Bare(raw);
    const bool identifier = LooksLikeIdentifier(token);
    if (!identifier && !all_named) continue;
    const std::vector<DocId> docs = FindNamed(index, token);
    all_named &= !docs.empty();
    if (identifier) add(docs);
    all.insert(all.end(), docs.begin(), docs.end());
  }
  if (all_named) {
    out.clear();
    add(all);
  }
  return out;
}

// The nearest words that the caller's tools have, of different stems.
std::vector<ParsedQuery::Near> Corrections(const IndexView& view, const std::string& word) {
  std::vector<ParsedQuery::Near> out;
  for (SearchIndex::NearWord& near : view.index().NearWords(word)) {
    SearchIndex::Term term = view.index().FindTerm(near.stem);
    const bool there = std::any_of(out.begin(), out.end(), [&term](const auto& other) {
      return other.term.in_part == term.in_part;
    });
    if (there || !view.Knows(term)) continue;
    out.push_back({std::move(near.word), std::move(term)});
    if (out.size() == kMaxNear) break;
  }
  return out;
}

}  // namespace

bool IndexView::Knows(const SearchIndex::Term& term) const {
  if (!hides() || term.docs == 0) return term.docs > 0;
  bool knows = false;
  index_.ForEachPosting(term, [&](DocId doc, const Segment::Posting&) {
    knows = Knows(doc);
    return !knows;
  });
  return knows;
}

size_t IndexView::Count() const {
  if (!hides()) return index_.size();
  size_t count = 0;
  index_.ForEach([&](DocId doc) { count += Knows(doc) ? 1 : 0; });
  return count;
}

ParsedQuery ParseQuery(const IndexView& view, absl::string_view text,
                       std::vector<std::string> phrases) {
  ParsedQuery query;
  query.text = std::string(text);
  query.phrases = std::move(phrases);
  absl::flat_hash_map<std::string, size_t> seen;
  SplitWords(text, [&](absl::string_view word) {
    if (IsStopWord(word)) return;
    std::string stem = Stem(word);
    const auto [at, is_new] = seen.try_emplace(stem, query.words.size());
    if (!is_new) {
      ++query.words[at->second].count;
      return;
    }
    Word& added = query.words.emplace_back();
    added.surface = std::string(word);
    added.stem = std::move(stem);
  });
  size_t corrected = 0;
  for (Word& word : query.words) {
    word.term = view.index().FindTerm(word.stem);
    if (view.Knows(word.term)) continue;
    word.term.docs = 0;
    if (corrected++ < kMaxCorrected) word.near = Corrections(view, word.surface);
  }
  query.exact = ExactNames(view.index(), text);
  return query;
}

std::vector<DocId> FindNamed(const SearchIndex& index, absl::string_view token) {
  std::vector<absl::string_view> forms = {token};
  for (const absl::string_view separator : {"__", "/", "."}) {
    const size_t first = token.find(separator);
    if (first == absl::string_view::npos) continue;
    forms.push_back(token.substr(first + separator.size()));
    forms.push_back(token.substr(token.rfind(separator) + separator.size()));
  }
  for (const absl::string_view form : forms) {
    const std::string folded = FoldName(form);
    if (folded.empty()) continue;
    std::vector<DocId> out = index.FindByFoldedName(folded);
    if (!out.empty()) {
      // The literal name goes before the same in other letters, and the whole before a part.
      const auto literal = [&](DocId doc) {
        const ToolDefinition& definition = index.definition(doc);
        return definition.tool.name() == form                         ? 0
               : definition.bare_name == form                         ? 1
               : absl::EqualsIgnoreCase(definition.tool.name(), form) ? 2
                                                                      : 3;
      };
      std::stable_sort(out.begin(), out.end(),
                       [&](DocId a, DocId b) { return literal(a) < literal(b); });
      return out;
    }
  }
  return {};
}

float IdfOf(const SearchIndex& index, const Word& word) {
  if (word.known()) return word.term.idf;
  if (!word.near.empty()) return word.near.front().term.idf;
  // A word that is nowhere is as telling as one that is in one tool.
  return index.IdfOf(1);
}

bool HasWord(const SearchIndex& index, const Word& word, DocId doc) {
  if (word.known()) return index.FindPosting(word.term, doc) != nullptr;
  return std::any_of(word.near.begin(), word.near.end(), [&](const ParsedQuery::Near& near) {
    return index.FindPosting(near.term, doc) != nullptr;
  });
}

float Coverage(const SearchIndex& index, const ParsedQuery& query, DocId doc) {
  float found = 0, all = 0;
  for (const Word& word : query.words) {
    const float idf = IdfOf(index, word);
    all += idf;
    if (HasWord(index, word, doc)) found += idf;
  }
  return all > 0 ? found / all : 0;
}

std::vector<absl::string_view> SentencesOf(absl::string_view text) {
  std::vector<absl::string_view> out;
  size_t start = 0;
  const auto cut = [&](size_t end, size_t next) {
    if (end > start) out.push_back(text.substr(start, end - start));
    start = next;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view rest = text.substr(i);
    const char c = text[i];
    const bool end_mark = (c == '.' || c == '?' || c == '!' || c == ';') &&
                          (rest.size() == 1 || absl::ascii_isspace(rest[1]));
    if (end_mark || c == '\n') {
      cut(i, i + 1);
      continue;
    }
    for (const absl::string_view mark : {"。", "？", "！", "；", " then ", " also ", " finally "}) {
      if (!absl::StartsWith(rest, mark)) continue;
      cut(i, i + mark.size());
      i += mark.size() - 1;
      break;
    }
  }
  cut(text.size(), text.size());
  return out;
}

}  // namespace toolrack
