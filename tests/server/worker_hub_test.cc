// Sets, take-over, grace and draining, over several streams.
#include "server/backends/worker_hub.h"

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
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(WorkerSets, AreAnsweredToolByTool) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  v1::Tool bad_schema = WorkerTool("bad_schema");
  bad_schema.set_input_schema(R"({"type":"array"})");
  peer->Publish("ns", {WorkerTool("good"), bad_schema, WorkerTool("bad name")});
  rig.executor.RunAll();
  const v1::WorkerPublished published = peer->TakePublished();
  EXPECT_EQ(published.namespace_(), "ns");
  EXPECT_EQ(published.generation(), 1u);
  EXPECT_EQ(published.revision(), rig.registry.snapshot()->revision());
  EXPECT_THAT(published.accepted(), ElementsAre("good"));
  ASSERT_THAT(published.quarantined(), SizeIs(1));
  EXPECT_EQ(published.quarantined(0).name(), "bad_schema");
  EXPECT_THAT(published.quarantined(0).reasons(0), HasSubstr("/input_schema"));
  EXPECT_THAT(published.quarantined(0).findings(), ::testing::Not(IsEmpty()));
  ASSERT_THAT(published.rejected(), SizeIs(1));
  EXPECT_EQ(published.rejected(0).name(), "bad name");
  EXPECT_EQ(published.refusal(), "");
  EXPECT_EQ(rig.StateOf("ns__good"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rig.StateOf("ns__bad_schema"), v1::TOOL_STATE_QUARANTINED);
}

TEST(WorkerSets, OneFaultRefusesAnAtomicSetAndTheOldOneStays) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("old")});
  peer->TakePublished();
  peer->Publish("ns", {WorkerTool("new"), WorkerTool("bad name")}, 2, v1::PUBLISH_MODE_ATOMIC);
  rig.executor.RunAll();
  const v1::WorkerPublished published = peer->TakePublished();
  EXPECT_THAT(published.accepted(), IsEmpty());
  EXPECT_THAT(published.rejected(), SizeIs(1));
  EXPECT_EQ(rig.StateOf("ns__old"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rig.Entry("ns__new"), nullptr);
}

TEST(WorkerSets, ComeInChunksOfOneGeneration) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  peer->Publish("ns", {WorkerTool("a")}, 3, v1::PUBLISH_MODE_ATOMIC, /*commit=*/false);
  peer->Publish("other", {WorkerTool("x")}, 1, v1::PUBLISH_MODE_ATOMIC, /*commit=*/false);
  peer->Publish("ns", {WorkerTool("b")}, 3, v1::PUBLISH_MODE_ATOMIC, /*commit=*/true);
  rig.executor.RunAll();
  EXPECT_THAT(peer->TakePublished().accepted(), ElementsAre("a", "b"));
  EXPECT_EQ(rig.Entry("other__x"), nullptr);
  peer->Publish("other", {}, 1, v1::PUBLISH_MODE_ATOMIC, /*commit=*/true);
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("other__x"), v1::TOOL_STATE_ACTIVE);
}

TEST(WorkerSets, AGenerationThatIsNotNewerIsRefused) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("a")});
  peer->TakePublished();
  peer->Publish("ns", {WorkerTool("b")}, 1);
  rig.executor.RunAll();
  const v1::WorkerPublished published = peer->TakePublished();
  EXPECT_EQ(published.refusal(), "generation 1 is not newer than 1, the last committed one");
  ASSERT_THAT(published.rejected(), SizeIs(1));
  EXPECT_EQ(published.rejected(0).name(), "b");
  EXPECT_EQ(published.rejected(0).reasons(0), published.refusal());
  EXPECT_EQ(rig.StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
}

TEST(WorkerSets, ANewGenerationGivesUpTheOpenOneAndSaysSo) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  peer->Publish("ns", {WorkerTool("a")}, 1, v1::PUBLISH_MODE_ATOMIC, /*commit=*/false);
  peer->Publish("ns", {WorkerTool("b")}, 2);
  rig.executor.RunAll();
  const v1::WorkerPublished first = peer->TakePublished();
  EXPECT_EQ(first.generation(), 1u);
  EXPECT_EQ(first.refusal(), "generation 1 was given up: generation 2 began before its commit");
  const v1::WorkerPublished second = peer->TakePublished();
  EXPECT_EQ(second.generation(), 2u);
  EXPECT_THAT(second.accepted(), ElementsAre("b"));
}

