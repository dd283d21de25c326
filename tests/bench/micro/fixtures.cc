#include "tests/bench/micro/fixtures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"

namespace toolrack::bench {

uint64_t EchoBackend::Start(ToolCall call, ToolDone done) {
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(std::move(call.arguments_json));
  done(std::move(result));
  return 0;
}

v1::Tool MakeDefinition(size_t index) {
  static const char* const kVerbs[] = {"read", "write", "list",  "find",
                                       "send", "fetch", "merge", "close"};
  static const char* const kNouns[] = {"file",     "issue",   "branch", "message",
                                       "invoice",  "ticket",  "image",  "server",
                                       "calendar", "contact", "table",  "report"};
  static const char* const kPlaces[] = {"in the workspace", "of a repository", "on the remote host",
                                        "from the archive", "for a customer",  "in the data base",
                                        "of the team",      "in the mail box"};
  const char* verb = kVerbs[index % 8];
  const char* noun = kNouns[index / 8 % 12];
  const char* place = kPlaces[index / 96 % 8];
  v1::Tool tool;
  tool.set_name(absl::StrCat(verb, "_", noun, "_", index));
  tool.set_description(absl::StrCat("Use this to ", verb, " one ", noun, " ", place, ". Takes the ",
                                    noun, "'s name and gives what became of it, number ", index,
                                    "."));
  tool.set_input_schema(
      R"({"type":"object","properties":{"text":{"type":"string","description":"What to use."}},)"
      R"("required":["text"],"additionalProperties":false})");
  return tool;
}

FilledRegistry& RegistryOf(size_t size) {
  static auto* all = new std::map<size_t, FilledRegistry>();
  FilledRegistry& filled = (*all)[size];
  if (filled.registry != nullptr) return filled;
  RegistryOptions options;
  options.limits.set_max_tools(static_cast<uint32_t>(2 * size + 1000));
  options.limits.set_max_tools_per_worker(static_cast<uint32_t>(2 * size + 1000));
  filled.registry = std::make_unique<Registry>(options);
  filled.backend = std::make_shared<EchoBackend>("bench");
  for (size_t first = 0; first < size; first += 1000) {
    const std::string ns = absl::StrCat("n", first / 1000);
    std::vector<v1::Tool> tools;
    for (size_t i = first; i < std::min(size, first + 1000); ++i) {
      tools.push_back(MakeDefinition(i));
      filled.names.push_back(absl::StrCat(ns, "__", tools.back().name()));
    }
    auto report =
        filled.registry->Publish(filled.backend, ns, std::move(tools), v1::PUBLISH_MODE_ATOMIC);
    if (!report.ok() || report->refused) {
      std::fprintf(stderr, "publishing %zu tools failed: %s\n", size,
                   report.status().ToString().c_str());
      std::exit(1);
    }
  }
  std::shuffle(filled.names.begin(), filled.names.end(), std::mt19937(1));
  return filled;
}

}  // namespace toolrack::bench
