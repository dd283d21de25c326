#include "tests/contract/backend_contract.h"

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/call/pipeline.h"
#include "registry/in_process_backend.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

constexpr absl::Duration kHung = absl::Minutes(1);

// The answers of a number of calls; waits for them.
class Answers {
 public:
  ToolDone Done() {
    return [this](absl::StatusOr<v1::ToolResult> outcome) {
      absl::MutexLock lock(&mu_);
      outcomes_.push_back(std::move(outcome));
    };
  }
  size_t count() {
    absl::MutexLock lock(&mu_);
    return outcomes_.size();
  }
  std::vector<absl::StatusOr<v1::ToolResult>> Await(size_t count) {
    absl::MutexLock lock(&mu_);
    wanted_ = count;
    mu_.AwaitWithTimeout(absl::Condition(this, &Answers::Enough), kHung);
    return outcomes_;
  }

 private:
  bool Enough() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return outcomes_.size() >= wanted_; }
  absl::Mutex mu_;
  size_t wanted_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<absl::StatusOr<v1::ToolResult>> outcomes_ ABSL_GUARDED_BY(mu_);
};

class Contract {
 public:
  explicit Contract(const BackendMaker& maker) : fixture(maker.make()) {}

  ToolCall CallOf(const std::string& name, const std::string& arguments, StopToken stop = {}) {
    ToolCall call;
    call.tool = fixture->registry().snapshot()->Get(fixture->NameOf(name));
    call.arguments_json = arguments;
    call.arguments = std::make_shared<const Json>(Json::parse(arguments));
    call.context.call_id = "c" + std::to_string(++calls_);
    call.context.principal = "uid:1";
    call.stop = std::move(stop);
    call.reporter = SilentReporter();
    return call;
  }
  void AwaitIdle() {
    const absl::Time end = absl::Now() + kHung;
    while (fixture->backend()->in_flight() > 0 && absl::Now() < end) std::this_thread::yield();
    EXPECT_EQ(fixture->backend()->in_flight(), 0u);
  }

  std::unique_ptr<BackendFixture> fixture;

 private:
  int calls_ = 0;
};

TEST_P(BackendContract, HasAKindAndAnId) {
  Contract contract(GetParam());
  EXPECT_FALSE(contract.fixture->backend()->kind().empty());
  EXPECT_FALSE(contract.fixture->backend()->id().empty());
  EXPECT_FALSE(contract.fixture->backend()->principal().empty());
  EXPECT_TRUE(contract.fixture->backend()->available());
}

TEST_P(BackendContract, CarriesArgumentsByteForByte) {
  Contract contract(GetParam());
  const std::string arguments =
      R"( {"z":1.0,"a":1,"big":9223372036854775807,"huge":18446744073709551615,"é":"\u00e9"} )";
  Answers answers;
  contract.fixture->backend()->Start(contract.CallOf("echo", arguments), answers.Done());
  const auto outcomes = answers.Await(1);
  ASSERT_EQ(outcomes.size(), 1u);
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].status();
  EXPECT_EQ(outcomes[0]->content(0).text().text(), arguments);
  contract.AwaitIdle();
}

TEST_P(BackendContract, ReportsTheToolsOwnFailure) {
  Contract contract(GetParam());
  Answers answers;
  contract.fixture->backend()->Start(contract.CallOf("fails", "{}"), answers.Done());
  const auto outcomes = answers.Await(1);
  ASSERT_EQ(outcomes.size(), 1u);
  const v1::ToolResult result =
      outcomes[0].ok() ? *outcomes[0] : ResultFromStatus(outcomes[0].status());
  EXPECT_TRUE(outcomes[0].ok() || !IsBackendFailure(outcomes[0].status()));
  EXPECT_EQ(result.error().reason(), "TOOL_INVALID_ARGUMENT");
  contract.AwaitIdle();
}

TEST_P(BackendContract, StartsManyCallsWithoutWaitingForThem) {
  Contract contract(GetParam());
  Answers answers;
  for (int i = 0; i < 50; ++i) {
    const uint64_t number =
        contract.fixture->backend()->Start(contract.CallOf("holds", "{}"), answers.Done());
    EXPECT_NE(number, 0u);
  }
  EXPECT_EQ(contract.fixture->backend()->in_flight(), 50u);
  EXPECT_EQ(answers.count(), 0u);
  contract.fixture->Release();
  for (const auto& outcome : answers.Await(50)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->content(0).text().text(), "released");
  }
  EXPECT_EQ(answers.count(), 50u);
  contract.AwaitIdle();
}

TEST_P(BackendContract, AnswersACancelledCallOnceToo) {
  Contract contract(GetParam());
  Answers answers;
  StopSource stop;
  const uint64_t number = contract.fixture->backend()->Start(
      contract.CallOf("holds", "{}", stop.token()), answers.Done());
  stop.RequestStop(StopReason::kCaller);
  contract.fixture->backend()->Cancel(number, StopReason::kCaller);
  contract.fixture->backend()->Cancel(number + 1000, StopReason::kAdmin);  // unknown: ignored
  contract.fixture->Release();
  EXPECT_EQ(answers.Await(1).size(), 1u);
  contract.AwaitIdle();
  contract.fixture->backend()->Cancel(number, StopReason::kCaller);  // ended: ignored
  EXPECT_EQ(answers.count(), 1u);
}

