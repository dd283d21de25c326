// The SDKs' bearer tokens: with the right one they get in, without it they say why not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "client/hook.h"
#include "client/worker.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "tests/integration/worker_harness.h"

namespace toolrack {
namespace {

constexpr char kWorkerToken[] = "a worker's token";
constexpr char kHookToken[] = "a hook's token";

// The user of the sockets may only call: whoever registers or hooks needs a token.
v1::Config Config() {
  v1::Config config;
  v1::PrincipalConfig& me = *config.add_principals();
  me.set_name("me");
  me.add_uids(absl::StrCat(::getuid()));
  for (const char* scope : {"call", "admin"}) me.add_scopes(scope);
  v1::PrincipalConfig& worker = *config.add_principals();
  worker.set_name("worker");
  worker.add_token_sha256(Sha256Hex(kWorkerToken));
  worker.add_scopes("register");
  v1::PrincipalConfig& hook = *config.add_principals();
  hook.set_name("hook");
  hook.add_token_sha256(Sha256Hex(kHookToken));
  hook.add_scopes("hook");
  return config;
}

class SdkTokenTest : public testing::Test {
 protected:
  WorkerOptions WorkerWith(const std::string& token) {
    WorkerOptions options;
    options.address = server_.Address("worker");
    options.name = "w";
    options.token = token;
    options.min_backoff = absl::Milliseconds(10);
    options.max_backoff = absl::Milliseconds(100);
    return options;
  }
  HookOptions HookWith(const std::string& token) {
    HookOptions options;
    options.address = server_.Address("control");
    options.name = "h";
    options.token = token;
    options.points = {v1::HOOK_POINT_PRE_CALL};
    options.min_backoff = absl::Milliseconds(10);
    options.max_backoff = absl::Milliseconds(100);
    return options;
  }
  TestServer server_{Config()};
};

TEST_F(SdkTokenTest, AWorkerComesWithItsToken) {
  Worker worker(WorkerWith(kWorkerToken));
  worker.AddTool("ns", PlainTool("t"), [](const WorkerCall&) { return TextOutcome("ran"); });
  ASSERT_TRUE(worker.Start().ok());
  ASSERT_TRUE(worker.WaitUntilPublished(kHung));
  SideCall call(server_, "ns__t");
  EXPECT_EQ(call.Text(), "ran");
  v1::ListWorkersResponse workers;
  ASSERT_TRUE(server_.Admin()->ListWorkers(NewContext().get(), {}, &workers).ok());
  EXPECT_EQ(workers.workers(0).principal(), "worker");
}

TEST_F(SdkTokenTest, WithoutTheScopeAWorkerIsToldWhy) {
  for (const char* token : {"", "wrong", kHookToken}) {
    Worker worker(WorkerWith(token));
    worker.AddTool("ns", PlainTool("t"), [](const WorkerCall&) { return TextOutcome("ran"); });
    ASSERT_TRUE(worker.Start().ok());
    const absl::Status end = worker.Wait();
    EXPECT_TRUE(absl::IsPermissionDenied(end) || absl::IsUnauthenticated(end)) << token << end;
  }
}

TEST_F(SdkTokenTest, AHookComesWithItsToken) {
  HookClient hook(HookWith(kHookToken),
                  [](const v1::HookEvent&, const v1::Tool&) { return DenyCall("not today"); });
  ASSERT_TRUE(hook.Start().ok());
  ASSERT_TRUE(hook.WaitUntilAttached(kHung));
  SideCall call(server_, "counter");
  EXPECT_EQ(ReasonOf(call.Status()), v1::ERROR_REASON_HOOK_DENIED);
  hook.Stop();
}

TEST_F(SdkTokenTest, WithoutTheScopeAHookIsToldWhy) {
  for (const char* token : {"", "wrong", kWorkerToken}) {
    HookClient hook(HookWith(token),
                    [](const v1::HookEvent&, const v1::Tool&) { return PassCall(); });
    ASSERT_TRUE(hook.Start().ok());
    const absl::Status end = hook.Wait();
    EXPECT_TRUE(absl::IsPermissionDenied(end) || absl::IsUnauthenticated(end)) << token << end;
  }
}

TEST_F(SdkTokenTest, ACallerComesWithItsToken) {
  const std::unique_ptr<Client> client = Client::Make(server_.Address("agent"));
  RequestOptions options;
  options.token = kHookToken;  // of a principal that may not call
  v1::CallToolRequest request;
  request.set_name("counter");
  EXPECT_TRUE(absl::IsPermissionDenied(client->CallTool(request, options).status()));
  EXPECT_TRUE(client->CallTool(request).ok());
}

}  // namespace
}  // namespace toolrack
