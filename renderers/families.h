// The open model families: rows, not functions.
#ifndef TOOLRACK_RENDERERS_FAMILIES_H_
#define TOOLRACK_RENDERERS_FAMILIES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/call_format.h"
#include "renderers/catalog.h"
#include "renderers/dialect.h"

namespace toolrack {

struct Family {
  absl::string_view name = {};
  absl::string_view description = {};
  // Parsers of vLLM, SGLang, llama.cpp and others that read the same.
  std::vector<absl::string_view> aliases = {};
  std::vector<absl::string_view> stops = {};
  CallFormat calls = {};
};

// All of them, from the lists below.
const std::vector<Family>& AllFamilies();
// The row's dialect. `family` outlives it.
Dialect FamilyDialect(const Family& family);

// Lines of the catalogue: model ids, and the names of parsers.
std::vector<CatalogRule> FamilyRules();

std::vector<Family> JsonFamilies();     // families_json.cc
std::vector<Family> HeaderFamilies();   // families_header.cc
std::vector<Family> TagFamilies();      // families_tags.cc
std::vector<Family> LiteralFamilies();  // families_literal.cc

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_FAMILIES_H_
