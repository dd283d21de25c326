// The protocol of one hook's stream: order, definitions, verdicts, queues, ends.
#include "server/hooks/hook_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "registry/base/errors.h"
#include "registry/registry.h"
#include "server/hooks/hook_hub.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

using Request = v1::HookServiceAttachRequest;
using Response = v1::HookServiceAttachResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FakeStream : public HookTransport {
 public:
  void Write(const Response& message) override {
    written.push_back(message);
    if (hold_writes) return;
    session.lock()->OnWriteDone(true);
  }
  void Finish(absl::Status status) override { finished = std::move(status); }
  void Abort() override { aborted = true; }

  std::weak_ptr<HookSession> session;
  std::deque<Response> written;
  bool hold_writes = false;
  std::optional<absl::Status> finished;
  bool aborted = false;
};

// What became of one event.
struct Heard {
  std::optional<absl::StatusOr<HookVerdict>> value;
  int times = 0;
  HookDone Done() {
    return [this](absl::StatusOr<HookVerdict> verdict) {
      value = std::move(verdict);
      ++times;
    };
  }
  std::string why() const {
    return value.has_value() && !value->ok() ? std::string(value->status().message()) : "";
  }
};

class HookSessionTest : public testing::Test {
 protected:
  HookSessionTest() {
    v1::Tool tool;
    tool.set_name("t");
    tool.set_description("A tool.");
    tool.set_input_schema(R"({"type":"object"})");
    EXPECT_TRUE(registry_.Publish(backend_, "", {tool}, v1::PUBLISH_MODE_ATOMIC).ok());
    options_.epoch = "epoch";
    options_.max_queue = 3;
  }

  struct Peer {
    std::shared_ptr<FakeStream> stream = std::make_shared<FakeStream>();
    std::shared_ptr<HookSession> session;
    void Send(Request request) { session->OnMessage(request); }
    void Verdict(v1::HookVerdict verdict) {
      Request request;
      *request.mutable_verdict() = std::move(verdict);
      Send(std::move(request));
    }
    void Pass(uint64_t id) {
      v1::HookVerdict verdict;
      verdict.set_event_id(id);
      verdict.mutable_pass();
      Verdict(std::move(verdict));
    }
    // The events written so far.
    std::vector<v1::HookEvent> Events() const {
      std::vector<v1::HookEvent> out;
      for (const Response& message : stream->written) {
        if (message.has_event()) out.push_back(message.event());
      }
      return out;
    }
  };

  static v1::HookHello Hello(const std::string& name = "h") {
    v1::HookHello hello;
    hello.set_hook_name(name);
    hello.set_protocol_version(1);
    hello.add_points(v1::HOOK_POINT_PRE_CALL);
    return hello;
  }
  Peer Connect(const std::string& principal = "uid:1") {
    Peer peer;
    HookSession::Options options = options_;
    options.principal = principal;
    peer.session = std::make_shared<HookSession>(HookSession::Parts{&set_, &timers_, &executor_},
                                                 options, peer.stream);
    peer.stream->session = peer.session;
    peer.session->Begin();
    return peer;
  }
  Peer Attach(const v1::HookHello& hello = Hello(), const std::string& principal = "uid:1") {
    Peer peer = Connect(principal);
    Request request;
    *request.mutable_hello() = hello;
    peer.Send(request);
    return peer;
  }
  HookQuestion Question(const std::string& arguments = "{}") {
    auto event = std::make_shared<v1::HookEvent>();
    event->set_point(v1::HOOK_POINT_PRE_CALL);
    event->set_tool_name("t");
    const ToolEntryPtr entry = registry_.snapshot()->Get("t");
    event->set_digest(entry->definition->tool.digest());
    event->mutable_call()->set_arguments_json(arguments);
    return {event, entry};
  }

  FakeClock clock_;
  FakeTimers timers_{&clock_};
  ManualExecutor executor_;
  Registry registry_{RegistryOptions()};
  std::shared_ptr<FakeBackend> backend_ = std::make_shared<FakeBackend>();
  HookSet set_{&clock_, {}};
  HookSession::Options options_;
};

TEST_F(HookSessionTest, AnswersTheHelloWithWhatIsInForce) {
  Peer peer = Attach();
  ASSERT_THAT(peer.stream->written, SizeIs(1));
  const v1::HookWelcome welcome = peer.stream->written[0].welcome();
  EXPECT_FALSE(welcome.hook_id().empty());
  EXPECT_EQ(welcome.epoch(), "epoch");
  EXPECT_EQ(welcome.timeout().seconds(), 1);
  EXPECT_EQ(welcome.failure_mode(), v1::HOOK_FAILURE_MODE_FAIL_CLOSED);
  v1::HookHello observer = Hello("o");
  observer.set_observe_only(true);
  EXPECT_EQ(Attach(observer).stream->written[0].welcome().failure_mode(),
            v1::HOOK_FAILURE_MODE_FAIL_OPEN);
  EXPECT_EQ(set_.size(), 2u);
}

