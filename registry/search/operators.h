// The query language: what in a query is more than words.
#ifndef TOOLRACK_REGISTRY_SEARCH_OPERATORS_H_
#define TOOLRACK_REGISTRY_SEARCH_OPERATORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

// `+word` must stand in the name, title or namespace; it is not ranked by. `-word` must stand
// nowhere. `"a phrase"`: tools that have it word for word go up. `name:`, `desc:`, `param:` and a
// word: must stand in that field. `category:` (`tag:`) and `server:` (`namespace:`): only tools of
// these; lists with commas. `/…/` or `/…/i` as the whole query: a regular expression. `select:a,b`:
// exact names. Values may be quoted. What looks like an operator and is none is a word: `-5`,
// `C++`, `note: this`, `foo:bar`.
struct QueryOperators {
  struct Clause {
    std::string written;  // with its operator
    std::string text;
    uint16_t fields = 0;  // SearchField; 0: any
  };
  enum class Kind { kWords, kRegex, kSelect };

  Kind kind = Kind::kWords;
  // The query without operators; the pattern; the names.
  std::string text;
  std::vector<Clause> must;    // `+`
  std::vector<Clause> fields;  // `name:` …
  std::vector<Clause> without;
  std::vector<std::string> phrases;
  std::vector<std::string> categories;
  std::vector<std::string> servers;

  bool Filters() const {
    return !must.empty() || !fields.empty() || !without.empty() || !categories.empty() ||
           !servers.empty();
  }
};

// Takes any bytes; linear in their number. Thread-safe.
QueryOperators ReadOperators(absl::string_view query);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_OPERATORS_H_
