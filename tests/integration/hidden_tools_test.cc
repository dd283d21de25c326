// A tool that is denied to somebody is not there for them: whatever they ask, they are answered as
// by a daemon that never had it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "tests/integration/worker_harness.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

v1::Tool Vault() {
  v1::Tool tool = PlainTool("vault", "Opens the zyzzyva safe of the treasury.");
  tool.add_categories("treasury");
  tool.add_examples("fetch the quokka bonds");
  tool.set_input_schema(
      R"({"type":"object","properties":{"combination":{"type":"string","description":"Xylograph"}}})");
  return tool;
}

class HiddenToolsTest : public testing::Test {
 protected:
  HiddenToolsTest() : without_(Denying(false)), with_(Denying(true)) {
    for (TestServer* server : {&without_, &with_}) {
      auto tools = std::make_unique<TestTools>((*server)->registry(), "bank");
      tools->Add(PlainTool("box", "Opens a box with letters."), std::make_shared<HeldTool>());
      if (server == &with_) tools->Add(Vault(), std::make_shared<HeldTool>());
      tools_.push_back(std::move(tools));
    }
  }
  ~HiddenToolsTest() override { tools_.clear(); }
  static v1::Config Denying(bool deny) {
    v1::Config config;
    if (deny) {
      v1::PolicyRule& rule = *config.mutable_policy()->add_rules();
      rule.set_name("not the vault");
      rule.add_tools("bank__vault");
      rule.set_action("deny");
    }
    return config;
  }
  static std::string Search(const TestServer& server, const std::string& query) {
    v1::SearchToolsRequest request;
    request.set_query(query);
    v1::SearchToolsResponse response;
    const absl::Status status =
        FromGrpc(server.Tools()->SearchTools(NewContext().get(), request, &response));
    response.set_revision(0);
    // How rare a word is may be counted over all tools; how they are told apart is the same.
    for (v1::SearchHit& hit : *response.mutable_hits()) {
      hit.set_score(0);
      hit.mutable_tool()->set_revision(0);
    }
    return absl::StrCat(std::string(status.message()), "\n", response.DebugString());
  }

  TestServer without_, with_;
  std::vector<std::unique_ptr<TestTools>> tools_;
};

TEST_F(HiddenToolsTest, NoSearchTellsOfThem) {
  for (const std::string query : {"",
                                  "vault",
                                  "vualt",
                                  "bank__vault",
                                  "bank vault",
                                  "zyzzyva",
                                  "zyzzyvo",
                                  "zyzzyva safe",
                                  "opens",
                                  "open safe",
                                  "treasury",
                                  "treasurry",
                                  "quokka",
                                  "quoka bonds",
                                  "combination",
                                  "xylograf",
                                  "select:bank__vault",
                                  "select:bank__vualt",
                                  "+zyzzyva opens",
                                  "-box opens",
                                  "\"zyzzyva safe\"",
                                  "/zyz.*/",
                                  "/vault/",
                                  "name:vault",
                                  "category:treasury",
                                  "category:treasurry",
                                  "description:safe",
                                  "echo treasury"}) {
    EXPECT_EQ(Search(with_, query), Search(without_, query)) << query;
  }
}

TEST_F(HiddenToolsTest, NoListAndNoDescriptionTellsOfThem) {
  for (const char* name : {"bank__vault", "bank__vualt", "vault", "bank__"}) {
    v1::DescribeToolRequest request;
    request.set_name(name);
    std::string answers[2];
    for (const int i : {0, 1}) {
      v1::Tool tool;
      answers[i] = std::string(
          FromGrpc(
              (i == 0 ? without_ : with_).Tools()->DescribeTool(NewContext().get(), request, &tool))
              .message());
    }
    EXPECT_EQ(answers[0], answers[1]) << name;
  }
  v1::ListToolsRequest request;
  request.add_categories("treasury");
  v1::ListToolsResponse response;
  ASSERT_TRUE(with_.Tools()->ListTools(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.tools_size(), 0);
  EXPECT_EQ(response.total_size(), 0);
}

TEST_F(HiddenToolsTest, NearNamesOfACallDoNotTellOfThem) {
  for (const char* name : {"bank__vualt", "vault", "bank__vaul"}) {
    v1::CallToolRequest request;
    request.set_name(name);
    std::string answers[2];
    for (const int i : {0, 1}) {
      v1::CallToolResponse response;
      answers[i] = std::string(
          FromGrpc(
              (i == 0 ? without_ : with_).Tools()->CallTool(NewContext().get(), request, &response))
              .message());
    }
    EXPECT_EQ(answers[0], answers[1]) << name;
  }
}

}  // namespace
}  // namespace toolrack
