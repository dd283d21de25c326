#include "registry/search/restrict.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;

enum class List { kCategory, kNamespace };

const Segment::Lists& ListsOf(const Segment& segment, List list) {
  return list == List::kCategory ? segment.by_category() : segment.by_namespace();
}

DocSet Alive(const SearchIndex& index) {
  return index.alive() != nullptr ? *index.alive() : DocSet(index.doc_limit(), true);
}

void AddAll(const SegmentPart& part, const std::vector<uint32_t>& docs, DocSet& out) {
  for (const uint32_t doc : docs) {
    if (part.alive(doc)) out.Add(part.first + doc);
  }
}

DocSet DocsOfNames(const SearchIndex& index, List list, const std::vector<std::string>& names) {
  DocSet out(index.doc_limit(), false);
  for (const SegmentPart& part : index.parts()) {
    const Segment::Lists& lists = ListsOf(*part.segment, list);
    for (const std::string& name : names) {
      const auto found = lists.find(name);
      if (found != lists.end()) AddAll(part, found->second, out);
    }
  }
  return out;
}

// As people write them: a category in other letters, a namespace by a part of it.
DocSet DocsLike(const SearchIndex& index, List list, absl::string_view name) {
  const std::string wanted = FoldName(name);
  DocSet out(index.doc_limit(), false);
  if (wanted.empty()) return out;
  for (const SegmentPart& part : index.parts()) {
    for (const auto& [there, docs] : ListsOf(*part.segment, list)) {
      const std::string folded = FoldName(there);
      const bool like =
          list == List::kCategory ? folded == wanted : absl::StrContains(folded, wanted);
      if (like) AddAll(part, docs, out);
    }
  }
  return out;
}

// Whether `name`, which is ASCII, has `part` in it when only letters and digits count.
bool FoldedContains(absl::string_view name, const std::string& part) {
  std::string folded;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) folded += absl::ascii_tolower(c);
  }
  return absl::StrContains(folded, part);
}

// All words of the text, in these fields (0: in any).
DocSet DocsWith(const SearchIndex& index, absl::string_view text, uint16_t fields) {
  DocSet out = Alive(index);
  bool any = false;
  SplitWords(text, [&](absl::string_view word) {
    if (IsStopWord(word)) return;
    any = true;
    DocSet with(index.doc_limit(), false);
    index.ForEachPosting(index.FindTerm(Stem(word)),
                         [&](DocId doc, const Segment::Posting& posting) {
                           if (fields == 0 || (posting.fields & fields) != 0) with.Add(doc);
                           return true;
                         });
    out.IntersectWith(with);
  });
  return any ? out : DocSet(index.doc_limit(), false);
}

bool AnyKnown(const IndexView& view, const DocSet& docs) {
  bool any = false;
  docs.ForEach([&](DocId doc) {
    any = view.Knows(doc);
    return !any;
  });
  return any;
}

}  // namespace

std::shared_ptr<const DocSet> FilterDocs(const SearchIndex& index,
                                         const std::vector<std::string>& categories,
                                         const std::vector<std::string>& namespaces) {
  if (categories.empty() && namespaces.empty()) {
    return index.alive() == nullptr ? nullptr : std::make_shared<const DocSet>(*index.alive());
  }
  DocSet out = Alive(index);
  if (!categories.empty()) out.IntersectWith(DocsOfNames(index, List::kCategory, categories));
  if (!namespaces.empty()) out.IntersectWith(DocsOfNames(index, List::kNamespace, namespaces));
  return std::make_shared<const DocSet>(std::move(out));
}

Restriction Restrict(const IndexView& view, const std::shared_ptr<const DocSet>& base,
                     const QueryOperators& operators) {
  const SearchIndex& index = view.index();
  Restriction out;
  out.docs = base;
  if (!operators.Filters()) return out;
  DocSet docs = base != nullptr ? *base : Alive(index);
  // Takes what is asked for unless that would leave nothing.
  const auto narrow = [&](DocSet to) {
    to.IntersectWith(docs);
    const bool some = AnyKnown(view, to);
    if (some) docs = std::move(to);
    return some;
  };
  for (const auto& [list, names, what] :
       {std::make_tuple(List::kCategory, &operators.categories, "category"),
        std::make_tuple(List::kNamespace, &operators.servers, "server")}) {
    if (names->empty()) continue;
    DocSet any(index.doc_limit(), false);
    for (const std::string& name : *names) {
      DocsLike(index, list, name).ForEach([&any](DocId doc) {
        any.Add(doc);
        return true;
      });
    }
    if (!narrow(std::move(any))) {
      out.notes.push_back(
          absl::StrCat("No tool is of ", what, " ", ForMessage(names->front()),
                       ": that was left out (an empty query lists what there is)."));
    }
  }
  for (const QueryOperators::Clause& clause : operators.fields) {
    if (!narrow(DocsWith(index, clause.text, clause.fields))) {
      out.notes.push_back(absl::StrCat("No tool has ", ForMessage(clause.written),
                                       ": its words were looked for everywhere."));
    }
  }
  for (const QueryOperators::Clause& clause : operators.must) {
    if (narrow(DocsWith(index, clause.text, clause.fields))) continue;
    const std::string folded = FoldName(clause.text);
    DocSet named(index.doc_limit(), false);
    if (!folded.empty()) {
      docs.ForEach([&](DocId doc) {
        if (FoldedContains(index.name(doc), folded)) named.Add(doc);
        return true;
      });
    }
    if (!narrow(std::move(named)) && out.unmet.empty()) out.unmet = clause.written;
  }
  for (const QueryOperators::Clause& clause : operators.without) {
    docs.Subtract(DocsWith(index, clause.text, 0));
  }
  out.docs = std::make_shared<const DocSet>(std::move(docs));
  return out;
}

}  // namespace toolrack
