// Which documents a query may find: filters of the request and of the query's operators, applied
// before anything is ranked.
#ifndef TOOLRACK_REGISTRY_SEARCH_RESTRICT_H_
#define TOOLRACK_REGISTRY_SEARCH_RESTRICT_H_

#include <memory>
#include <string>
#include <vector>

#include "registry/search/operators.h"
#include "registry/search/query.h"

namespace toolrack {

// Tools of one of these categories and of one of these namespaces, as they are written; empty: all.
// Null: all tools.
std::shared_ptr<const DocSet> FilterDocs(const SearchIndex& index,
                                         const std::vector<std::string>& categories,
                                         const std::vector<std::string>& namespaces);

// What the operators leave of `base` (null: all).
struct Restriction {
  std::shared_ptr<const DocSet> docs;  // null: all
  // What was asked for and could not be: it was left out. For the caller.
  std::vector<std::string> notes;
  // A `+word` that stands in no name: nothing may be found. Empty: none.
  std::string unmet;
};
Restriction Restrict(const IndexView& view, const std::shared_ptr<const DocSet>& base,
                     const QueryOperators& operators);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_RESTRICT_H_