TEST(WorkerSets, TooManyToolsAreRefusedAcrossNamespaces) {
  WorkerHubOptions options;
  options.limits.set_max_tools_per_worker(3);
  WorkerRig rig(options);
  auto peer = rig.Worker("w", "ns", {WorkerTool("a"), WorkerTool("b")});
  peer->TakePublished();
  peer->Publish("more", {WorkerTool("c"), WorkerTool("d")}, 1);
  rig.executor.RunAll();
  EXPECT_THAT(peer->TakePublished().refusal(), HasSubstr("max_tools_per_worker allows 3"));
  peer->Publish("ns", {WorkerTool("a")}, 2);
  peer->Publish("more", {WorkerTool("c"), WorkerTool("d")}, 2);
  rig.executor.RunAll();
  EXPECT_EQ(peer->TakePublished().refusal(), "");
  EXPECT_THAT(peer->TakePublished().accepted(), ElementsAre("c", "d"));
}

TEST(WorkerSets, AWithdrawTakesTheNamespaceBack) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("a")});
  peer->TakePublished();
  Request withdraw;
  withdraw.mutable_withdraw()->set_namespace_("ns");
  peer->Send(withdraw);
  rig.executor.RunAll();
  const v1::WorkerPublished published = peer->TakePublished();
  EXPECT_EQ(published.generation(), 0u);
  EXPECT_EQ(published.refusal(), "");
  EXPECT_EQ(rig.Entry("ns__a"), nullptr);
}

TEST(WorkerSets, ABadNamespaceRefusesTheWholeSet) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  peer->Publish("Not_Legal", {WorkerTool("a")});
  rig.executor.RunAll();
  const v1::WorkerPublished published = peer->TakePublished();
  EXPECT_THAT(published.refusal(), HasSubstr("Not_Legal"));
  EXPECT_THAT(published.rejected(), SizeIs(1));
}

TEST(WorkerSets, AWorkersToolsNeedANamespace) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "", {WorkerTool("t")});
  EXPECT_THAT(peer->TakePublished().refusal(), HasSubstr("need a namespace"));
  EXPECT_EQ(rig.Entry("t"), nullptr);
}

TEST(WorkerSets, ANamespaceOfAnotherPrincipalIsRefusedNamingTheOwner) {
  WorkerRig rig;
  auto owner = rig.Worker("w", "ns", {WorkerTool("a")}, 0, "uid:1");
  auto thief = rig.Worker("w", "ns", {WorkerTool("b")}, 0, "uid:2");
  const v1::WorkerPublished published = thief->TakePublished();
  EXPECT_THAT(published.refusal(), HasSubstr("worker:w of uid:1"));
  EXPECT_FALSE(owner->Has(Response::kDrain));
  EXPECT_EQ(rig.StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rig.Entry("ns__b"), nullptr);
}

TEST(WorkerSets, ALongAnswerComesInSeveralMessages) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  std::vector<v1::Tool> tools;
  for (int i = 0; i < 3000; ++i)
    tools.push_back(WorkerTool(absl::StrCat("bad name with quite a long text in it ", i)));
  peer->Publish("ns", tools);
  rig.executor.RunAll();
  int messages = 0;
  int rejected = 0;
  bool more = true;
  while (more) {
    ASSERT_TRUE(peer->Has(Response::kPublished));
    const v1::WorkerPublished part = peer->TakePublished();
    EXPECT_LT(part.ByteSizeLong(), size_t{300 << 10});
    rejected += part.rejected_size();
    more = part.more();
    ++messages;
  }
  EXPECT_EQ(rejected, 3000);
  EXPECT_GT(messages, 1);
}