TEST_F(HookSessionTest, SendsADefinitionOnceAndEventsInOrder) {
  Peer peer = Attach();
  Heard one, two;
  peer.session->Ask(Question(R"({"a":1})"), one.Done());
  peer.session->Ask(Question(R"({"b":2})"), two.Done());
  ASSERT_THAT(peer.stream->written, SizeIs(4));
  EXPECT_EQ(peer.stream->written[1].tool().name(), "t");
  EXPECT_EQ(peer.stream->written[1].tool().input_schema(), R"({"type":"object"})");
  EXPECT_EQ(peer.stream->written[2].event().call().arguments_json(), R"({"a":1})");
  EXPECT_EQ(peer.stream->written[3].event().call().arguments_json(), R"({"b":2})");
  // Verdicts come in any order.
  peer.Pass(peer.Events()[1].event_id());
  EXPECT_EQ(two.times, 1);
  EXPECT_EQ(one.times, 0);
  v1::HookVerdict deny;
  deny.set_event_id(peer.Events()[0].event_id());
  deny.mutable_deny()->set_reason("no\xff");
  peer.Verdict(deny);
  ASSERT_TRUE(one.value.has_value() && one.value->ok());
  EXPECT_EQ((*one.value)->action, HookVerdict::Action::kDeny);
  EXPECT_EQ((*one.value)->reason, "no\xEF\xBF\xBD");
}

TEST_F(HookSessionTest, ReadsEveryVerdict) {
  Peer peer = Attach();
  const auto ask = [&](v1::HookVerdict verdict) {
    Heard heard;
    peer.session->Ask(Question(), heard.Done());
    verdict.set_event_id(peer.Events().back().event_id());
    peer.Verdict(std::move(verdict));
    executor_.RunAll();
    EXPECT_EQ(heard.times, 1);
    return heard;
  };
  v1::HookVerdict verdict;
  EXPECT_THAT(ask(verdict).why(), HasSubstr("says nothing"));
  verdict.set_replace_arguments("\xff bytes");  // whether it is JSON is for the pipeline
  EXPECT_EQ((*ask(verdict).value)->arguments, "\xff bytes");
  verdict.mutable_answer()->add_content()->mutable_text()->set_text("fine");
  EXPECT_EQ((*ask(verdict).value)->result.content(0).text().text(), "fine");
  verdict.mutable_replace_result()->add_content()->mutable_text()->set_text("bad \xff");
  EXPECT_THAT(ask(verdict).why(), HasSubstr("not UTF-8"));
  verdict.mutable_replace_result()->set_structured_json("{");
  EXPECT_THAT(ask(verdict).why(), HasSubstr("cannot be taken"));
  verdict.mutable_replace_result()->Clear();
  verdict.mutable_replace_result()->set_structured_json("[" + std::string(9000, ' ') + "]");
  EXPECT_EQ((*ask(verdict).value)->action, HookVerdict::Action::kReplaceResult);
}

TEST_F(HookSessionTest, EndsWhenTheOrderIsBroken) {
  Request empty, verdict, version;
  verdict.mutable_verdict()->set_event_id(1);
  version.mutable_hello()->set_protocol_version(9);
  const std::map<std::string, Request> cases = {{"without content", empty},
                                                {"a verdict came before the hello", verdict},
                                                {"protocol_version 9", version}};
  for (const auto& [what, request] : cases) {
    Peer peer = Connect();
    peer.Send(request);
    ASSERT_TRUE(peer.stream->finished.has_value()) << what;
    EXPECT_EQ(ReasonOf(*peer.stream->finished), v1::ERROR_REASON_PROTOCOL_VIOLATION);
    EXPECT_THAT(std::string(peer.stream->finished->message()), HasSubstr(what));
  }
  Peer twice = Attach();
  Request again;
  *again.mutable_hello() = Hello();
  twice.Send(again);
  EXPECT_EQ(ReasonOf(*twice.stream->finished), v1::ERROR_REASON_PROTOCOL_VIOLATION);
  EXPECT_EQ(set_.size(), 0u);
  Peer silent = Connect();
  timers_.Advance(absl::Seconds(15));
  EXPECT_THAT(std::string(silent.stream->finished->message()), HasSubstr("no hello came"));
}

TEST_F(HookSessionTest, ARefusedHelloSaysWhy) {
  v1::HookHello points = Hello();
  points.clear_points();
  EXPECT_EQ(ReasonOf(*Attach(points).stream->finished), v1::ERROR_REASON_REQUEST_INVALID);
  Peer mine = Attach();
  EXPECT_EQ(ReasonOf(*Attach(Hello(), "uid:2").stream->finished), v1::ERROR_REASON_NAME_TAKEN);
  EXPECT_FALSE(mine.stream->finished.has_value());
}

