// Workers that the test plays by hand, over real streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/worker_harness.h"

namespace toolrack {
namespace {

using Request = v1::WorkerServiceAttachRequest;
using Response = v1::WorkerServiceAttachResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(WorkerStream, ACallGoesThereAndBackByteForByte) {
  TestServer server;
  RawWorker worker(server);
  EXPECT_THAT(worker.Attach("w", "ns", {PlainTool("t")}).accepted(), ElementsAre("t"));
  const std::string arguments =
      R"({ "z": 12345678901234567890, "a": 1.0, "b": 1, "n": 9007199254740993, "e": "é" })";
  SideCall call(server, "ns__t", arguments);
  const v1::Invocation invocation = worker.TakeInvocation();
  EXPECT_EQ(invocation.arguments_json(), arguments);
  EXPECT_EQ(invocation.name(), "t");
  EXPECT_EQ(invocation.attempt(), 1u);
  EXPECT_THAT(invocation.principal(), HasSubstr("uid:"));
  worker.AnswerText(invocation.invocation_id(), "back");
  EXPECT_EQ(call.Text(), "back");
}

TEST(WorkerStream, AnInvalidCallNeverReachesTheWorker) {
  TestServer server;
  RawWorker worker(server);
  v1::Tool strict = PlainTool("t");
  strict.set_input_schema(
      R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})");
  worker.Attach("w", "ns", {strict});
  SideCall wrong(server, "ns__t", R"({"n":"x"})");
  EXPECT_EQ(ReasonOf(wrong.Status()), v1::ERROR_REASON_ARGUMENTS_INVALID);
  SideCall right(server, "ns__t", R"({"n":1})");
  const v1::Invocation invocation = worker.TakeInvocation();
  EXPECT_EQ(invocation.arguments_json(), R"({"n":1})");
  worker.AnswerText(invocation.invocation_id(), "ok");
  EXPECT_EQ(right.Text(), "ok");
}

TEST(WorkerStream, BytesThatAreNotUtf8CostOneToolOnly) {
  TestServer server;
  RawWorker worker(server);
  worker.Hello("w");
  worker.Publish("ns", {PlainTool("good"), PlainTool("bad", "caf\xe9")});
  const v1::WorkerPublished published = worker.Take(Response::kPublished).published();
  EXPECT_THAT(published.accepted(), ElementsAre("good"));
  ASSERT_THAT(published.rejected(), SizeIs(1));
  EXPECT_THAT(published.rejected(0).reasons(0), HasSubstr("/description: the text is not UTF-8"));
  SideCall call(server, "ns__good");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), "still here");
  EXPECT_EQ(call.Text(), "still here");
}

TEST(WorkerStream, BytesThatAreNotUtf8InAResultCostThatCallOnly) {
  TestServer server;
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall bad(server, "ns__t");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), "\xff\xfe");
  EXPECT_EQ(bad.response().result().error().reason(), "TOOL_INTERNAL");
  SideCall good(server, "ns__t");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), "fine");
  EXPECT_EQ(good.Text(), "fine");
}

TEST(WorkerStream, ABrokenOrderEndsTheStreamWithTheReason) {
  TestServer server;
  RawWorker worker(server);
  worker.Publish("ns", {});
  const absl::Status end = worker.WaitForEnd();
  EXPECT_EQ(end.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(end), v1::ERROR_REASON_PROTOCOL_VIOLATION);
  EXPECT_THAT(std::string(end.message()), HasSubstr("publish came before the hello"));
}

TEST(WorkerStream, GarbageEndsTheStreamWithTheReason) {
  TestServer server;
  // A client that sends bytes, as a broken one would.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kHung));
  const auto channel = server.Channel("worker");
  grpc::internal::RpcMethod method("/toolrack.v1.WorkerService/Attach",
                                   grpc::internal::RpcMethod::BIDI_STREAMING, channel);
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          channel.get(), method, &context));
  grpc::Slice slice("\xff\xff\xff\xff garbage");
  stream->Write(grpc::ByteBuffer(&slice, 1));
  grpc::ByteBuffer answer;
  EXPECT_FALSE(stream->Read(&answer));
  const absl::Status end = FromGrpc(stream->Finish());
  EXPECT_EQ(ReasonOf(end), v1::ERROR_REASON_PROTOCOL_VIOLATION);
}