TEST_P(BackendContract, TakesCallsFromManyThreadsAndEndsEachOnce) {
  Contract contract(GetParam());
  Answers answers;
  std::vector<ToolCall> calls;
  for (int i = 0; i < 400; ++i) calls.push_back(contract.CallOf("echo", "{}"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t * 50; i < (t + 1) * 50; ++i)
        contract.fixture->backend()->Start(std::move(calls[i]), answers.Done());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& outcome : answers.Await(400)) EXPECT_TRUE(outcome.ok()) << outcome.status();
  contract.AwaitIdle();
  EXPECT_EQ(answers.count(), 400u);
}

TEST_P(BackendContract, LostInMidCallItSaysThatTheOutcomeIsUnknown) {
  Contract contract(GetParam());
  Answers lost, refused;
  const std::shared_ptr<Backend> backend = contract.fixture->backend();
  ToolCall later = contract.CallOf("holds", "{}");
  backend->Start(contract.CallOf("holds", "{}"), lost.Done());
  if (!contract.fixture->Lose()) {
    contract.fixture->Release();
    lost.Await(1);
    GTEST_SKIP() << "this kind is lost with the daemon only";
  }
  const auto outcomes = lost.Await(1);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(ReasonOf(outcomes[0].status()), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_FALSE(backend->available());
  EXPECT_EQ(backend->in_flight(), 0u);
  EXPECT_EQ(backend->Start(std::move(later), refused.Done()), 0u);
  const auto after = refused.Await(1);
  EXPECT_EQ(ReasonOf(after[0].status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_TRUE(SurelyNotExecuted(after[0].status()));
}

TEST_P(BackendContract, MayDieBeforeItsCallsAreForgotten) {
  auto contract = std::make_unique<Contract>(GetParam());
  Answers answers;
  contract->fixture->backend()->Start(contract->CallOf("holds", "{}"), answers.Done());
  contract->fixture->Release();
  EXPECT_EQ(answers.Await(1).size(), 1u);
  const std::string name = contract->fixture->NameOf("echo");
  const ToolEntryPtr entry = contract->fixture->registry().snapshot()->Get(name);
  contract.reset();
  EXPECT_EQ(entry->name(), name);
}

// The in-process one.
class InProcessFixture : public BackendFixture {
 public:
  InProcessFixture() : registry_(RegistryOptions()), backend_(InProcessBackend::Make("contract")) {
    std::vector<v1::Tool> tools;
    Add("echo", tools, [](ToolCall call, ToolDone done) { done(TextResult(call.arguments_json)); });
    Add("fails", tools, [](ToolCall, ToolDone done) { done(absl::InvalidArgumentError("never")); });
    Add("holds", tools, [held = held_](ToolCall, ToolDone done) {
      absl::MutexLock lock(&held->mu);
      held->dones.push_back(std::move(done));
    });
    EXPECT_TRUE(registry_.Publish(backend_, "", tools, v1::PUBLISH_MODE_ATOMIC).ok());
  }
  Registry& registry() override { return registry_; }
  std::shared_ptr<Backend> backend() override { return backend_; }
  void Release() override {
    std::vector<ToolDone> dones;
    {
      absl::MutexLock lock(&held_->mu);
      dones.swap(held_->dones);
    }
    for (ToolDone& done : dones) done(TextResult("released"));
  }

 private:
  struct Held {
    absl::Mutex mu;
    std::vector<ToolDone> dones ABSL_GUARDED_BY(mu);
  };
  class FunctionTool : public Tool {
   public:
    explicit FunctionTool(std::function<void(ToolCall, ToolDone)> function)
        : function_(std::move(function)) {}
    void Execute(ToolCall call, ToolDone done) override {
      function_(std::move(call), std::move(done));
    }

   private:
    const std::function<void(ToolCall, ToolDone)> function_;
  };

  void Add(const std::string& name, std::vector<v1::Tool>& tools,
           std::function<void(ToolCall, ToolDone)> function) {
    v1::Tool& tool = tools.emplace_back();
    tool.set_name(name);
    tool.set_description("Of the contract.");
    tool.set_input_schema(R"({"type":"object"})");
    EXPECT_TRUE(backend_->Add(name, std::make_shared<FunctionTool>(std::move(function))));
  }

  const std::shared_ptr<Held> held_ = std::make_shared<Held>();
  Registry registry_;
  std::shared_ptr<InProcessBackend> backend_;
};

std::unique_ptr<BackendFixture> MakeInProcess() { return std::make_unique<InProcessFixture>(); }

INSTANTIATE_TEST_SUITE_P(InProcess, BackendContract,
                         testing::Values(BackendMaker{"in_process", &MakeInProcess}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace toolrack