TEST(WorkerSets, ToolsWithTextThatIsNotUtf8AreRejectedAlone) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  Request request;
  request.mutable_publish()->set_namespace_("ns");
  request.mutable_publish()->set_generation(1);
  request.mutable_publish()->set_mode(v1::PUBLISH_MODE_BEST_EFFORT);
  request.mutable_publish()->set_commit(true);
  *request.mutable_publish()->add_tools() = WorkerTool("good");
  *request.mutable_publish()->add_tools() = WorkerTool("bad", "caf@ au lait");
  std::string bytes = request.SerializeAsString();
  bytes[bytes.find('@')] = '\xe9';
  peer->SendBytes(bytes);
  rig.executor.RunAll();
  const v1::WorkerPublished published = peer->TakePublished();
  EXPECT_THAT(published.accepted(), ElementsAre("good"));
  ASSERT_THAT(published.rejected(), SizeIs(1));
  EXPECT_EQ(published.rejected(0).name(), "bad");
  EXPECT_THAT(published.rejected(0).reasons(0),
              HasSubstr("/description: the text is not UTF-8 (byte 3)"));
  EXPECT_EQ(published.rejected(0).findings(0).rule(), "not_utf8");
}

TEST(WorkerSets, AreNotPutInPlaceForAWorkerThatIsGone) {
  WorkerRig rig;
  auto peer = rig.Connect();
  peer->Hello("w");
  peer->Publish("ns", {WorkerTool("a")});
  peer->session->OnBroken();
  rig.executor.RunAll();
  EXPECT_EQ(rig.Entry("ns__a"), nullptr);
  EXPECT_THAT(rig.hub->List(), IsEmpty());
}

TEST(WorkerSets, WaitWhileTheExecutorIsFull) {
  WorkerRig rig;
  ManualExecutor tiny(1);
  WorkerHub hub({&rig.registry, &rig.timers, &rig.clock, &tiny}, {});
  ASSERT_TRUE(tiny.Post([] {}));
  Peer peer(hub.state(), "uid:1");
  peer.Hello("w");
  peer.Publish("ns", {WorkerTool("a")});
  EXPECT_TRUE(tiny.RunOne());
  EXPECT_FALSE(tiny.RunOne());
  rig.timers.Advance(absl::Milliseconds(50));
  EXPECT_TRUE(tiny.RunOne());
  EXPECT_EQ(rig.StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
}

TEST(WorkerHub, ALostWorkersToolsAreUnavailableAtOnceAndGoneAfterTheGrace) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  peer->session->OnBroken();
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_UNAVAILABLE);
  EXPECT_EQ(rig.hub->List()[0].state(), "lost");
  EXPECT_EQ(rig.hub->attached(), 0u);
  rig.timers.Advance(absl::Seconds(29));
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_UNAVAILABLE);
  rig.timers.Advance(absl::Seconds(2));
  rig.executor.RunAll();
  EXPECT_EQ(rig.Entry("ns__t"), nullptr);
  EXPECT_THAT(rig.hub->List(), IsEmpty());
}

TEST(WorkerHub, ComingBackWithinTheGraceChangesNoDefinition) {
  WorkerRig rig;
  auto first = rig.Worker("w", "ns", {WorkerTool("t"), WorkerTool("u")});
  const uint64_t definitions = rig.registry.snapshot()->definitions_revision();
  auto watch = rig.registry.Watch(rig.registry.snapshot()->revision(), 100, [] {});
  ASSERT_NE(watch, nullptr);
  first->session->OnBroken();
  rig.executor.RunAll();
  rig.timers.Advance(absl::Seconds(10));
  auto second = rig.Worker("w", "ns", {WorkerTool("t"), WorkerTool("u")});
  EXPECT_THAT(second->TakePublished().accepted(), ElementsAre("t", "u"));
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_THAT(rig.hub->List(), SizeIs(1));
  rig.timers.Advance(absl::Seconds(5));
  second->Send([] {
    Request pong;
    pong.mutable_pong();
    return pong;
  }());
  rig.timers.Advance(absl::Seconds(5));
  rig.executor.RunAll();
  EXPECT_EQ(rig.registry.snapshot()->definitions_revision(), definitions);
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
  int events = 0;
  while (const auto changes = watch->Next()) {
    for (const RegistryChange& change : changes->changes) {
      EXPECT_EQ(change.kind, RegistryChange::Kind::kState) << change.name;
      ++events;
    }
  }
  EXPECT_EQ(events, 4);
}

