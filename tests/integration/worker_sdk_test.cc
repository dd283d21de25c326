// The worker SDK against a real daemon, in this process and in processes of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "client/typed_worker.h"
#include "client/worker.h"
#include "tests/integration/worker_harness.h"

namespace toolrack {
namespace {

using ::testing::HasSubstr;

WorkerOptions Options(const TestServer& server, const std::string& name) {
  WorkerOptions options;
  options.address = server.Address("worker");
  options.name = name;
  options.min_backoff = absl::Milliseconds(10);
  options.max_backoff = absl::Milliseconds(100);
  return options;
}

struct Sum {
  int64_t a = 0, b = 0;
  static auto Describe() {
    return Fields(Field("a", &Sum::a, "The first"), Field("b", &Sum::b, "The second"));
  }
};

int Threads() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return 0;
}

TEST(WorkerSdk, ServesASynchronousTool) {
  TestServer server;
  Worker worker(Options(server, "w"));
  worker.AddTool("ns", PlainTool("echo"), [](const WorkerCall& call) {
    return TextOutcome(absl::StrCat(call.invocation().tool(), " ", call.arguments_json()));
  });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall call(server, "ns__echo", R"({"big":12345678901234567890})");
  EXPECT_EQ(call.Text(), R"(ns__echo {"big":12345678901234567890})");
}

TEST(WorkerSdk, ServesAnAsynchronousToolAndAnswersForOneThatForgets) {
  TestServer server;
  Worker worker(Options(server, "w"));
  worker.AddAsyncTool(
      "ns", PlainTool("later"), [](std::shared_ptr<const WorkerCall>, WorkerDone done) {
        std::thread([done = std::move(done)]() mutable { done(TextOutcome("later")); }).detach();
      });
  worker.AddAsyncTool("ns", PlainTool("forgets"),
                      [](std::shared_ptr<const WorkerCall>, WorkerDone) {});
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall later(server, "ns__later");
  EXPECT_EQ(later.Text(), "later");
  SideCall forgets(server, "ns__forgets");
  EXPECT_EQ(forgets.response().result().error().reason(), "TOOL_INTERNAL");
}

TEST(WorkerSdk, ErrorsOfAToolBecomeResults) {
  TestServer server;
  Worker worker(Options(server, "w"));
  worker.AddTool("ns", PlainTool("fails"), [](const WorkerCall&) -> WorkerOutcome {
    return absl::NotFoundError("no such file");
  });
  worker.AddTool("ns", PlainTool("picky"), [](const WorkerCall&) -> WorkerOutcome {
    return absl::InvalidArgumentError("not that");
  });
  worker.AddTool("ns", PlainTool("throws"),
                 [](const WorkerCall&) -> WorkerOutcome { throw std::runtime_error("oops"); });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall fails(server, "ns__fails");
  EXPECT_EQ(fails.response().result().error().reason(), "EXECUTION_FAILED");
  EXPECT_EQ(fails.Text(), "no such file");
  SideCall picky(server, "ns__picky");
  EXPECT_EQ(picky.response().result().error().reason(), "TOOL_INVALID_ARGUMENT");
  SideCall throws(server, "ns__throws");
  EXPECT_EQ(throws.response().result().error().reason(), "TOOL_INTERNAL");
  EXPECT_THAT(throws.Text(), HasSubstr("oops"));
}

TEST(WorkerSdk, ServesATypedTool) {
  TestServer server;
  Worker worker(Options(server, "w"));
  AddTypedTool(worker, "ns",
               MakeTool(ToolSpec("sum", "Adds two numbers."),
                        [](const Sum& sum) -> int64_t { return sum.a + sum.b; }));
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall call(server, "ns__sum", R"({"a":9007199254740993,"b":1})");
  EXPECT_EQ(call.response().result().structured_json(), "9007199254740994") << call.Text();
  SideCall wrong(server, "ns__sum", R"({"a":"x","b":1})");
  EXPECT_EQ(ReasonOf(wrong.Status()), v1::ERROR_REASON_ARGUMENTS_INVALID);
}

class Tally {
 public:
  explicit Tally(std::atomic<int>* alive) : alive_(alive) { ++*alive_; }
  ~Tally() { --*alive_; }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  int64_t Add(const Sum& sum) { return total_ += sum.a + sum.b; }
  std::string StateJson() const { return absl::StrCat(total_.load()); }

