// The protocol of one stream: what comes in which order, calls, credit, answers, liveness.
#include "server/backends/worker_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "tests/server/worker_rig.h"

namespace toolrack {
namespace {

using Response = v1::WorkerServiceAttachResponse;
using Request = v1::WorkerServiceAttachRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(WorkerSession, AnswersTheHelloWithTheLimits) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w", 7);
  const v1::WorkerWelcome welcome = peer->Take(Response::kWelcome).welcome();
  EXPECT_EQ(welcome.worker_id(), peer->session->worker_id());
  EXPECT_EQ(welcome.epoch(), rig.registry.epoch());
  EXPECT_EQ(welcome.limits().max_in_flight(), 7u);
  EXPECT_EQ(welcome.limits().max_tools(), 10000u);
  EXPECT_EQ(welcome.limits().ping_interval().seconds(), 10);
}

TEST(WorkerSession, CapsTheCreditAndHasADefault) {
  WorkerHubOptions options;
  options.workers.set_max_in_flight(100);
  WorkerRig rig(options);
  auto greedy = rig.Connect();
  greedy->Hello("greedy", 1000000);
  EXPECT_EQ(greedy->Take(Response::kWelcome).welcome().limits().max_in_flight(), 100u);
  auto modest = rig.Connect();
  modest->Hello("modest", 0);
  EXPECT_EQ(modest->Take(Response::kWelcome).welcome().limits().max_in_flight(), 64u);
}

TEST(WorkerSession, EndsWhenTheOrderIsBroken) {
  struct Case {
    std::string what;
    std::function<void(Peer&)> act;
  };
  const std::vector<Case> cases = {
      {"publish came before the hello", [](Peer& p) { p.Publish("a", {}); }},
      {"a message without content came before", [](Peer& p) { p.Send({}); }},
      {"a second hello",
       [](Peer& p) {
         p.Hello("w");
         p.Hello("w");
       }},
      {"a message without content came",
       [](Peer& p) {
         p.Hello("w");
         p.Send({});
       }},
      {"the worker name \"a b\"", [](Peer& p) { p.Hello("a b"); }},
      {"the worker name \"\"", [](Peer& p) { p.Hello(""); }},
      {"protocol_version 9",
       [](Peer& p) {
         Request request;
         request.mutable_hello()->set_worker_name("w");
         request.mutable_hello()->set_protocol_version(9);
         p.Send(request);
       }},
      {"no WorkerServiceAttachRequest",
       [](Peer& p) {
         p.Hello("w");
         p.SendBytes("\xff\xff\xff");
       }},
      {"the publish mode 7",
       [](Peer& p) {
         p.Hello("w");
         p.Publish("a", {}, 1, static_cast<v1::PublishMode>(7));
       }},
  };
  for (const Case& c : cases) {
    WorkerRig rig;
    auto peer = rig.Connect();
    c.act(*peer);
    ASSERT_TRUE(peer->stream->finished.has_value()) << c.what;
    EXPECT_EQ(ReasonOf(*peer->stream->finished), v1::ERROR_REASON_PROTOCOL_VIOLATION) << c.what;
    EXPECT_THAT(Message(*peer->stream->finished), HasSubstr(c.what));
  }
}

TEST(WorkerSession, EndsAStreamThatNeverSaysHello) {
  WorkerRig rig;
  auto peer = rig.Connect();
  rig.timers.Advance(absl::Seconds(16));
  ASSERT_TRUE(peer->stream->finished.has_value());
  EXPECT_THAT(Message(*peer->stream->finished), HasSubstr("no hello came within 15s"));
}

TEST(WorkerSession, CarriesACallThereAndBack) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  const std::string arguments = R"({"b": 12345678901234567890, "a": 1.0})";
  const auto outcome = rig.Call("ns__t", arguments, nullptr, absl::Milliseconds(2500));
  const auto invocations = peer->TakeInvocations();
  ASSERT_THAT(invocations, SizeIs(1));
  EXPECT_EQ(invocations[0].arguments_json(), arguments);
  EXPECT_EQ(invocations[0].tool(), "ns__t");
  EXPECT_EQ(invocations[0].namespace_(), "ns");
  EXPECT_EQ(invocations[0].name(), "t");
  EXPECT_EQ(invocations[0].remaining().seconds(), 2);
  EXPECT_EQ(invocations[0].remaining().nanos(), 500000000);
  EXPECT_EQ(outcome->times, 0);
  peer->AnswerText(invocations[0].invocation_id(), "done");
  EXPECT_EQ(outcome->text(), "done");
  EXPECT_EQ(rig.hub->List()[0].completed(), 1u);
}

