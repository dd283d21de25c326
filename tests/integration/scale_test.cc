// Ten thousand calls that wait cost no thread.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "tests/testing/daemon_process.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

int ThreadsOf(pid_t pid) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  int threads = 0;
  while (std::getline(in, line)) {
    if (!absl::StartsWith(line, "Threads:")) continue;
    EXPECT_TRUE(absl::SimpleAtoi(line.substr(8), &threads));
  }
  return threads;
}

// No deadline of its own: a call that ended before all have started would spoil the count.
struct Sleeping {
  std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
  v1::CallToolRequest request;
  v1::CallToolResponse response;
  grpc::Status status;
};

TEST(Scale, TenThousandSleepingCallsNeedNoFurtherThread) {
  constexpr int kCalls = 10000, kChannels = 20;
  auto daemon = DaemonProcess::Serve({"--log-level", "warning"});
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  std::vector<std::unique_ptr<v1::ToolService::Stub>> stubs;
  for (int i = 0; i < kChannels; ++i) {
    stubs.push_back(v1::ToolService::NewStub(daemon->Channel("agent")));
  }
  auto admin = v1::AdminService::NewStub(daemon->Channel("control"));
  const auto in_flight = [&admin] {
    v1::GetStatusResponse status;
    EXPECT_TRUE(admin->GetStatus(NewContext().get(), {}, &status).ok());
    return status.calls_in_flight();
  };

  std::vector<Sleeping> calls(kCalls);
  absl::BlockingCounter ended(kCalls);
  const auto start = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      calls[i].request.set_name("sleep");
      calls[i].request.set_arguments_json(R"({"seconds":3000})");
      stubs[i % kChannels]->async()->CallTool(calls[i].context.get(), &calls[i].request,
                                              &calls[i].response,
                                              [&calls, &ended, i](grpc::Status status) {
                                                calls[i].status = std::move(status);
                                                ended.DecrementCount();
                                              });
    }
    const absl::Time end = absl::Now() + 3 * kHung;
    while (in_flight() < static_cast<uint64_t>(to) && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    EXPECT_EQ(in_flight(), static_cast<uint64_t>(to));
  };
  // Half of them first: gRPC brings up the few threads of its own pools as load comes.
  start(0, kCalls / 2);
  const int few = ThreadsOf(daemon->pid());
  start(kCalls / 2, kCalls);
  const int many = ThreadsOf(daemon->pid());
  EXPECT_LE(many, few);
  // One more is refused by its limit, not by falling over.
  v1::CallToolRequest request;
  request.set_name("sleep");
  request.set_arguments_json(R"({"seconds":0})");
  v1::CallToolResponse response;
  const grpc::Status over = stubs[0]->CallTool(NewContext().get(), request, &response);
  EXPECT_EQ(over.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << over.error_message();

  for (Sleeping& call : calls) call.context->TryCancel();
  ended.Wait();
  for (const Sleeping& call : calls) {
    ASSERT_EQ(call.status.error_code(), grpc::StatusCode::CANCELLED) << call.status.error_message();
  }
  while (in_flight() > 0) absl::SleepFor(absl::Milliseconds(20));
  ASSERT_TRUE(stubs[0]->CallTool(NewContext().get(), request, &response).ok());
}

}  // namespace
}  // namespace toolrack