 private:
  std::atomic<int>* const alive_;
  std::atomic<int64_t> total_{0};
};

// Each session has an instance of its own in the worker's process, made when it opens, gone when it
// closes, also when that happens while the worker is away.
TEST(WorkerSdk, GivesEachSessionAnInstanceOfATypedTool) {
  TestServer server;
  std::atomic<int> alive{0};
  Worker worker(Options(server, "w"));
  const ToolSpec spec = ToolSpec("tally", "Adds up.").PerSession();
  AddTypedTool(worker, "ns", [&alive, spec] {
    return MakeTool(spec, std::make_shared<Tally>(&alive), &Tally::Add)();
  });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  const auto sessions = server.Sessions();
  const auto tools = server.Tools();
  const auto open = [&] {
    v1::Session session;
    EXPECT_TRUE(sessions->OpenSession(NewContext().get(), {}, &session).ok());
    return session.session_id();
  };
  const auto add = [&](const std::string& session) {
    v1::CallToolRequest request;
    request.set_name("ns__tally");
    request.set_arguments_json(R"({"a":1,"b":1})");
    request.set_session_id(session);
    v1::CallToolResponse response;
    const grpc::Status status = tools->CallTool(NewContext().get(), request, &response);
    return status.ok() ? response.result().structured_json() : status.error_message();
  };
  const std::string one = open();
  const std::string two = open();
  EXPECT_EQ(add(one), "2");
  EXPECT_EQ(add(one), "4");
  EXPECT_EQ(add(two), "2");
  EXPECT_EQ(add(""), "2");
  EXPECT_EQ(alive.load(), 3);
  const ToolEntryPtr entry = server->registry().snapshot()->Get("ns__tally");
  EXPECT_EQ(entry->backends[0]->StateJson(*entry, one), "4");
  // The daemon starts anew: its sessions are gone, and so are their instances.
  server.Restart();
  ChangeLog changes(server->registry());
  ASSERT_TRUE(changes.WaitFor("ns__tally", v1::TOOL_STATE_ACTIVE));
  const absl::Time end = absl::Now() + kHung;
  while (alive.load() != 1 && absl::Now() < end) std::this_thread::yield();
  EXPECT_EQ(alive.load(), 1);
}

TEST(WorkerSdk, PublishesALargeSetInChunks) {
  TestServer server;
  Worker worker(Options(server, "w"));
  for (int i = 0; i < 300; ++i) {
    worker.AddTool("ns", PlainTool(absl::StrFormat("t%03d", i), std::string(20000, 'd')),
                   [](const WorkerCall&) { return TextOutcome("x"); });
  }
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  EXPECT_EQ(server->registry().SetsOf(server->registry().snapshot()->Get("ns__t000")->backends[0]),
            (std::vector<std::pair<std::string, size_t>>{{"ns", 300}}));
}

TEST(WorkerSdk, PublishesAgainAndWithdraws) {
  TestServer server;
  ChangeLog changes(server->registry());
  Worker worker(Options(server, "w"));
  const auto handler = [](const WorkerCall&) { return TextOutcome("x"); };
  worker.AddTool("ns", PlainTool("one"), handler);
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(changes.WaitFor("ns__one", v1::TOOL_STATE_ACTIVE));
  worker.AddTool("ns", PlainTool("two"), handler);
  worker.Publish("ns");
  ASSERT_TRUE(changes.WaitFor("ns__two", v1::TOOL_STATE_ACTIVE));
  worker.RemoveNamespace("ns");
  ASSERT_TRUE(changes.WaitFor("ns__one", v1::TOOL_STATE_UNSPECIFIED));
}

TEST(WorkerSdk, AttachesAgainWhenTheDaemonRestarts) {
  TestServer server;
  std::atomic<int> attached{0};
  WorkerOptions options = Options(server, "w");
  options.on_attached = [&attached](const v1::WorkerWelcome&) { ++attached; };
  Worker worker(options);
  worker.AddTool("ns", PlainTool("t"), [](const WorkerCall&) { return TextOutcome("again"); });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  server.Restart();
  ChangeLog changes(server->registry());
  ASSERT_TRUE(changes.WaitFor("ns__t", v1::TOOL_STATE_ACTIVE));
  EXPECT_GE(attached.load(), 2);
  SideCall call(server, "ns__t");
  EXPECT_EQ(call.Text(), "again");
}

TEST(WorkerSdk, GivesUpWhenAnotherTookItsName) {
  TestServer server;
  Worker old(Options(server, "w"));
  const auto handler = [](const WorkerCall&) { return TextOutcome("x"); };
  old.AddTool("ns", PlainTool("t"), handler);
  ASSERT_TRUE(old.Start().ok());
  ASSERT_TRUE(old.WaitUntilPublished(kHung));
  Worker successor(Options(server, "w"));
  successor.AddTool("ns", PlainTool("t"), handler);
  ASSERT_TRUE(successor.Start().ok());
  EXPECT_EQ(ReasonOf(old.Wait()), v1::ERROR_REASON_REPLACED);
  EXPECT_TRUE(successor.WaitUntilPublished(kHung));
  SideCall call(server, "ns__t");
  EXPECT_EQ(call.Text(), "x");
}

TEST(WorkerSdk, GivesUpWhenItIsAtFault) {
  TestServer server;
  Worker worker(Options(server, "not a legal name"));
  ASSERT_TRUE(worker.Start().ok());
  EXPECT_EQ(ReasonOf(worker.Wait()), v1::ERROR_REASON_PROTOCOL_VIOLATION);
  Worker lost(Options(server, ""));
  EXPECT_EQ(lost.Start().code(), absl::StatusCode::kInvalidArgument);
}

TEST(WorkerSdk, StopFinishesTheCallsItHas) {
  TestServer server;
  absl::Notification started, go;
  Worker worker(Options(server, "w"));
  worker.AddTool("ns", PlainTool("t"), [&](const WorkerCall&) {
    started.Notify();
    go.WaitForNotification();
    return TextOutcome("finished");
  });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall call(server, "ns__t");
  started.WaitForNotification();
  ChangeLog changes(server->registry());
  std::thread stopper([&worker] { worker.Stop(kHung); });
  ASSERT_TRUE(changes.WaitFor("ns__t", v1::TOOL_STATE_UNAVAILABLE));
  go.Notify();
  stopper.join();
  EXPECT_EQ(call.Text(), "finished");
  EXPECT_TRUE(worker.Wait().ok());
}

TEST(WorkerSdk, ACancelStopsTheHandler) {
  TestServer server;
  absl::Notification stopped;
  Worker worker(Options(server, "w"));
  worker.AddTool("ns", PlainTool("t"), [&](const WorkerCall& call) {
    const StopToken stop = call.stop();
    absl::Notification stop_came;
    const std::stop_callback callback(stop.std_token(), [&] { stop_came.Notify(); });
    call.Progress(0, 1, "waiting");
    stop_came.WaitForNotification();
    if (stop.reason() == StopReason::kCaller) stopped.Notify();
    return TextOutcome("nobody reads this");
  });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall call(server, "ns__t");
  ASSERT_TRUE(call.WaitForProgress());
  call.Cancel();
  EXPECT_TRUE(stopped.WaitForNotificationWithTimeout(kHung));
}

TEST(WorkerSdk, HoldsTenThousandCallsWithoutAnotherThread) {
  constexpr size_t kCalls = 10000;
  v1::Config config;
  config.mutable_limits()->set_max_streams_per_connection(20000);
  TestServer server(config);
  absl::Mutex mu;
  std::vector<WorkerDone> held;
  WorkerOptions options = Options(server, "w");
  options.max_in_flight = kCalls;
  Worker worker(options);
  worker.AddAsyncTool("ns", PlainTool("t"),
                      [&](std::shared_ptr<const WorkerCall>, WorkerDone done) {
                        absl::MutexLock lock(&mu);
                        held.push_back(std::move(done));
                      });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));

  auto stub = server.Tools();
  std::vector<grpc::ClientContext> contexts(kCalls);
  std::vector<v1::CallToolResponse> responses(kCalls);
  v1::CallToolRequest request;
  request.set_name("ns__t");
  std::atomic<size_t> ok{0};
  size_t done_count = 0;
  int at_half = 0;
  for (size_t i = 0; i < kCalls; ++i) {
    stub->async()->CallTool(&contexts[i], &request, &responses[i], [&](grpc::Status status) {
      if (status.ok()) ++ok;
      absl::MutexLock lock(&mu);
      ++done_count;
    });
    if (i == kCalls / 2) {  // by then gRPC's own pools are up
      absl::MutexLock lock(&mu);
      const auto many = [&held] { return held.size() >= kCalls / 2; };
      ASSERT_TRUE(mu.AwaitWithTimeout(absl::Condition(&many), kHung));
      at_half = Threads();
    }
  }
  std::vector<WorkerDone> all;
  {
    absl::MutexLock lock(&mu);
    const auto full = [&held] { return held.size() == kCalls; };
    ASSERT_TRUE(mu.AwaitWithTimeout(absl::Condition(&full), 3 * kHung)) << held.size();
    all.swap(held);
  }
  EXPECT_LE(Threads(), at_half + 2);  // they may still be settling
  EXPECT_EQ(worker.in_flight(), kCalls);
  for (WorkerDone& done : all) done(TextOutcome("x"));
  absl::MutexLock lock(&mu);
  const auto answered = [&done_count] { return done_count == kCalls; };
  ASSERT_TRUE(mu.AwaitWithTimeout(absl::Condition(&answered), 3 * kHung));
  EXPECT_EQ(ok.load(), kCalls);
}

