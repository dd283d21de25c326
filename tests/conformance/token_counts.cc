// usage: token_counts RANK_FILE: reads a JSON string a line; writes how many tokens of o200k_base
// each is, and what the estimate says. For tests/interop/tokens_test.py.
#include <iostream>
#include <string>

#include "renderers/json_text.h"
#include "renderers/o200k.h"

int main(int argc, char** argv) {
  const auto counter = toolrack::LoadO200k(argc > 1 ? argv[1] : "");
  if (!counter.ok()) {
    std::cerr << counter.status().message() << "\n";
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto text = toolrack::ParseJsonText(line);
    if (!text || !text->is_string()) return 1;
    std::cout << (*counter)->Count(text->text) << " "
              << toolrack::EstimateTokens().Count(text->text) << "\n";
  }
}
