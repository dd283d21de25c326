// The worker row of the backend contract: the SDK's worker over a real stream to a real daemon.
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "client/worker.h"
#include "tests/contract/backend_contract.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

class WorkerFixture : public BackendFixture {
 public:
  WorkerFixture() {
    WorkerOptions options;
    options.address = server_.Address("worker");
    options.name = "contract";
    options.max_in_flight = 1000;
    worker_ = std::make_unique<Worker>(options);
    worker_->AddTool("contract", Definition("echo"),
                     [](const WorkerCall& call) { return TextOutcome(call.arguments_json()); });
    worker_->AddTool("contract", Definition("fails"), [](const WorkerCall&) -> WorkerOutcome {
      return absl::InvalidArgumentError("never");
    });
    worker_->AddAsyncTool("contract", Definition("holds"),
                          [this](std::shared_ptr<const WorkerCall>, WorkerDone done) {
                            {
                              absl::MutexLock lock(&mu_);
                              if (!released_) {
                                dones_.push_back(std::move(done));
                                return;
                              }
                            }
                            done(TextOutcome("released"));
                          });
    EXPECT_TRUE(worker_->Start().ok());
    EXPECT_TRUE(worker_->WaitUntilPublished(kHung));
    backend_ = server_->registry().snapshot()->Get("contract__echo")->backends[0];
  }
  ~WorkerFixture() override { worker_ = nullptr; }

  Registry& registry() override { return server_->registry(); }
  std::shared_ptr<Backend> backend() override { return backend_; }
  std::string NameOf(const std::string& bare) override { return "contract__" + bare; }
  bool Lose() override {
    {
      absl::MutexLock lock(&mu_);
      const auto held = [this] { return !dones_.empty(); };
      EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&held), kHung));
    }
    // With a call in the air the stream is broken off.
    worker_->Stop(absl::ZeroDuration());
    return true;
  }
  void Release() override {
    std::vector<WorkerDone> dones;
    {
      absl::MutexLock lock(&mu_);
      released_ = true;
      dones.swap(dones_);
    }
    for (WorkerDone& done : dones) done(TextOutcome("released"));
  }

 private:
  static v1::Tool Definition(const std::string& name) {
    v1::Tool tool;
    tool.set_name(name);
    tool.set_description("Of the contract.");
    tool.set_input_schema(R"({"type":"object"})");
    return tool;
  }

  TestServer server_;
  absl::Mutex mu_;
  bool released_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<WorkerDone> dones_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<Backend> backend_;
};

std::unique_ptr<BackendFixture> MakeWorker() { return std::make_unique<WorkerFixture>(); }

INSTANTIATE_TEST_SUITE_P(Worker, BackendContract,
                         testing::Values(BackendMaker{"worker", &MakeWorker}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace toolrack