TEST(WorkerStream, AFloodOfAnswersNobodyAskedForHarmsNobody) {
  TestServer server;
  RawWorker flooder(server);
  flooder.Attach("flooder", "flood", {PlainTool("t")});
  RawWorker other(server);
  other.Attach("other", "calm", {PlainTool("t")});
  Request flood;
  for (uint64_t i = 0; i < 1000; ++i) {
    v1::WorkerResult* result = flood.mutable_results()->add_results();
    result->set_invocation_id(1'000'000 + i);
    result->mutable_result()->add_content()->mutable_text()->set_text(std::string(100, 'x'));
  }
  Request progress;
  progress.mutable_progress()->set_invocation_id(77);
  Request log;
  log.mutable_log()->set_message("noise");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(flooder.Send(flood));
    ASSERT_TRUE(flooder.Send(progress));
    ASSERT_TRUE(flooder.Send(log));
  }
  SideCall call(server, "calm__t");
  other.AnswerText(other.TakeInvocation().invocation_id(), "calm");
  EXPECT_EQ(call.Text(), "calm");
  SideCall flooded(server, "flood__t");
  flooder.AnswerText(flooder.TakeInvocation().invocation_id(), "also fine");
  EXPECT_EQ(flooded.Text(), "also fine");
}

TEST(WorkerStream, AResultOverTheLimitCostsItsCallAndAMessageOverTheLimitTheStream) {
  v1::Config config;
  config.mutable_results()->set_max_result_bytes(1 << 20);
  TestServer server(config);
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall large(server, "ns__t");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), std::string(2 << 20, 'x'));
  EXPECT_EQ(large.response().result().error().reason(), "TOOL_INTERNAL");
  EXPECT_THAT(large.Text(), HasSubstr("max_result_bytes"));
  SideCall huge(server, "ns__t");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), std::string(8 << 20, 'x'));
  EXPECT_EQ(ReasonOf(huge.Status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
}

TEST(WorkerStream, ComingBackWithinTheGraceIsNoListChange) {
  TestServer server;
  ChangeLog changes(server->registry());
  auto first = std::make_unique<RawWorker>(server);
  first->Attach("w", "ns", {PlainTool("a"), PlainTool("b")});
  ASSERT_TRUE(changes.WaitFor("ns__a", v1::TOOL_STATE_ACTIVE));
  const uint64_t definitions = server->registry().snapshot()->definitions_revision();
  ChangeLog since(server->registry());
  first->Break();
  ASSERT_TRUE(since.WaitFor("ns__a", v1::TOOL_STATE_UNAVAILABLE));
  SideCall away(server, "ns__a");
  EXPECT_EQ(ReasonOf(away.Status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_TRUE(SurelyNotExecuted(away.Status()));
  RawWorker second(server);
  second.Attach("w", "ns", {PlainTool("a"), PlainTool("b")});
  ASSERT_TRUE(since.WaitFor("ns__a", v1::TOOL_STATE_ACTIVE));
  EXPECT_TRUE(since.OnlyStates());
  EXPECT_EQ(server->registry().snapshot()->definitions_revision(), definitions);
}

TEST(WorkerStream, ToolsOfAWorkerThatStaysAwayAreRemoved) {
  v1::Config config;
  config.mutable_workers()->mutable_worker_grace()->set_nanos(50'000'000);
  TestServer server(config);
  auto worker = std::make_unique<RawWorker>(server);
  worker->Attach("w", "ns", {PlainTool("t")});
  ChangeLog changes(server->registry());
  worker->Break();
  EXPECT_TRUE(changes.WaitFor("ns__t", v1::TOOL_STATE_UNSPECIFIED));
  EXPECT_EQ(changes.Count(RegistryChange::Kind::kRemoved), 1u);
}

TEST(WorkerStream, ARollingUpgradeLosesNoCall) {
  TestServer server;
  RawWorker old(server);
  old.Attach("w", "ns", {PlainTool("t", "Old.")});
  SideCall before(server, "ns__t");
  const v1::Invocation running = old.TakeInvocation();
  RawWorker successor(server);
  successor.Attach("w", "ns", {PlainTool("t", "New.")});
  old.Take(Response::kDrain);
  SideCall after(server, "ns__t");
  successor.AnswerText(successor.TakeInvocation().invocation_id(), "new");
  EXPECT_EQ(after.Text(), "new");
  old.AnswerText(running.invocation_id(), "old");
  EXPECT_EQ(before.Text(), "old");
  EXPECT_EQ(ReasonOf(old.WaitForEnd()), v1::ERROR_REASON_REPLACED);
  EXPECT_EQ(server->registry().snapshot()->Get("ns__t")->definition->tool.description(), "New.");
}

TEST(WorkerStream, ReplicasShareTheLoadByLeastInFlight) {
  TestServer server;
  RawWorker one(server);
  RawWorker two(server);
  one.Attach("one", "ns", {PlainTool("t")});
  two.Attach("two", "ns", {PlainTool("t")});
  std::vector<std::unique_ptr<SideCall>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(std::make_unique<SideCall>(server, "ns__t"));
  // Each gets five; none is answered before all are placed.
  std::vector<uint64_t> first, second;
  for (int i = 0; i < 5; ++i) first.push_back(one.TakeInvocation().invocation_id());
  for (int i = 0; i < 5; ++i) second.push_back(two.TakeInvocation().invocation_id());
  for (uint64_t id : first) one.AnswerText(id, "one");
  for (uint64_t id : second) two.AnswerText(id, "two");
  int ones = 0;
  for (auto& call : calls) ones += call->Text() == "one" ? 1 : 0;
  EXPECT_EQ(ones, 5);
}

TEST(WorkerStream, AnIdempotentCallLostInMidAirRunsOnTheReplica) {
  TestServer server;
  v1::Tool safe = PlainTool("t");
  safe.mutable_annotations()->set_idempotent(true);
  RawWorker one(server);
  one.Attach("one", "ns", {safe});
  SideCall call(server, "ns__t");
  ASSERT_NE(one.TakeInvocation().invocation_id(), 0u);
  RawWorker two(server);
  two.Attach("two", "ns", {safe});
  one.Break();
  const v1::Invocation again = two.TakeInvocation();
  EXPECT_EQ(again.attempt(), 2u);
  two.AnswerText(again.invocation_id(), "second try");
  EXPECT_EQ(call.Text(), "second try");
}

TEST(WorkerStream, ACallThatIsNotIdempotentIsNotTriedAgain) {
  TestServer server;
  RawWorker one(server);
  one.Attach("one", "ns", {PlainTool("t")});
  SideCall call(server, "ns__t");
  ASSERT_NE(one.TakeInvocation().invocation_id(), 0u);
  RawWorker two(server);
  two.Attach("two", "ns", {PlainTool("t")});
  one.Break();
  EXPECT_EQ(ReasonOf(call.Status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_FALSE(two.Has(Response::kInvocations));
}

TEST(WorkerStream, ACallThatWasNotStartedGoesToAReplica) {
  TestServer server;
  RawWorker one(server);
  RawWorker two(server);
  one.Attach("one", "ns", {PlainTool("t")});
  SideCall call(server, "ns__t");
  const v1::Invocation first = one.TakeInvocation();
  two.Attach("two", "ns", {PlainTool("t")});
  Request give_back;
  v1::WorkerResult* result = give_back.mutable_results()->add_results();
  result->set_invocation_id(first.invocation_id());
  result->mutable_failure()->set_code(v1::WORKER_FAILURE_CODE_NOT_STARTED);
  Request draining;
  draining.mutable_draining();
  one.Send(draining);
  one.Send(give_back);
  const v1::Invocation second = two.TakeInvocation();
  EXPECT_EQ(second.call_id(), first.call_id());
  two.AnswerText(second.invocation_id(), "two");
  EXPECT_EQ(call.Text(), "two");
}

TEST(WorkerStream, CreditBoundsTheWorkerAndTheQueueBoundsTheDaemon) {
  v1::Config config;
  config.mutable_limits()->set_max_queue_per_worker(1);
  TestServer server(config);
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")}, /*credit=*/1);
  SideCall one(server, "ns__t");
  const v1::Invocation first = worker.TakeInvocation();
  SideCall two(server, "ns__t");
  ASSERT_TRUE(WaitForWorker(server, [](const v1::WorkerInfo& w) { return w.queued() == 1; }));
  SideCall three(server, "ns__t");
  EXPECT_EQ(ReasonOf(three.Status()), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_TRUE(RetryDelayOf(three.Status()).has_value());
  EXPECT_FALSE(worker.Has(Response::kInvocations));
  worker.AnswerText(first.invocation_id(), "one");
  EXPECT_EQ(one.Text(), "one");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), "two");
  EXPECT_EQ(two.Text(), "two");
}

TEST(WorkerStream, ACancelReachesTheWorker) {
  TestServer server;
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall call(server, "ns__t");
  const v1::Invocation invocation = worker.TakeInvocation();
  call.Cancel();
  const v1::WorkerCancel cancel = worker.Take(Response::kCancel).cancel();
  EXPECT_EQ(cancel.invocation_id(), invocation.invocation_id());
  EXPECT_EQ(cancel.reason(), "caller");
  EXPECT_EQ(call.Status().code(), absl::StatusCode::kCancelled);
}

TEST(WorkerStream, TheDeadlineReachesTheWorkerAndEndsTheCall) {
  TestServer server;
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall call(server, "ns__t", "{}", absl::Milliseconds(300));
  const v1::Invocation invocation = worker.TakeInvocation();
  const absl::Duration remaining = absl::Seconds(invocation.remaining().seconds()) +
                                   absl::Nanoseconds(invocation.remaining().nanos());
  EXPECT_GT(remaining, absl::ZeroDuration());
  EXPECT_LE(remaining, absl::Seconds(1));  // the caller's, which gRPC rounds up, not the default
  EXPECT_EQ(worker.Take(Response::kCancel).cancel().reason(), "deadline");
  EXPECT_EQ(call.Status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(WorkerStream, ADrainedWorkerFinishesWhatItHas) {
  TestServer server;
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall running(server, "ns__t");
  const v1::Invocation invocation = worker.TakeInvocation();
  v1::DrainRequest request;
  request.set_worker_name("w");
  v1::DrainResponse response;
  ASSERT_TRUE(server.Admin()->Drain(NewContext().get(), request, &response).ok());
  EXPECT_TRUE(worker.Take(Response::kDrain).has_drain());
  SideCall late(server, "ns__t");
  EXPECT_EQ(ReasonOf(late.Status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  v1::ListWorkersResponse workers;
  ASSERT_TRUE(server.Admin()->ListWorkers(NewContext().get(), {}, &workers).ok());
  ASSERT_THAT(workers.workers(), SizeIs(1));
  EXPECT_EQ(workers.workers(0).state(), "draining");
  EXPECT_EQ(workers.workers(0).in_flight(), 1u);
  worker.AnswerText(invocation.invocation_id(), "finished");
  EXPECT_EQ(running.Text(), "finished");
}

TEST(WorkerStream, AWorkerIsPingedAndLostWhenItDoesNotAnswer) {
  TestServer server(QuickConfig());
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall call(server, "ns__t");
  ASSERT_NE(worker.TakeInvocation().invocation_id(), 0u);
  EXPECT_TRUE(worker.Take(Response::kPing).has_ping());
  EXPECT_EQ(ReasonOf(call.Status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(ReasonOf(worker.WaitForEnd()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
}

TEST(WorkerStream, ProgressAndLogsReachTheCaller) {
  TestServer server;
  RawWorker worker(server);
  worker.Attach("w", "ns", {PlainTool("t")});
  SideCall call(server, "ns__t");
  const v1::Invocation invocation = worker.TakeInvocation();
  Request progress;
  progress.mutable_progress()->set_invocation_id(invocation.invocation_id());
  progress.mutable_progress()->set_progress(1);
  worker.Send(progress);
  EXPECT_TRUE(call.WaitForProgress());
  worker.AnswerText(invocation.invocation_id(), "done");
  EXPECT_EQ(call.Text(), "done");
}

}  // namespace
}  // namespace toolrack