TEST(WorkerHub, ASuccessorTakesOverAndTheOldStreamFinishesItsCalls) {
  WorkerRig rig;
  auto old = rig.Worker("w", "ns", {WorkerTool("t", "Old.")});
  const auto running = rig.Call("ns__t");
  const uint64_t id = old->TakeInvocations()[0].invocation_id();

  auto successor = rig.Connect();
  successor->Hello("w");
  EXPECT_TRUE(old->Has(Response::kDrain));
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
  successor->Publish("ns", {WorkerTool("t", "New.")});
  rig.executor.RunAll();
  EXPECT_EQ(rig.Entry("ns__t")->definition->tool.description(), "New.");
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);

  const auto fresh = rig.Call("ns__t");
  EXPECT_THAT(successor->TakeInvocations(), SizeIs(1));
  EXPECT_FALSE(old->stream->finished.has_value());
  old->AnswerText(id, "from the old one");
  EXPECT_EQ(running->text(), "from the old one");
  ASSERT_TRUE(old->stream->finished.has_value());
  EXPECT_EQ(ReasonOf(*old->stream->finished), v1::ERROR_REASON_REPLACED);
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
  ASSERT_THAT(rig.hub->List(), SizeIs(1));
  EXPECT_EQ(rig.hub->List()[0].state(), "attached");
}

