// The ways to read a query. `queries` are phrasings of one need, at least one, none blank.
#ifndef TOOLRACK_REGISTRY_SEARCH_MODES_H_
#define TOOLRACK_REGISTRY_SEARCH_MODES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "registry/search/answer.h"
#include "registry/search/operators.h"

namespace toolrack {

v1::SearchToolsResponse SearchByWords(const SearchScope& scope,
                                      const std::vector<QueryOperators>& queries);
// REQUEST_INVALID when RE2 does not take a pattern.
absl::StatusOr<v1::SearchToolsResponse> SearchByRegex(const SearchScope& scope,
                                                      const std::vector<std::string>& patterns);
// Names separated by commas or spaces, in quotes or not.
v1::SearchToolsResponse SearchByNames(const SearchScope& scope,
                                      const std::vector<std::string>& queries);
// Without words: the tools that pass the filters, by name; without filters the categories and
// namespaces, with how many tools each has.
v1::SearchToolsResponse Browse(const SearchScope& scope, const QueryOperators& operators);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_MODES_H_