TEST(WorkerSession, LeavesRemainingUnsetWithoutADeadline) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  rig.Call("ns__t");
  EXPECT_FALSE(peer->TakeInvocations()[0].has_remaining());
}

TEST(WorkerSession, CountsTheTimeInTheQueueOffTheRemaining) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1);
  rig.Call("ns__t");
  rig.Call("ns__t", "{}", nullptr, absl::Seconds(5));
  const auto first = peer->TakeInvocations();
  ASSERT_THAT(first, SizeIs(1));
  rig.clock.Advance(absl::Seconds(3));
  peer->AnswerText(first[0].invocation_id(), "x");
  EXPECT_EQ(peer->TakeInvocations()[0].remaining().seconds(), 2);
}

TEST(WorkerSession, IgnoresUnknownAndRepeatedAnswers) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  const auto outcome = rig.Call("ns__t");
  const uint64_t id = peer->TakeInvocations()[0].invocation_id();
  peer->AnswerText(id + 100, "not yours");
  EXPECT_EQ(outcome->times, 0);
  peer->AnswerText(id, "first");
  peer->AnswerText(id, "second");
  EXPECT_EQ(outcome->text(), "first");
  EXPECT_EQ(outcome->times, 1);
  EXPECT_EQ(peer->session->ignored(), 2u);
  EXPECT_FALSE(peer->stream->finished.has_value());
}

TEST(WorkerSession, GivesNoMoreThanTheCredit) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 2);
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 5; ++i)
    outcomes.push_back(rig.Call("ns__t", absl::StrCat("{\"i\":", i, "}")));
  auto given = peer->TakeInvocations();
  ASSERT_THAT(given, SizeIs(2));
  EXPECT_EQ(rig.hub->List()[0].in_flight(), 2u);
  EXPECT_EQ(rig.hub->List()[0].queued(), 3u);
  peer->AnswerText(given[1].invocation_id(), "b");
  const auto next = peer->TakeInvocations();
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_EQ(next[0].arguments_json(), "{\"i\":2}");
  EXPECT_EQ(outcomes[1]->text(), "b");
}

TEST(WorkerSession, RefusesWhenTheQueueIsFull) {
  WorkerHubOptions options;
  options.limits.set_max_queue_per_worker(2);
  WorkerRig rig(options);
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1);
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 4; ++i) outcomes.push_back(rig.Call("ns__t"));
  EXPECT_EQ(outcomes[2]->times, 0);
  EXPECT_EQ(ReasonOf(outcomes[3]->status()), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_THAT(Message(outcomes[3]->status()), HasSubstr("max_queue_per_worker allows 2"));
}

TEST(WorkerSession, BoundsWhatWaitsForAWorkerThatDoesNotRead) {
  WorkerHubOptions options;
  options.limits.set_max_queue_per_worker(2);
  WorkerRig rig(options);
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 3);
  peer->stream->hold_writes = true;
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 10; ++i) outcomes.push_back(rig.Call("ns__t"));
  EXPECT_EQ(outcomes[4]->times, 0);
  EXPECT_EQ(ReasonOf(outcomes[5]->status()), v1::ERROR_REASON_QUEUE_FULL);
}

