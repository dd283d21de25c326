// Who may what, over real sockets and TCP: tokens, scopes, rules, approvals, pinning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr char kAgent[] = "agent token, long and random";
constexpr char kBoss[] = "boss token, long and random";

v1::Config Config() {
  v1::Config config;
  v1::PrincipalConfig& agent = *config.add_principals();
  agent.set_name("agent");
  agent.add_token_sha256(Sha256Hex(kAgent));
  v1::PrincipalConfig& boss = *config.add_principals();
  boss.set_name("boss");
  boss.add_token_sha256(Sha256Hex(kBoss));
  for (const char* scope : {"call", "register", "admin"}) boss.add_scopes(scope);
  boss.add_namespaces("boss");
  v1::PolicyRule& deny = *config.mutable_policy()->add_rules();
  deny.set_name("no sleep");
  deny.add_tools("sleep");
  deny.add_principals("agent");
  deny.set_action("deny");
  v1::PolicyRule& ask = *config.mutable_policy()->add_rules();
  ask.set_name("ask for counting");
  ask.add_tools("counter");
  ask.set_action("ask");
  return config;
}

std::unique_ptr<grpc::ClientContext> With(const std::string& token) {
  auto context = NewContext();
  if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
  return context;
}

class AccessTest : public testing::Test {
 protected:
  absl::Status Call(const std::string& scope, grpc::ClientContext* context,
                    const std::string& tool = "echo", const std::string& id = "") {
    v1::CallToolRequest request;
    request.set_name(tool);
    request.set_arguments_json(tool == "echo" ? R"({"text":"x"})" : "{}");
    request.set_approval_id(id);
    v1::CallToolResponse response;
    return FromGrpc(server_.Tools(scope)->CallTool(context, request, &response));
  }
  std::vector<std::string> List(const std::string& token) {
    v1::ListToolsResponse response;
    EXPECT_TRUE(
        server_.Tools("tcp")->ListTools(With(token).get(), v1::ListToolsRequest(), &response).ok());
    std::vector<std::string> names;
    for (const v1::Tool& tool : response.tools()) names.push_back(tool.name());
    return names;
  }
  TestServer server_{Config()};
};

TEST_F(AccessTest, TcpNeedsATokenAndEveryDoubtIsARefusal) {
  EXPECT_TRUE(Call("tcp", With(kAgent).get()).ok());
  EXPECT_TRUE(Call("tcp", With(kBoss).get()).ok());
  const auto refused = [this](const std::string& scope, grpc::ClientContext* context) {
    const absl::Status status = Call(scope, context);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TOKEN_INVALID);
  };
  refused("tcp", NewContext().get());
  for (const std::string scope : {"tcp", "agent"}) {
    refused(scope, With("wrong").get());
    refused(scope, With(std::string(5000, 'x')).get());
    auto basic = NewContext();
    basic->AddMetadata("authorization", "Basic dXNlcjpwYXNz");
    refused(scope, basic.get());
    auto twice = With(kAgent);
    twice->AddMetadata("authorization", std::string("Bearer ") + kAgent);
    refused(scope, twice.get());
  }
  // The sockets go on by the peer's user.
  EXPECT_TRUE(Call("agent", NewContext().get()).ok());
}

