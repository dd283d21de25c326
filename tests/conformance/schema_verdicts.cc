// usage: schema_verdicts < FILE: one line {"schema": …, "instances": […]} after the other; writes
// one line each, "1" or "0" for every instance, or "refused", the rule and the pointer of the first
// fault.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "registry/schema/schema.h"

int main() {
  using toolrack::Json;
  for (std::string line; std::getline(std::cin, line);) {
    const Json input = Json::parse(line);
    const auto compiled =
        toolrack::Schema::Compile(toolrack::DumpJson(input["schema"]), toolrack::SchemaOptions());
    if (compiled.schema == nullptr) {
      std::cout << "refused " << compiled.findings.at(0).rule() << " "
                << compiled.findings.at(0).pointer() << "\n";
      continue;
    }
    for (const Json& instance : input["instances"]) {
      std::cout << (compiled.schema->Accepts(instance) ? '1' : '0');
    }
    std::cout << "\n";
  }
}
