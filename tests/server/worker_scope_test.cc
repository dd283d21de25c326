// What a worker with session-scoped tools is told of the sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/worker_rig.h"

namespace toolrack {
namespace {

using Response = v1::WorkerServiceAttachResponse;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

v1::Tool Scoped(const std::string& name) {
  v1::Tool tool = WorkerTool(name);
  tool.set_scope(v1::TOOL_SCOPE_SESSION);
  return tool;
}

// "+id" and "-id", as they were written, with "published" and "call" between them.
std::vector<std::string> Heard(Peer& peer) {
  std::vector<std::string> out;
  for (const Response& message : peer.stream->written) {
    switch (message.message_case()) {
      case Response::kSessionOpened:
        out.push_back("+" + message.session_opened().session_id());
        break;
      case Response::kSessionClosed:
        out.push_back("-" + message.session_closed().session_id());
        break;
      case Response::kPublished:
        out.push_back("published");
        break;
      case Response::kInvocations:
        out.push_back("call of " + message.invocations().invocations(0).session_id());
        break;
      default:
        break;
    }
  }
  peer.stream->written.clear();
  return out;
}

class WorkerScopeTest : public testing::Test {
 protected:
  std::string Open() { return rig_.sessions.Open({}, "uid:1")->session_id(); }
  void Close(const std::string& id) { ASSERT_TRUE(rig_.sessions.Close(id, "uid:1").ok()); }
  void Call(const std::string& session) {
    ToolCall call;
    call.tool = rig_.Entry("ns__t");
    call.arguments_json = "{}";
    call.context.session_id = session;
    call.reporter = rig_.reporter;
    const std::shared_ptr<Backend> backend = call.tool->backends[0];
    backend->Start(std::move(call), [](absl::StatusOr<v1::ToolResult>) {});
  }

  WorkerRig rig_;
};

TEST_F(WorkerScopeTest, AWorkerHearsOfEachSessionBeforeItsCalls) {
  auto peer = rig_.Worker("w", "ns", {Scoped("t")});
  Heard(*peer);
  const std::string id = Open();
  Call(id);
  Close(id);
  EXPECT_THAT(Heard(*peer), ElementsAre("+" + id, "call of " + id, "-" + id));
}

TEST_F(WorkerScopeTest, AWorkerThatComesLaterHearsOfOpenSessionsBeforeItsToolsAreInPlace) {
  const std::string closed = Open();
  const std::string one = Open();
  const std::string two = Open();
  Close(closed);
  auto peer = rig_.Worker("w", "ns", {Scoped("t")});
  std::vector<std::string> heard = Heard(*peer);
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard.back(), "published");
  heard.pop_back();
  EXPECT_THAT(heard, UnorderedElementsAre("+" + one, "+" + two));
}

TEST_F(WorkerScopeTest, AnExpiredSessionIsClosedToo) {
  auto peer = rig_.Worker("w", "ns", {Scoped("t")});
  peer->stream->discard = false;
  const std::string id = Open();
  Heard(*peer);
  // Alive all the time: the session alone is idle.
  for (int i = 0; i < 400; ++i) {
    rig_.timers.Advance(absl::Seconds(10));
    v1::WorkerServiceAttachRequest pong;
    pong.mutable_pong();
    peer->Send(pong);
  }
  EXPECT_THAT(Heard(*peer), ElementsAre("-" + id));
}

TEST_F(WorkerScopeTest, AWorkerWithoutSuchToolsHearsNothing) {
  auto peer = rig_.Worker("w", "ns", {WorkerTool("t")});
  Heard(*peer);
  const std::string id = Open();
  Close(id);
  EXPECT_THAT(Heard(*peer), IsEmpty());
  // Until it has one.
  const std::string other = Open();
  peer->Publish("ns", {Scoped("t")}, 2);
  rig_.executor.RunAll();
  EXPECT_THAT(Heard(*peer), ElementsAre("+" + other, "published"));
}

TEST_F(WorkerScopeTest, TwoSetsAreOneSubscription) {
  auto peer = rig_.Worker("w", "ns", {Scoped("t")});
  peer->Publish("other", {Scoped("u")}, 1);
  rig_.executor.RunAll();
  Heard(*peer);
  const std::string id = Open();
  EXPECT_THAT(Heard(*peer), ElementsAre("+" + id));
}

TEST_F(WorkerScopeTest, ALostWorkerIsToldNothing) {
  auto peer = rig_.Worker("w", "ns", {Scoped("t")});
  peer->session->OnBroken();
  Heard(*peer);
  Close(Open());
  EXPECT_THAT(Heard(*peer), IsEmpty());
}

// A worker that does not read just now misses nothing.
TEST_F(WorkerScopeTest, NotesWaitForASlowReader) {
  auto peer = rig_.Worker("w", "ns", {Scoped("t")});
  Heard(*peer);
  peer->stream->hold_writes = true;
  const std::string one = Open();  // being written
  const std::string two = Open();
  Close(one);
  peer->stream->hold_writes = false;
  peer->stream->Release();
  EXPECT_THAT(Heard(*peer), ElementsAre("+" + one, "+" + two, "-" + one));
}

// What a worker says of its tools' state, for hooks: the last word for each instance.
TEST_F(WorkerScopeTest, KeepsTheStateOfEachInstance) {
  auto peer = rig_.Worker("w", "ns", {Scoped("t"), WorkerTool("shared")});
  const std::string one = Open();
  const std::string two = Open();
  const auto answer = [&](const std::string& tool, const std::string& session,
                          const std::string& state) {
    Heard(*peer);
    ToolCall call;
    call.tool = rig_.Entry(tool);
    call.arguments_json = "{}";
    call.context.session_id = session;
    call.reporter = rig_.reporter;
    const std::shared_ptr<Backend> backend = call.tool->backends[0];
    const uint64_t number = backend->Start(std::move(call), [](absl::StatusOr<v1::ToolResult>) {});
    v1::WorkerServiceAttachRequest request;
    v1::WorkerResult* result = request.mutable_results()->add_results();
    result->set_invocation_id(number);
    result->mutable_result();
    result->set_state_json(state);
    peer->Send(request);
    rig_.executor.RunAll();
  };
  const auto state = [&](const std::string& tool, const std::string& session) {
    const ToolEntryPtr entry = rig_.Entry(tool);
    return entry->backends[0]->StateJson(*entry, session);
  };
  answer("ns__t", one, R"({"n":1})");
  answer("ns__t", two, R"({"n":2})");
  answer("ns__t", one, R"({"n":3})");
  answer("ns__shared", one, "[4]");
  EXPECT_EQ(state("ns__t", one), R"({"n":3})");
  EXPECT_EQ(state("ns__t", two), R"({"n":2})");
  EXPECT_EQ(state("ns__t", ""), "");
  EXPECT_EQ(state("ns__shared", two), "[4]");
  for (const std::string bad : {"{", "\xff", ""}) answer("ns__t", one, bad);
  answer("ns__t", one, "\"" + std::string(65 << 10, 'x') + "\"");
  EXPECT_EQ(state("ns__t", one), R"({"n":3})");
  Close(one);
  EXPECT_EQ(state("ns__t", one), "");
  for (int i = 0; i < 40; ++i) {
    answer("ns__t", "s" + std::to_string(i), "\"" + std::string(60 << 10, 'x') + "\"");
  }
  EXPECT_EQ(state("ns__t", two), "");  // the oldest had to go
  EXPECT_NE(state("ns__t", "s39"), "");
}

}  // namespace
}  // namespace toolrack
