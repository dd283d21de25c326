// Threads against each other, without gRPC: for the thread sanitizer, and for "exactly once".
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "registry/base/errors.h"
#include "server/backends/worker_backend.h"
#include "tests/server/worker_rig.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

// Writes on a thread of its own, as gRPC would, and answers every invocation it is given.
class AnsweringStream : public WorkerTransport {
 public:
  // After the session is over.
  void Join() {
    thread_.join();
    session_ = nullptr;
  }
  void Begin(std::shared_ptr<WorkerSession> session) {
    session_ = std::move(session);
    thread_ = std::thread([this] { Run(); });
  }
  void Write(const v1::WorkerServiceAttachResponse& message) override {
    absl::MutexLock lock(&mu_);
    written_.push_back(message);
  }
  void Finish(absl::Status) override {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  void Abort() override {}

 private:
  bool HasWork() const { return stop_ || !written_.empty(); }
  void Run() {
    while (true) {
      v1::WorkerServiceAttachResponse message;
      {
        absl::MutexLock lock(&mu_, absl::Condition(this, &AnsweringStream::HasWork));
        if (written_.empty()) return;
        message = std::move(written_.front());
        written_.pop_front();
      }
      session_->OnWriteDone(true);
      WorkerMessage answer;
      for (const auto& invocation : message.invocations().invocations()) {
        v1::WorkerResult* result = answer.request.mutable_results()->add_results();
        result->set_invocation_id(invocation.invocation_id());
        result->mutable_result()->add_content()->mutable_text()->set_text("x");
      }
      if (answer.request.has_results()) session_->OnMessage(answer);
    }
  }

  std::shared_ptr<WorkerSession> session_;  // until Join
  absl::Mutex mu_;
  bool stop_ = false;
  std::deque<v1::WorkerServiceAttachResponse> written_;
  std::thread thread_;
};

TEST(WorkerRace, EveryCallEndsOnceWhenStartsCancelsAnswersAndALossMeet) {
  constexpr int kRounds = 30;
  constexpr int kThreads = 3;
  constexpr int kCalls = 200;
  for (int round = 0; round < kRounds; ++round) {
    WorkerRig rig;
    auto stream = std::make_shared<AnsweringStream>();
    auto session = rig.hub->state().MakeSession("uid:1", stream);
    rig.hub->state().Open(session);
    stream->Begin(session);
    WorkerMessage message;
    message.request.mutable_hello()->set_worker_name("w");
    message.request.mutable_hello()->set_protocol_version(1);
    message.request.mutable_hello()->set_max_in_flight(8);
    session->OnMessage(message);
    message.Clear();
    *message.request.mutable_publish()->add_tools() = WorkerTool("t");
    message.request.mutable_publish()->set_namespace_("ns");
    message.request.mutable_publish()->set_commit(true);
    session->OnMessage(message);
    rig.executor.RunAll();
    const ToolEntryPtr entry = rig.Entry("ns__t");
    ASSERT_NE(entry, nullptr);

    std::vector<std::atomic<int>> ends(kThreads * kCalls);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kCalls; ++i) {
          ToolCall call;
          call.tool = entry;
          call.arguments_json = "{}";
          call.reporter = rig.reporter;
          std::atomic<int>& end = ends[t * kCalls + i];
          const uint64_t number = entry->backends[0]->Start(
              std::move(call), [&end](absl::StatusOr<v1::ToolResult>) { ++end; });
          if (i % 3 == 0) entry->backends[0]->Cancel(number, StopReason::kCaller);
        }
      });
    }
    if (round % 2 == 0) {
      threads.emplace_back([&] { session->OnBroken(); });
    } else {
      threads.emplace_back([&] { session->StopTaking(); });
    }
    for (std::thread& thread : threads) thread.join();
    session->OnReadsDone();
    stream->Join();
    for (std::atomic<int>& end : ends) ASSERT_EQ(end.load(), 1);
    EXPECT_EQ(entry->backends[0]->in_flight(), 0u);
    rig.executor.RunAll();
  }
}

TEST(WorkerRace, TakeOversOnAPoolLeaveOneWorkerWithTheTools) {
  FakeClock clock;
  FakeTimers timers(&clock);
  ThreadPool pool("publish", 2, 10000);
  Registry registry{RegistryOptions{}};
  WorkerHub hub({&registry, &timers, &clock, &pool}, {});
  std::vector<std::unique_ptr<Peer>> peers;
  for (int i = 0; i < 8; ++i) {
    peers.push_back(std::make_unique<Peer>(hub.state(), "uid:1"));
    peers.back()->stream->discard = true;
  }
  std::vector<std::thread> threads;
  for (auto& peer : peers) {
    threads.emplace_back([&peer] {
      peer->Hello("w");
      peer->Publish("a", {WorkerTool("t")});
      peer->Publish("b", {WorkerTool("t")});
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The pool takes nothing more once it is shut down: not before both sets of some worker are
  // there.
  const absl::Time end = absl::Now() + kHung;
  while (absl::Now() < end && (registry.snapshot()->Get("a__t") == nullptr ||
                               registry.snapshot()->Get("b__t") == nullptr)) {
    std::this_thread::yield();
  }
  pool.Shutdown();
  for (const char* name : {"a__t", "b__t"}) {
    const ToolEntryPtr entry = registry.snapshot()->Get(name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_EQ(entry->backends.size(), 1u) << name;
  }
}

}  // namespace
}  // namespace toolrack
