#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/registry.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kBestEffort = v1::PUBLISH_MODE_BEST_EFFORT;

class ListTest : public ::testing::Test {
 protected:
  void Publish(const std::shared_ptr<FakeBackend>& backend, absl::string_view ns,
               std::vector<v1::Tool> tools) {
    ASSERT_TRUE(registry_.Publish(backend, ns, std::move(tools), kBestEffort).ok());
  }
  void PublishNumbered(int count) {
    std::vector<v1::Tool> tools;
    for (int i = 0; i < count; ++i)
      tools.push_back(MakeToolDefinition(absl::StrCat("t", 10000 + i)));
    Publish(worker_, "ns", std::move(tools));
  }
  v1::ListToolsResponse List(const v1::ListToolsRequest& request) {
    const auto response = ListTools(registry_, request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::ListToolsResponse();
  }
  std::vector<std::string> Names(const v1::ListToolsRequest& request) {
    std::vector<std::string> names;
    const auto response = List(request);
    for (const auto& tool : response.tools()) names.push_back(tool.name());
    return names;
  }

  Registry registry_{RegistryOptions{}};
  std::shared_ptr<FakeBackend> worker_ = MakeWorker("w1");
};

TEST_F(ListTest, AnEmptyRegistryGivesAnEmptyPage) {
  const auto response = List({});
  EXPECT_EQ(response.tools_size(), 0);
  EXPECT_EQ(response.total_size(), 0);
  EXPECT_EQ(response.next_page_token(), "");
  EXPECT_EQ(response.epoch(), registry_.epoch());
}

TEST_F(ListTest, PagesHaveAHundredToolsUnlessAskedAndAtMostAThousand) {
  PublishNumbered(1500);
  EXPECT_EQ(List({}).tools_size(), 100);
  v1::ListToolsRequest request;
  request.set_page_size(7);
  EXPECT_EQ(List(request).tools_size(), 7);
  request.set_page_size(100000);
  EXPECT_EQ(List(request).tools_size(), 1000);
  request.set_page_size(-1);
  EXPECT_EQ(ReasonOf(ListTools(registry_, request).status()), v1::ERROR_REASON_REQUEST_INVALID);
}

TEST_F(ListTest, AllPagesTogetherAreEveryToolOnceInOrder) {
  PublishNumbered(1234);
  v1::ListToolsRequest request;
  request.set_page_size(100);
  std::vector<std::string> names;
  int pages = 0;
  do {
    const auto response = List(request);
    EXPECT_EQ(response.total_size(), 1234);
    for (const auto& tool : response.tools()) names.push_back(tool.name());
    request.set_page_token(response.next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < 100);
  EXPECT_EQ(pages, 13);
  ASSERT_EQ(names.size(), 1234u);
  for (int i = 0; i < 1234; ++i) EXPECT_EQ(names[i], absl::StrCat("ns__t", 10000 + i));
}

TEST_F(ListTest, APageThatEndsWithTheLastToolHasNoToken) {
  PublishNumbered(100);
  EXPECT_EQ(List({}).next_page_token(), "");
}

TEST_F(ListTest, TheSameSnapshotGivesTheSameBytes) {
  PublishNumbered(300);
  EXPECT_EQ(List({}).SerializeAsString(), List({}).SerializeAsString());
}

TEST_F(ListTest, APageEndsAtOneMebibyte) {
  std::vector<v1::Tool> tools;
  for (int i = 0; i < 40; ++i) {
    tools.push_back(MakeToolDefinition(absl::StrCat("t", 10 + i), std::string(60 << 10, 'd')));
  }
  Publish(worker_, "ns", std::move(tools));
  v1::ListToolsRequest request;
  int listed = 0;
  do {
    const auto response = List(request);
    EXPECT_LE(response.ByteSizeLong(), (1u << 20) + 2000);
    EXPECT_GE(response.tools_size(), 1);
    listed += response.tools_size();
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, 40);
}

TEST_F(ListTest, FiltersHoldTogether) {
  v1::Tool file = MakeToolDefinition("read");
  file.add_categories("file");
  v1::Tool both = MakeToolDefinition("fetch");
  both.add_categories("network");
  both.add_categories("file");
  Publish(worker_, "one", {file, both, MakeToolDefinition("plain")});
  Publish(worker_, "two", {file});
  Publish(std::make_shared<FakeBackend>("builtin", "core", "alice"), "",
          {MakeToolDefinition("echo")});

  v1::ListToolsRequest request;
  request.add_categories("file");
  EXPECT_THAT(Names(request), ElementsAre("one__fetch", "one__read", "two__read"));
  EXPECT_EQ(List(request).total_size(), 3);
  request.add_namespaces("one");
  EXPECT_THAT(Names(request), ElementsAre("one__fetch", "one__read"));
  request.set_name_prefix("one__r");
  EXPECT_THAT(Names(request), ElementsAre("one__read"));
  EXPECT_EQ(List(request).total_size(), 1);

  v1::ListToolsRequest by_prefix;
  by_prefix.set_name_prefix("one__read");
  EXPECT_THAT(Names(by_prefix), ElementsAre("one__read"));
  by_prefix.set_name_prefix("zzz");
  EXPECT_THAT(Names(by_prefix), IsEmpty());

  v1::ListToolsRequest builtin;
  builtin.add_namespaces("");
  EXPECT_THAT(Names(builtin), ElementsAre("echo"));
  v1::ListToolsRequest basic;
  basic.add_categories("basic");
  EXPECT_THAT(Names(basic), ElementsAre("echo", "one__plain"));
}

TEST_F(ListTest, QuarantinedToolsAreListedOnRequestOnly) {
  v1::Tool bad = MakeToolDefinition("bad");
  bad.set_input_schema("{");
  Publish(worker_, "ns", {bad, MakeToolDefinition("good")});
  EXPECT_THAT(Names({}), ElementsAre("ns__good"));
  EXPECT_EQ(List({}).total_size(), 1);
  v1::ListToolsRequest request;
  request.set_show_quarantined(true);
  EXPECT_THAT(Names(request), ElementsAre("ns__bad", "ns__good"));
  EXPECT_EQ(List(request).total_size(), 2);
  EXPECT_EQ(List(request).tools(0).state(), v1::TOOL_STATE_QUARANTINED);
  EXPECT_GT(List(request).tools(0).findings_size(), 0);
}

TEST_F(ListTest, TheBasicViewLeavesOutJustTheLargeFields) {
  v1::Tool tool = MakeToolDefinition("a");
  tool.set_title("A title");
  tool.set_output_schema(R"({"type":"object"})");
  tool.add_categories("file");
  tool.mutable_annotations()->set_read_only(true);
  tool.mutable_source()->set_original_name("A!");
  tool.add_examples("do a");
  tool.set_always_load(true);
  tool.mutable_timeout()->set_seconds(5);
  tool.set_max_concurrency(3);
  tool.set_raw_input(true);
  tool.set_scope(v1::TOOL_SCOPE_SESSION);
  tool.set_meta_json("{}");
  tool.set_name("aB");  // a remark, so that findings are there
  Publish(worker_, "ns", {tool});

  v1::ListToolsRequest request;
  const v1::Tool basic = List(request).tools(0);
  request.set_view(v1::TOOL_VIEW_FULL);
  v1::Tool full = List(request).tools(0);
  const auto* fields = v1::Tool::descriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const auto* field = fields->field(i);
    const bool there = field->is_repeated() ? full.GetReflection()->FieldSize(full, field) > 0
                                            : full.GetReflection()->HasField(full, field);
    EXPECT_TRUE(there) << field->name() << " has a value, so that its absence is seen";
  }
  EXPECT_EQ(full.input_schema(), tool.input_schema());
  full.clear_input_schema();
  full.clear_output_schema();
  full.clear_meta_json();
  full.clear_examples();
  ASSERT_FALSE(full.findings(full.findings_size() - 1).target().empty());
  while (!full.findings(full.findings_size() - 1).target().empty()) {
    full.mutable_findings()->RemoveLast();
  }
  EXPECT_EQ(basic.SerializeAsString(), full.SerializeAsString());
}

TEST_F(ListTest, TokensThatAreNotOursOrOfOtherFiltersAreRefused) {
  PublishNumbered(10);
  v1::ListToolsRequest request;
  request.set_page_size(3);
  const std::string token = List(request).next_page_token();
  const auto reason = [&](const v1::ListToolsRequest& r) {
    return ReasonOf(ListTools(registry_, r).status());
  };
  for (const std::string& bad : {std::string("x"), std::string("bm90IG91cnM"), token + "A",
                                 token.substr(0, token.size() - 4), std::string("!!!!")}) {
    request.set_page_token(bad);
    EXPECT_EQ(reason(request), v1::ERROR_REASON_REQUEST_INVALID) << bad;
  }
  request.set_page_token(token);
  request.set_page_size(5);  // may change
  EXPECT_THAT(Names(request),
              ElementsAre("ns__t10003", "ns__t10004", "ns__t10005", "ns__t10006", "ns__t10007"));
  request.add_categories("basic");
  EXPECT_EQ(reason(request), v1::ERROR_REASON_REQUEST_INVALID);
  request.clear_categories();
  request.set_view(v1::TOOL_VIEW_FULL);
  EXPECT_EQ(reason(request), v1::ERROR_REASON_REQUEST_INVALID);
}

TEST_F(ListTest, ATokenGoesOnAfterItsNameInTheCurrentRevision) {
  PublishNumbered(10);
  v1::ListToolsRequest request;
  request.set_page_size(3);
  const auto first = List(request);
  // The last tool of the page goes, one comes before it, one after it.
  std::vector<v1::Tool> tools;
  for (int i = 0; i < 10; ++i) {
    if (i != 2) tools.push_back(MakeToolDefinition(absl::StrCat("t", 10000 + i)));
  }
  tools.push_back(MakeToolDefinition("a"));
  tools.push_back(MakeToolDefinition("t10002x"));
  Publish(worker_, "ns", std::move(tools));
  request.set_page_token(first.next_page_token());
  EXPECT_THAT(Names(request), ElementsAre("ns__t10002x", "ns__t10003", "ns__t10004"));
  EXPECT_GT(List(request).revision(), first.revision());
}

}  // namespace
}  // namespace toolrack