TEST_F(HookSessionTest, EverythingThatWaitsFailsWhenTheStreamEnds) {
  const std::vector<std::function<void(HookSession&)>> ends = {
      [](HookSession& s) { s.OnReadsDone(); }, [](HookSession& s) { s.OnBroken(); },
      [](HookSession& s) { s.OnViolation(ProtocolViolation("x")); },
      [](HookSession& s) { s.End(Draining("daemon")); }};
  for (const auto& end : ends) {
    Peer peer = Attach();
    Heard sent, queued, after;
    peer.session->Ask(Question(), sent.Done());
    peer.stream->hold_writes = true;
    peer.session->Ask(Question(), queued.Done());
    end(*peer.session);
    EXPECT_EQ(sent.times, 1);
    EXPECT_EQ(queued.times, 1);
    EXPECT_FALSE(sent.value->ok());
    EXPECT_EQ(set_.size(), 0u);
    peer.session->Ask(Question(), after.Done());
    EXPECT_EQ(after.why(), "lost its stream");
    peer.session->OnWriteDone(false);
    EXPECT_TRUE(peer.stream->finished.has_value());
    timers_.Advance(absl::Seconds(5));
    EXPECT_TRUE(peer.stream->aborted);
  }
}

TEST_F(HookSessionTest, ALateVerdictIsCountedAndDropped) {
  Peer peer = Attach();
  Heard heard;
  const uint64_t number = peer.session->Ask(Question(), heard.Done());
  peer.session->Forget(number);
  peer.Pass(number);
  peer.Pass(999);
  EXPECT_EQ(heard.times, 0);
  EXPECT_EQ(set_.List()[0].late(), 2u);
  EXPECT_FALSE(peer.stream->finished.has_value());
}

TEST_F(HookSessionTest, AHookThatDoesNotReadFailsAndAnObserverLosesEvents) {
  Peer peer = Attach();
  peer.stream->hold_writes = true;
  std::vector<Heard> heard(6);
  for (Heard& each : heard) peer.session->Ask(Question(), each.Done());
  // One is being written (its definition first), three wait.
  EXPECT_EQ(heard[2].times, 0);
  EXPECT_THAT(heard[5].why(), HasSubstr("does not read: 3 events wait"));
  v1::HookHello hello = Hello("o");
  hello.set_observe_only(true);
  Peer observer = Attach(hello);
  observer.stream->hold_writes = true;
  for (int i = 0; i < 10; ++i) observer.session->Tell(Question());
  v1::HookInfo info;
  observer.session->Describe(info);
  EXPECT_EQ(info.dropped(), 7u);
  EXPECT_FALSE(observer.stream->finished.has_value());
}

TEST_F(HookSessionTest, WhatNobodyWaitsForAnyMoreIsNotSent) {
  Peer peer = Attach();
  Heard first;
  peer.session->Ask(Question(), first.Done());  // the definition goes out
  peer.stream->written.clear();
  peer.stream->hold_writes = true;
  Heard writing, stale, wanted;
  peer.session->Ask(Question("{\"n\":1}"), writing.Done());
  const uint64_t number = peer.session->Ask(Question("{\"n\":2}"), stale.Done());
  peer.session->Ask(Question("{\"n\":3}"), wanted.Done());
  peer.session->Forget(number);
  peer.stream->hold_writes = false;
  peer.session->OnWriteDone(true);
  std::vector<std::string> sent;
  for (const v1::HookEvent& event : peer.Events()) sent.push_back(event.call().arguments_json());
  EXPECT_THAT(sent, ElementsAre("{\"n\":1}", "{\"n\":3}"));
}

TEST_F(HookSessionTest, ASuccessorTakesOverAndTheOldOneEndsWithItsLastVerdict) {
  Peer old = Attach();
  Heard waiting;
  old.session->Ask(Question(), waiting.Done());
  Peer next = Attach();
  EXPECT_FALSE(old.stream->finished.has_value());
  EXPECT_EQ(set_.size(), 1u);
  Heard refused;
  old.session->Ask(Question(), refused.Done());
  EXPECT_FALSE(refused.value->ok());
  old.Pass(old.Events()[0].event_id());
  EXPECT_TRUE(waiting.value->ok());
  ASSERT_TRUE(old.stream->finished.has_value());
  EXPECT_EQ(ReasonOf(*old.stream->finished), v1::ERROR_REASON_REPLACED);
  EXPECT_EQ(MetadataOf(*old.stream->finished)["hook"], "h");
  EXPECT_FALSE(next.stream->finished.has_value());
  EXPECT_EQ(set_.size(), 1u);
}

TEST_F(HookSessionTest, TheHubEndsAllAndTakesNoMore) {
  HookHub hub({&set_, &timers_, &executor_}, options_);
  const auto open = [&hub] {
    auto stream = std::make_shared<FakeStream>();
    auto session = hub.MakeSession("uid:1", stream);
    stream->session = session;
    session->Begin();
    hub.Open(session);
    return std::make_pair(stream, session);
  };
  const auto [stream, session] = open();
  hub.Shutdown();
  EXPECT_EQ(ReasonOf(*stream->finished), v1::ERROR_REASON_DRAINING);
  const auto [late_stream, late_session] = open();
  EXPECT_EQ(ReasonOf(*late_stream->finished), v1::ERROR_REASON_DRAINING);
}

}  // namespace
}  // namespace toolrack