TEST(WorkerProcess, KilledInMidCallTheOutcomeIsUnknown) {
  TestServer server;
  WorkerProcess process(server.Address("worker"), "victim");
  ASSERT_TRUE(process.started());
  ChangeLog changes(server->registry());
  ASSERT_TRUE(changes.WaitFor("example__launch", v1::TOOL_STATE_ACTIVE));
  SideCall call(server, "example__launch", R"({"seconds":3600})");
  ASSERT_TRUE(call.WaitForProgress());
  process.Signal(SIGKILL);
  EXPECT_EQ(ReasonOf(call.Status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_TRUE(changes.WaitFor("example__launch", v1::TOOL_STATE_UNAVAILABLE));
  WorkerProcess again(server.Address("worker"), "victim");
  ASSERT_TRUE(changes.WaitFor("example__launch", v1::TOOL_STATE_ACTIVE));
  SideCall shout(server, "example__shout", R"({"text":"hello"})");
  EXPECT_EQ(shout.Text(), "HELLO");
}

TEST(WorkerProcess, KilledInAnIdempotentCallTheReplicaRunsIt) {
  TestServer server;
  WorkerProcess process(server.Address("worker"), "victim");
  ChangeLog changes(server->registry());
  ASSERT_TRUE(changes.WaitFor("example__wait", v1::TOOL_STATE_ACTIVE));
  SideCall call(server, "example__wait", R"({"seconds":3600})");
  ASSERT_TRUE(call.WaitForProgress());
  // A replica that does not wait: the same definition, played by hand.
  v1::Tool wait = server->registry().snapshot()->Get("example__wait")->ToProto(v1::TOOL_VIEW_FULL);
  wait.set_name("wait");
  RawWorker replica(server);
  replica.Attach("replica", "example", {wait});
  process.Signal(SIGKILL);
  const v1::Invocation again = replica.TakeInvocation();
  EXPECT_EQ(again.attempt(), 2u);
  replica.AnswerText(again.invocation_id(), "waited");
  EXPECT_EQ(call.Text(), "waited");
}

TEST(WorkerProcess, StoppedItIsFoundAndWokenItComesBack) {
  TestServer server(QuickConfig());
  WorkerProcess process(server.Address("worker"), "sleeper");
  ChangeLog changes(server->registry());
  ASSERT_TRUE(changes.WaitFor("example__launch", v1::TOOL_STATE_ACTIVE));
  SideCall call(server, "example__launch", R"({"seconds":3600})");
  ASSERT_TRUE(call.WaitForProgress());
  const uint64_t definitions = server->registry().snapshot()->definitions_revision();
  process.Signal(SIGSTOP);
  EXPECT_EQ(ReasonOf(call.Status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  ASSERT_TRUE(changes.WaitFor("example__launch", v1::TOOL_STATE_UNAVAILABLE));
  process.Signal(SIGCONT);
  ASSERT_TRUE(changes.WaitFor("example__launch", v1::TOOL_STATE_ACTIVE));
  EXPECT_EQ(server->registry().snapshot()->definitions_revision(), definitions);
}

TEST(WorkerProcess, InterruptedItFinishesAndExitsWithZero) {
  TestServer server;
  WorkerProcess process(server.Address("worker"), "polite");
  ChangeLog changes(server->registry());
  ASSERT_TRUE(changes.WaitFor("example__shout", v1::TOOL_STATE_ACTIVE));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.WaitForExit(), 0);
  EXPECT_TRUE(changes.WaitFor("example__shout", v1::TOOL_STATE_UNAVAILABLE));
}

}  // namespace
}  // namespace toolrack