TEST(WorkerSession, BatchesWhatQueuedDuringAWrite) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1000);
  peer->stream->hold_writes = true;
  for (int i = 0; i < 201; ++i) rig.Call("ns__t");
  std::vector<int> sizes;
  while (peer->Has(Response::kInvocations)) {
    sizes.push_back(peer->Take(Response::kInvocations).invocations().invocations_size());
    peer->stream->Release();
  }
  EXPECT_THAT(sizes, ElementsAre(1, 64, 64, 64, 8));
}

TEST(WorkerSession, BatchesByBytesToo) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1000);
  peer->stream->hold_writes = true;
  rig.Call("ns__t");
  const std::string large = absl::StrCat("{\"x\":\"", std::string(100 << 10, 'x'), "\"}");
  const std::string huge = absl::StrCat("{\"x\":\"", std::string(700 << 10, 'x'), "\"}");
  for (int i = 0; i < 4; ++i) rig.Call("ns__t", large);
  rig.Call("ns__t", huge);
  rig.Call("ns__t");
  std::vector<int> sizes;
  while (peer->Has(Response::kInvocations)) {
    sizes.push_back(peer->Take(Response::kInvocations).invocations().invocations_size());
    peer->stream->Release();
  }
  EXPECT_THAT(sizes, ElementsAre(1, 2, 2, 1, 1));
}

TEST(WorkerSession, DropsACancelledCallFromTheQueueSilently) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1);
  rig.Call("ns__t");
  uint64_t number = 0;
  const auto waiting = rig.Call("ns__t", "{\"never\":1}", &number);
  const auto first = peer->TakeInvocations();
  peer->session->backend()->Cancel(number, StopReason::kCaller);
  EXPECT_EQ(ReasonOf(waiting->status()), v1::ERROR_REASON_CANCELLED);
  EXPECT_TRUE(SurelyNotExecuted(waiting->status()));
  peer->AnswerText(first[0].invocation_id(), "x");
  EXPECT_THAT(peer->TakeInvocations(), SizeIs(0));
  EXPECT_FALSE(peer->Has(Response::kCancel));
}

TEST(WorkerSession, TellsTheWorkerToStopAndKeepsItsCreditUntilItAnswers) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1);
  uint64_t number = 0;
  rig.Call("ns__t", "{}", &number);
  const uint64_t id = peer->TakeInvocations()[0].invocation_id();
  peer->session->backend()->Cancel(number, StopReason::kDeadline);
  const v1::WorkerCancel cancel = peer->Take(Response::kCancel).cancel();
  EXPECT_EQ(cancel.invocation_id(), id);
  EXPECT_EQ(cancel.reason(), "deadline");
  rig.Call("ns__t");
  EXPECT_THAT(peer->TakeInvocations(), SizeIs(0));
  peer->AnswerText(id, "late");
  EXPECT_THAT(peer->TakeInvocations(), SizeIs(1));
}

TEST(WorkerSession, PassesProgressAndLogsOnWithTheirTextMended) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  rig.Call("ns__t");
  const uint64_t id = peer->TakeInvocations()[0].invocation_id();
  Request progress;
  progress.mutable_progress()->set_invocation_id(id);
  progress.mutable_progress()->set_progress(3);
  progress.mutable_progress()->set_message("a\xff");
  peer->Send(progress);
  Request log;
  log.mutable_log()->set_invocation_id(id);
  log.mutable_log()->set_level("loud");
  log.mutable_log()->set_message("line");
  peer->Send(log);
  ASSERT_THAT(rig.reporter->progress, SizeIs(1));
  EXPECT_EQ(rig.reporter->progress[0].message(), "a\xEF\xBF\xBD");
  ASSERT_THAT(rig.reporter->lines, SizeIs(1));
  EXPECT_EQ(rig.reporter->lines[0].level(), "info");
  progress.mutable_progress()->set_invocation_id(id + 1);
  peer->Send(progress);
  EXPECT_EQ(peer->session->ignored(), 1u);
}

