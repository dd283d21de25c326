// The three ways to read a query. `queries` are phrasings of one need, at least one, none blank.
#ifndef TOOLRACK_REGISTRY_SEARCH_MODES_H_
#define TOOLRACK_REGISTRY_SEARCH_MODES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "registry/search/answer.h"

namespace toolrack {

v1::SearchToolsResponse SearchByWords(const SearchScope& scope,
                                      const std::vector<std::string>& queries);
// REQUEST_INVALID when RE2 does not take a pattern.
absl::StatusOr<v1::SearchToolsResponse> SearchByRegex(const SearchScope& scope,
                                                      const std::vector<std::string>& patterns);
// `select:a,b`, or names separated by commas or spaces.
v1::SearchToolsResponse SearchByNames(const SearchScope& scope,
                                      const std::vector<std::string>& queries);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_MODES_H_