TEST(WorkerHub, WhatTheSuccessorDoesNotPublishGoesTheWayOfALostWorker) {
  WorkerRig rig;
  auto old = rig.Worker("w", "kept", {WorkerTool("t")});
  old->Publish("dropped", {WorkerTool("t")});
  rig.executor.RunAll();
  auto successor = rig.Worker("w", "kept", {WorkerTool("t")});
  EXPECT_FALSE(old->stream->finished.has_value());
  rig.timers.Advance(absl::Seconds(3));
  rig.executor.RunAll();
  ASSERT_TRUE(old->stream->finished.has_value());
  EXPECT_EQ(ReasonOf(*old->stream->finished), v1::ERROR_REASON_REPLACED);
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("kept__t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rig.StateOf("dropped__t"), v1::TOOL_STATE_UNAVAILABLE);
  for (int i = 0; i < 5; ++i) {
    rig.timers.Advance(absl::Seconds(7));
    Request pong;
    pong.mutable_pong();
    successor->Send(pong);
    rig.executor.RunAll();
  }
  EXPECT_EQ(rig.Entry("dropped__t"), nullptr);
  EXPECT_EQ(rig.StateOf("kept__t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_THAT(rig.hub->List(), SizeIs(1));
}

TEST(WorkerHub, ASlowSuccessorIsWaitedForWithinTheGrace) {
  WorkerRig rig;
  auto old = rig.Worker("w", "ns", {WorkerTool("t")});
  auto successor = rig.Connect();
  successor->Hello("w");
  rig.timers.Advance(absl::Seconds(9));
  rig.executor.RunAll();
  EXPECT_FALSE(old->stream->finished.has_value());
  rig.Call("ns__t");
  EXPECT_THAT(old->TakeInvocations(), SizeIs(1));
  successor->Publish("ns", {WorkerTool("t")});
  rig.executor.RunAll();
  rig.Call("ns__t");
  EXPECT_THAT(successor->TakeInvocations(), SizeIs(1));
}

TEST(WorkerHub, ASuccessorThatDiesAtItsStartLeavesTheOldStreamServing) {
  WorkerRig rig;
  auto old = rig.Worker("w", "ns", {WorkerTool("t")});
  auto successor = rig.Connect();
  successor->Hello("w");
  successor->session->OnBroken();
  rig.timers.Advance(absl::Seconds(3));
  rig.executor.RunAll();
  EXPECT_FALSE(old->stream->finished.has_value());
  ASSERT_THAT(rig.hub->List(), SizeIs(1));
  EXPECT_EQ(rig.hub->List()[0].state(), "attached");
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
}

TEST(WorkerHub, ALostPredecessorKeepsOnlyWhatWasNotTakenOver) {
  WorkerRig rig;
  auto old = rig.Worker("w", "a", {WorkerTool("t")});
  old->Publish("b", {WorkerTool("t")});
  rig.executor.RunAll();
  old->session->OnBroken();
  rig.executor.RunAll();
  auto successor = rig.Worker("w", "a", {WorkerTool("t")});
  EXPECT_THAT(rig.hub->List(), SizeIs(2));
  EXPECT_EQ(rig.StateOf("a__t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rig.StateOf("b__t"), v1::TOOL_STATE_UNAVAILABLE);
  successor->Publish("b", {WorkerTool("t")});
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("b__t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_THAT(rig.hub->List(), SizeIs(1));
}

TEST(WorkerHub, TheSameNameOfAnotherPrincipalIsAnotherWorker) {
  WorkerRig rig;
  auto one = rig.Worker("w", "one", {WorkerTool("t")}, 0, "uid:1");
  auto two = rig.Worker("w", "two", {WorkerTool("t")}, 0, "uid:2");
  EXPECT_FALSE(one->Has(Response::kDrain));
  EXPECT_THAT(rig.hub->List(), SizeIs(2));
}

TEST(WorkerHub, ReplicasKeepAToolActiveWhenOneIsLost) {
  WorkerRig rig;
  auto one = rig.Worker("w1", "ns", {WorkerTool("t")});
  auto two = rig.Worker("w2", "ns", {WorkerTool("t")});
  ASSERT_EQ(rig.Entry("ns__t")->backends.size(), 2u);
  one->session->OnBroken();
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
  two->session->OnBroken();
  rig.executor.RunAll();
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_UNAVAILABLE);
}

TEST(WorkerHub, RefusesMoreWorkersThanTheLimitButNotATakeOver) {
  WorkerHubOptions options;
  options.workers.set_max_workers(1);
  WorkerRig rig(options);
  auto one = rig.Worker("one", "a", {WorkerTool("t")});
  auto two = rig.Connect();
  two->Hello("two");
  ASSERT_TRUE(two->stream->finished.has_value());
  EXPECT_EQ(ReasonOf(*two->stream->finished), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_FALSE(two->Has(Response::kWelcome));
  auto again = rig.Connect();
  again->Hello("one");
  EXPECT_TRUE(again->Has(Response::kWelcome));
}

TEST(WorkerHub, DrainsOneWorker) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  const auto running = rig.Call("ns__t");
  const uint64_t id = peer->TakeInvocations()[0].invocation_id();
  EXPECT_EQ(ReasonOf(rig.hub->DrainWorker("nobody", absl::Seconds(1))),
            v1::ERROR_REASON_WORKER_NOT_FOUND);
  ASSERT_TRUE(rig.hub->DrainWorker("w", absl::Milliseconds(1500)).ok());
  rig.executor.RunAll();
  const v1::WorkerDrain drain = peer->Take(Response::kDrain).drain();
  EXPECT_EQ(drain.grace().seconds(), 1);
  EXPECT_EQ(drain.grace().nanos(), 500000000);
  EXPECT_EQ(rig.hub->List()[0].state(), "draining");
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_UNAVAILABLE);
  peer->AnswerText(id, "still");
  EXPECT_EQ(running->text(), "still");
}

TEST(WorkerHub, ADrainingDaemonTakesNoNewWorkersAndLetsTheOthersFinish) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  rig.hub->Drain(absl::Seconds(3));
  EXPECT_EQ(peer->Take(Response::kDrain).drain().grace().seconds(), 3);
  EXPECT_EQ(rig.StateOf("ns__t"), v1::TOOL_STATE_ACTIVE);
  auto late = rig.Connect();
  ASSERT_TRUE(late->stream->finished.has_value());
  EXPECT_EQ(ReasonOf(*late->stream->finished), v1::ERROR_REASON_DRAINING);
}

TEST(WorkerHub, ShutdownEndsEveryStreamAndEveryCall) {
  WorkerRig rig;
  auto silent = rig.Connect();
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  const auto running = rig.Call("ns__t");
  rig.hub->Shutdown();
  EXPECT_EQ(ReasonOf(running->status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  for (const Peer* p : {silent.get(), peer.get()}) {
    ASSERT_TRUE(p->stream->finished.has_value());
    EXPECT_EQ(ReasonOf(*p->stream->finished), v1::ERROR_REASON_DRAINING);
  }
}

TEST(WorkerHub, StreamsMayOutliveIt) {
  WorkerRig rig;
  auto peer = rig.Worker("w", "ns", {WorkerTool("t")});
  peer->stream->hold_writes = true;
  rig.Call("ns__t");
  rig.hub = nullptr;
  EXPECT_FALSE(peer->stream->finished.has_value());
  peer->stream->Release(false);
  EXPECT_TRUE(peer->stream->finished.has_value());
  rig.executor.RunAll();
}

}  // namespace
}  // namespace toolrack