TEST(WorkerSession, PingsAfterSilenceAndGivesUpAfterTheTimeout) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  const auto running = rig.Call("ns__t");
  peer->TakeInvocations();
  rig.timers.Advance(absl::Seconds(9));
  EXPECT_FALSE(peer->Has(Response::kPing));
  rig.timers.Advance(absl::Seconds(2));
  EXPECT_TRUE(peer->Has(Response::kPing));
  EXPECT_EQ(running->times, 0);
  rig.timers.Advance(absl::Seconds(5));
  EXPECT_EQ(ReasonOf(running->status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  ASSERT_TRUE(peer->stream->finished.has_value());
  EXPECT_EQ(ReasonOf(*peer->stream->finished), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
}

TEST(WorkerSession, AnyMessageIsASignOfLife) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  for (int i = 0; i < 20; ++i) {
    rig.timers.Advance(absl::Seconds(6));
    Request pong;
    pong.mutable_pong();
    peer->Send(pong);
  }
  EXPECT_FALSE(peer->Has(Response::kPing));
  rig.timers.Advance(absl::Seconds(11));
  EXPECT_TRUE(peer->Has(Response::kPing));
  Request pong;
  pong.mutable_pong();
  peer->Send(pong);
  rig.timers.Advance(absl::Seconds(6));
  EXPECT_FALSE(peer->stream->finished.has_value());
}

TEST(WorkerSession, BreaksOffWhenTheLastWriteIsNeverRead) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  peer->stream->hold_writes = true;
  rig.Call("ns__t");
  rig.timers.Advance(absl::Seconds(30));
  EXPECT_FALSE(peer->stream->finished.has_value());
  EXPECT_TRUE(peer->stream->aborted);
  peer->stream->Release(false);
  EXPECT_TRUE(peer->stream->finished.has_value());
}

TEST(WorkerSession, ALostStreamTellsWhatRanFromWhatDidNot) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1);
  const auto running = rig.Call("ns__t");
  const auto waiting = rig.Call("ns__t");
  peer->session->OnBroken();
  EXPECT_EQ(ReasonOf(running->status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_FALSE(SurelyNotExecuted(running->status()));
  EXPECT_EQ(ReasonOf(waiting->status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_TRUE(SurelyNotExecuted(waiting->status()));
  const auto later = rig.Call("ns__t");
  EXPECT_EQ(ReasonOf(later->status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_EQ(running->times + waiting->times + later->times, 3);
}

TEST(WorkerSession, ACallWhoseWriteIsHeldCountsAsGiven) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 10);
  peer->stream->hold_writes = true;
  const auto given = rig.Call("ns__t");
  const auto waiting = rig.Call("ns__t");
  peer->session->OnBroken();
  EXPECT_EQ(ReasonOf(given->status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(ReasonOf(waiting->status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
}

TEST(WorkerSession, AWorkerThatDrainsFinishesWhatItHas) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")}, 1);
  const auto running = rig.Call("ns__t");
  const auto waiting = rig.Call("ns__t");
  const uint64_t id = peer->TakeInvocations()[0].invocation_id();
  Request draining;
  draining.mutable_draining()->set_reason("bye");
  peer->Send(draining);
  rig.executor.RunAll();
  EXPECT_EQ(ReasonOf(waiting->status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_UNAVAILABLE);
  peer->AnswerText(id, "finished");
  EXPECT_EQ(running->text(), "finished");
  EXPECT_THAT(peer->TakeInvocations(), SizeIs(0));
  peer->session->OnReadsDone();
  ASSERT_TRUE(peer->stream->finished.has_value());
  EXPECT_TRUE(peer->stream->finished->ok());
}

TEST(WorkerSession, EndsAWorkerThatPilesUpSets) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  for (uint64_t i = 0; i < 5000 && !peer->stream->finished.has_value(); ++i)
    peer->Publish("ns", {}, 1);  // the same generation again and again
  ASSERT_TRUE(peer->stream->finished.has_value());
  EXPECT_THAT(Message(*peer->stream->finished), HasSubstr("sets wait to be put in place"));
}

}  // namespace
}  // namespace toolrack
