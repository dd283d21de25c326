// A small registry and its search.
#ifndef TOOLRACK_TESTS_SEARCH_SEARCH_RIG_H_
#define TOOLRACK_TESTS_SEARCH_SEARCH_RIG_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.h"
#include "registry/search/search.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {

inline v1::Tool Described(const char* name, const char* description, const char* schema = nullptr) {
  v1::Tool tool = MakeToolDefinition(name, description);
  if (schema != nullptr) tool.set_input_schema(schema);
  return tool;
}

class SearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Publish(
        "github",
        {Described("search_repositories",
                   "Find GitHub repositories by name, description or topic."),
         Described(
             "create_issue", "Create a new issue in a repository.",
             R"({"type":"object","properties":{"labels":{"type":"array","description":"Labels such as triage"}}})"),
         Described("get_file_contents", "Get the contents of a file or directory.")});
    Publish("weather",
            {Described("get_forecast", "Weather forecast for a city. Covers the next seven days."),
             Described("getAirQuality", "Air quality index.")});
    Publish("zh", {Described("tianqi", "查询指定城市的天气情况。返回温度和湿度。")});
    Publish("fs", {Described("read_file", "Reads a file from disk."),
                   Described("write_file", "Writes a file to disk."),
                   Described("search", "Search files by content.")});
  }

  void Publish(const char* ns, std::vector<v1::Tool> tools) {
    ASSERT_TRUE(
        registry_.Publish(worker_, ns, std::move(tools), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  }
  v1::SearchToolsResponse Search(const v1::SearchToolsRequest& request) {
    const auto response = searcher_.Search(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::SearchToolsResponse();
  }
  v1::SearchToolsResponse Search(const char* query) {
    v1::SearchToolsRequest request;
    request.set_query(query);
    return Search(request);
  }
  static std::vector<std::string> Names(const v1::SearchToolsResponse& response) {
    std::vector<std::string> names;
    for (const auto& hit : response.hits()) names.push_back(hit.tool().name());
    return names;
  }
  std::string First(const char* query) {
    const auto response = Search(query);
    return response.hits_size() == 0 ? "" : response.hits(0).tool().name();
  }

  Registry registry_{RegistryOptions{}};
  std::shared_ptr<FakeBackend> worker_ = MakeWorker("w");
  Searcher searcher_{&registry_};
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_SEARCH_SEARCH_RIG_H_
