// 3,295 tools of real MCP servers, each source a worker's namespace.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "registry/name.h"
#include "registry/registry.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

std::string CorpusPath() {
  const char* shared = std::getenv("TOOLRACK_SHARED");
  return absl::StrCat(shared != nullptr ? shared : TOOLRACK_SOURCE_DIR "/../shared",
                      "/data/real_tools.jsonl");
}

TEST(CorpusTest, EveryRealToolIsRegisteredOrItsFaultNamed) {
  std::ifstream file(CorpusPath());
  if (!file) GTEST_SKIP() << "the shared data is not here";
  std::map<std::string, std::vector<v1::Tool>> by_source;
  std::map<std::string, std::string> schema_of;
  size_t tools = 0;
  for (std::string line; std::getline(file, line); ++tools) {
    const auto json = nlohmann::ordered_json::parse(line);
    const std::string source = json.at("source");
    v1::Tool tool;
    tool.set_name(json.at("name").get<std::string>());
    const auto text = [&json](const char* key) {
      const auto at = json.find(key);
      return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    tool.set_title(text("title"));
    tool.set_description(text("description"));
    tool.set_input_schema(json.at("inputSchema").dump());
    if (json.contains("outputSchema") && !json["outputSchema"].is_null())
      tool.set_output_schema(json["outputSchema"].dump());
    const std::string canonical = CanonicalName(NamespaceForId(source), tool.name());
    schema_of.emplace(canonical, tool.input_schema());
    by_source[source].push_back(std::move(tool));
  }

  Registry registry{RegistryOptions{}};
  const auto worker = MakeWorker("corpus");
  size_t accepted = 0, quarantined = 0, rejected = 0;
  std::map<std::string, int> rules;
  for (const auto& [source, set] : by_source) {
    const auto report =
        registry.Publish(worker, NamespaceForId(source), set, v1::PUBLISH_MODE_BEST_EFFORT);
    ASSERT_TRUE(report.ok()) << report.status();
    accepted += report->accepted.size();
    quarantined += report->quarantined.size();
    rejected += report->rejected.size();
    for (const auto* faults : {&report->quarantined, &report->rejected}) {
      for (const PublishReport::Fault& fault : *faults) {
        ASSERT_FALSE(fault.findings.empty()) << fault.name;
        for (const v1::Finding& finding : fault.findings) {
          EXPECT_FALSE(finding.rule().empty());
          EXPECT_FALSE(finding.message().empty());
          ++rules[finding.rule()];
        }
      }
    }
  }
  EXPECT_EQ(accepted + quarantined + rejected, tools);
  std::printf("%zu tools of %zu sources: %zu accepted, %zu quarantined, %zu rejected\n", tools,
              by_source.size(), accepted, quarantined, rejected);
  for (const auto& [rule, count] : rules) std::printf("  %s: %d\n", rule.c_str(), count);

  // All pages, twice, with identical bytes, and every schema as it was given.
  std::string bytes[2];
  size_t listed = 0;
  for (std::string& all : bytes) {
    v1::ListToolsRequest request;
    request.set_view(v1::TOOL_VIEW_FULL);
    request.set_show_quarantined(true);
    std::string last;
    listed = 0;
    do {
      const auto page = ListTools(registry, request);
      ASSERT_TRUE(page.ok());
      for (const v1::Tool& tool : page->tools()) {
        EXPECT_LT(last, tool.name());
        last = tool.name();
        EXPECT_EQ(tool.input_schema(), schema_of.at(tool.name()));
        ++listed;
      }
      all += page->SerializeAsString();
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_EQ(listed, accepted + quarantined);
}

}  // namespace
}  // namespace toolrack