TEST_F(AccessTest, EveryMethodAsksForItsScope) {
  v1::GetStatusResponse status;
  EXPECT_TRUE(server_.Admin()->GetStatus(NewContext().get(), {}, &status).ok());
  EXPECT_TRUE(server_.Admin()->GetStatus(With(kBoss).get(), {}, &status).ok());
  const absl::Status denied = FromGrpc(server_.Admin()->GetStatus(With(kAgent).get(), {}, &status));
  EXPECT_EQ(ReasonOf(denied), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_EQ(MetadataOf(denied).at("scope"), "admin");
  EXPECT_EQ(MetadataOf(denied).at("principal"), "agent");

  auto context = With(kAgent);
  auto stream = server_.Workers()->Attach(context.get());
  v1::WorkerServiceAttachResponse message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(MetadataOf(FromGrpc(stream->Finish())).at("scope"), "register");
}

TEST_F(AccessTest, ADeniedToolIsNotThere) {
  EXPECT_THAT(List(kAgent), ElementsAre("calculator", "counter", "current_time", "echo"));
  EXPECT_THAT(List(kBoss), ElementsAre("calculator", "counter", "current_time", "echo", "sleep"));
  v1::DescribeToolRequest describe;
  describe.set_name("sleep");
  v1::Tool tool;
  const absl::Status hidden =
      FromGrpc(server_.Tools("tcp")->DescribeTool(With(kAgent).get(), describe, &tool));
  EXPECT_EQ(ReasonOf(hidden), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(MetadataOf(hidden).at("nearest"), "");
  EXPECT_TRUE(server_.Tools("tcp")->DescribeTool(With(kBoss).get(), describe, &tool).ok());
  EXPECT_EQ(ReasonOf(Call("tcp", With(kAgent).get(), "sleep")), v1::ERROR_REASON_POLICY_DENIED);
  v1::SearchToolsRequest search;
  search.set_query("sleep, wait for some seconds");
  v1::SearchToolsResponse found;
  ASSERT_TRUE(server_.Tools("tcp")->SearchTools(With(kAgent).get(), search, &found).ok());
  for (const v1::SearchHit& hit : found.hits()) EXPECT_NE(hit.tool().name(), "sleep");
  ASSERT_TRUE(server_.Tools("tcp")->SearchTools(With(kBoss).get(), search, &found).ok());
  ASSERT_GT(found.hits_size(), 0);
  EXPECT_EQ(found.hits(0).tool().name(), "sleep");

  auto context = With(kAgent);
  auto watch = server_.Tools("tcp")->WatchTools(context.get(), v1::WatchToolsRequest());
  v1::WatchToolsResponse event;
  std::vector<std::string> seen;
  while (watch->Read(&event) && !event.has_synced()) {
    if (event.has_added()) seen.push_back(event.added().name());
  }
  EXPECT_THAT(seen, UnorderedElementsAre("calculator", "counter", "current_time", "echo"));
  context->TryCancel();
  watch->Finish();
}

TEST_F(AccessTest, AnAdministratorLetsOneCallThrough) {
  const absl::Status asked = Call("tcp", With(kAgent).get(), "counter");
  ASSERT_EQ(ReasonOf(asked), v1::ERROR_REASON_APPROVAL_REQUIRED) << asked;
  const std::string id = MetadataOf(asked).at("approval_id");
  v1::ListApprovalsResponse list;
  ASSERT_TRUE(server_.Admin()->ListApprovals(NewContext().get(), {}, &list).ok());
  ASSERT_EQ(list.approvals_size(), 1);
  EXPECT_EQ(list.approvals(0).approval_id(), id);
  EXPECT_EQ(list.approvals(0).principal(), "agent");
  EXPECT_EQ(list.approvals(0).rule(), "ask for counting");
  v1::DecideApprovalRequest decide;
  decide.set_approval_id(id);
  decide.set_grant(true);
  v1::DecideApprovalResponse decided;
  EXPECT_FALSE(server_.Admin()->DecideApproval(With(kAgent).get(), decide, &decided).ok());
  ASSERT_TRUE(server_.Admin()->DecideApproval(With(kBoss).get(), decide, &decided).ok());
  EXPECT_EQ(decided.approval().decided_by(), "boss");
  EXPECT_EQ(ReasonOf(Call("tcp", With(kBoss).get(), "counter", id)),
            v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_TRUE(Call("tcp", With(kAgent).get(), "counter", id).ok());
  EXPECT_EQ(ReasonOf(Call("tcp", With(kAgent).get(), "counter", id)),
            v1::ERROR_REASON_APPROVAL_EXPIRED);
}

TEST(NoPrincipalsTest, ATokenThatNobodyAskedForIsRefusedNotIgnored) {
  TestServer server;
  v1::ListToolsResponse response;
  EXPECT_TRUE(server.Tools("tcp")->ListTools(NewContext().get(), {}, &response).ok());
  const absl::Status status =
      FromGrpc(server.Tools("tcp")->ListTools(With("x").get(), {}, &response));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TOKEN_INVALID);
}

TEST(UidPrincipalTest, AUserOfTheSocketsHasTheScopesOfItsPrincipal) {
  v1::Config config;
  v1::PrincipalConfig& me = *config.add_principals();
  me.set_name("me");
  me.add_uids(absl::StrCat(::getuid()));
  me.add_scopes("admin");
  TestServer server(config);
  v1::GetStatusResponse status;
  EXPECT_TRUE(server.Admin()->GetStatus(NewContext().get(), {}, &status).ok());
  v1::ListToolsResponse list;
  const absl::Status denied = FromGrpc(server.Tools()->ListTools(NewContext().get(), {}, &list));
  EXPECT_EQ(ReasonOf(denied), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_EQ(MetadataOf(denied).at("principal"), "me");
}

// One worker's tool, published with this description; the report.
class OneToolWorker {
 public:
  OneToolWorker(const TestServer& server, const std::string& description, const std::string& token,
                const std::string& ns)
      : stub_(server.Workers()), context_(With(token)), stream_(stub_->Attach(context_.get())) {
    v1::WorkerServiceAttachRequest hello;
    hello.mutable_hello()->set_worker_name("w");
    hello.mutable_hello()->set_protocol_version(1);
    stream_->Write(hello);
    v1::WorkerServiceAttachRequest publish;
    publish.mutable_publish()->set_namespace_(ns);
    publish.mutable_publish()->set_generation(1);
    publish.mutable_publish()->set_mode(v1::PUBLISH_MODE_BEST_EFFORT);
    publish.mutable_publish()->set_commit(true);
    v1::Tool& tool = *publish.mutable_publish()->add_tools();
    tool.set_name("t");
    tool.set_description(description);
    tool.set_input_schema(R"({"type":"object"})");
    stream_->Write(publish);
    v1::WorkerServiceAttachResponse message;
    while (stream_->Read(&message)) {
      if (message.has_published()) {
        published_ = message.published();
        break;
      }
    }
  }
  ~OneToolWorker() {
    context_->TryCancel();
    stream_->Finish();
  }
  const v1::WorkerPublished& published() const { return published_; }

 private:
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerServiceAttachRequest, v1::WorkerServiceAttachResponse>>
      stream_;
  v1::WorkerPublished published_;
};

TEST_F(AccessTest, ANamespaceIsItsOwnersAlone) {
  const OneToolWorker stranger(server_, "x", "", "boss");
  EXPECT_EQ(stranger.published().accepted_size(), 0);
  const OneToolWorker owner(server_, "x", kBoss, "boss");
  EXPECT_EQ(owner.published().accepted_size(), 1);
  const OneToolWorker elsewhere(server_, "x", kBoss, "elsewhere");
  EXPECT_EQ(elsewhere.published().accepted_size(), 0);
}

TEST(PinningTest, AChangedToolIsHeldBackAlsoAfterARestart) {
  TempDir dir;
  v1::Config config;
  config.set_pinning("enforce");
  config.set_state_dir(dir.path() + "/state");
  TestServer server(config);
  { const OneToolWorker first(server, "one", "", "w"); }
  server.Restart();
  const OneToolWorker changed(server, "two", "", "w");
  ASSERT_EQ(changed.published().quarantined_size(), 1);
  v1::CallToolRequest call;
  call.set_name("w__t");
  v1::CallToolResponse response;
  const absl::Status refused =
      FromGrpc(server.Tools()->CallTool(NewContext().get(), call, &response));
  EXPECT_EQ(ReasonOf(refused), v1::ERROR_REASON_TOOL_QUARANTINED);
  v1::DescribeToolRequest describe;
  describe.set_name("w__t");
  v1::Tool tool;
  ASSERT_TRUE(server.Tools()->DescribeTool(NewContext().get(), describe, &tool).ok());
  v1::ApproveToolRequest approve;
  approve.set_name("w__t");
  v1::ApproveToolResponse approved;
  EXPECT_FALSE(server.Admin()->ApproveTool(NewContext().get(), approve, &approved).ok());
  approve.set_digest(tool.digest());
  ASSERT_TRUE(server.Admin()->ApproveTool(NewContext().get(), approve, &approved).ok());
  EXPECT_EQ(approved.tool().state(), v1::TOOL_STATE_ACTIVE);
}

}  // namespace
}  // namespace toolrack
