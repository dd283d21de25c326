// HookService through real streams: hooks that are killed, slow, flooded, malformed, attached anew.
#include "client/hook.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "client/worker.h"
#include "registry/base/errors.h"
#include "tests/integration/worker_harness.h"
#include "tests/testing/server_fixture.h"
#include "toolrack/v1/hook_service.grpc.pb.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

// A hook played by hand. A thread reads; the test takes what came.
class RawHook {
 public:
  using Request = v1::HookServiceAttachRequest;
  using Response = v1::HookServiceAttachResponse;

  explicit RawHook(const TestServer& server)
      : stub_(v1::HookService::NewStub(server.Channel("control"))),
        stream_(stub_->Attach(&context_)) {
    reader_ = std::thread([this] {
      Response response;
      while (stream_->Read(&response)) {
        absl::MutexLock lock(&mu_);
        came_.push_back(response);
      }
      const grpc::Status status = stream_->Finish();
      absl::MutexLock lock(&mu_);
      status_ = FromGrpc(status);
      ended_ = true;
    });
  }
  ~RawHook() {
    Kill();
    reader_.join();
  }
  void Kill() { context_.TryCancel(); }

  static v1::HookHello Hello(const std::string& name,
                             v1::HookPoint point = v1::HOOK_POINT_PRE_CALL) {
    v1::HookHello hello;
    hello.set_hook_name(name);
    hello.set_protocol_version(1);
    hello.add_points(point);
    hello.mutable_timeout()->set_seconds(60);
    return hello;
  }
  // Whether it was welcome.
  bool Attach(const v1::HookHello& hello) {
    Request request;
    *request.mutable_hello() = hello;
    stream_->Write(request);
    return Take(Response::kWelcome).has_welcome();
  }
  void Verdict(v1::HookVerdict verdict, uint64_t event_id) {
    Request request;
    verdict.set_event_id(event_id);
    *request.mutable_verdict() = std::move(verdict);
    stream_->Write(request);
  }
  v1::HookEvent TakeEvent() { return Take(Response::kEvent).event(); }
  // The next message of this kind; waits for it. An empty one when the stream ended or it hangs.
  Response Take(Response::MessageCase kind) {
    absl::MutexLock lock(&mu_);
    Wanted wanted{this, kind};
    mu_.AwaitWithTimeout(absl::Condition(
                             +[](Wanted* w) { return w->self->HasOrEnded(w->kind); }, &wanted),
                         kHung);
    for (auto at = came_.begin(); at != came_.end(); ++at) {
      if (at->message_case() != kind) continue;
      Response found = std::move(*at);
      came_.erase(at);
      return found;
    }
    return {};
  }
  absl::Status WaitForEnd() {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&ended_), kHung);
    return ended_ ? status_ : absl::UnknownError("it does not end");
  }

 private:
  struct Wanted {
    RawHook* self;
    Response::MessageCase kind;
  };
  bool HasOrEnded(Response::MessageCase kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (ended_) return true;
    for (const Response& message : came_) {
      if (message.message_case() == kind) return true;
    }
    return false;
  }

  grpc::ClientContext context_;
  std::unique_ptr<v1::HookService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
  std::thread reader_;
  absl::Mutex mu_;
  std::deque<Response> came_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

class HookServiceTest : public testing::Test {
 protected:
  using Answer = absl::StatusOr<v1::CallToolResponse>;

  std::future<Answer> Call(const std::string& text = "hi", const std::string& tool = "echo") {
    return std::async(std::launch::async, [this, text, tool]() -> Answer {
      v1::CallToolRequest request;
      request.set_name(tool);
      request.set_arguments_json("{\"text\":\"" + text + "\"}");
      v1::CallToolResponse response;
      const grpc::Status status = tools_->CallTool(NewContext().get(), request, &response);
      if (!status.ok()) return FromGrpc(status);
      return response;
    });
  }
  static std::string TextOf(const Answer& answer) {
    if (!answer.ok()) return std::string(answer.status().message());
    return answer->result().content_size() > 0 ? answer->result().content(0).text().text() : "";
  }
  v1::HookInfo InfoOf(const std::string& name) {
    v1::ListHooksResponse hooks;
    EXPECT_TRUE(server_.Admin()->ListHooks(NewContext().get(), {}, &hooks).ok());
    for (const v1::HookInfo& hook : hooks.hooks()) {
      if (hook.hook_name() == name) return hook;
    }
    return {};
  }

  TestServer server_;
  std::unique_ptr<v1::ToolService::Stub> tools_ = server_.Tools();
};

TEST_F(HookServiceTest, ChangesAnswersAndRefusesCalls) {
  RawHook hook(server_);
  ASSERT_TRUE(hook.Attach(RawHook::Hello("h")));
  auto replaced = Call();
  v1::HookEvent event = hook.TakeEvent();
  EXPECT_EQ(event.tool_name(), "echo");
  EXPECT_EQ(event.call().arguments_json(), R"({"text":"hi"})");
  EXPECT_EQ(hook.Take(RawHook::Response::kTool).tool().digest(), event.digest());
  hook.Verdict(ReplaceCallArguments(R"({"text":"other"})"), event.event_id());
  EXPECT_EQ(TextOf(replaced.get()), "other");

  auto answered = Call();
  hook.Verdict(AnswerCall(TextOutcome("instead")), hook.TakeEvent().event_id());
  EXPECT_EQ(TextOf(answered.get()), "instead");

  auto denied = Call();
  hook.Verdict(DenyCall("no echoes today"), hook.TakeEvent().event_id());
  const absl::Status refusal = denied.get().status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReasonOf(refusal), v1::ERROR_REASON_HOOK_DENIED);
  EXPECT_EQ(MetadataOf(refusal)["hook"], "h");
  EXPECT_EQ(MetadataOf(refusal)["hook_reason"], "no echoes today");

  auto invalid = Call();
  hook.Verdict(ReplaceCallArguments("{\"text\":\"\xff\"}"), hook.TakeEvent().event_id());
  EXPECT_EQ(ReasonOf(invalid.get().status()), v1::ERROR_REASON_ARGUMENTS_NOT_JSON);
  const v1::HookInfo info = InfoOf("h");
  EXPECT_EQ(info.events(), 4u);
  EXPECT_EQ(info.verdicts().at("replace_arguments"), 2u);
  EXPECT_EQ(info.verdicts().at("deny"), 1u);
}

TEST_F(HookServiceTest, AHookKilledInMidVerdictFollowsItsMode) {
  for (const bool closed : {true, false}) {
    auto hook = std::make_unique<RawHook>(server_);
    v1::HookHello hello = RawHook::Hello("h");
    hello.set_failure_mode(closed ? v1::HOOK_FAILURE_MODE_FAIL_CLOSED
                                  : v1::HOOK_FAILURE_MODE_FAIL_OPEN);
    ASSERT_TRUE(hook->Attach(hello));
    auto call = Call();
    hook->TakeEvent();
    hook->Kill();
    const Answer answer = call.get();
    if (closed) {
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(ReasonOf(answer.status()), v1::ERROR_REASON_HOOK_UNAVAILABLE);
      EXPECT_TRUE(SurelyNotExecuted(answer.status()));
    } else {
      EXPECT_EQ(TextOf(answer), "hi");
    }
    hook.reset();
  }
  EXPECT_EQ(TextOf(Call().get()), "hi");
}

TEST_F(HookServiceTest, ASlowHookIsGivenUp) {
  RawHook hook(server_);
  v1::HookHello hello = RawHook::Hello("slow");
  hello.mutable_timeout()->set_seconds(0);
  hello.mutable_timeout()->set_nanos(20'000'000);
  ASSERT_TRUE(hook.Attach(hello));
  const Answer answer = Call().get();
  EXPECT_EQ(ReasonOf(answer.status()), v1::ERROR_REASON_HOOK_UNAVAILABLE);
  EXPECT_THAT(MetadataOf(answer.status())["why"], HasSubstr("20ms"));
  hook.Verdict(PassCall(), hook.TakeEvent().event_id());
  // The stream lives on, and the late verdict is only counted.
  auto next = Call();
  hook.Verdict(PassCall(), hook.TakeEvent().event_id());
  next.get().status().IgnoreError();
  EXPECT_GE(InfoOf("slow").late(), 1u);
}

TEST_F(HookServiceTest, RedactsResultsAndWithholdsThem) {
  RawHook hook(server_);
  ASSERT_TRUE(hook.Attach(RawHook::Hello("h", v1::HOOK_POINT_POST_CALL)));
  auto redacted = Call("secret");
  v1::HookEvent event = hook.TakeEvent();
  EXPECT_EQ(event.result().content(0).text().text(), "secret");
  hook.Verdict(ReplaceCallResult(TextOutcome("[redacted]")), event.event_id());
  EXPECT_EQ(TextOf(redacted.get()), "[redacted]");
  auto withheld = Call("secret");
  hook.Verdict(DenyCall("private"), hook.TakeEvent().event_id());
  const Answer answer = withheld.get();
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->result().error().reason(), "RESULT_WITHHELD");
  EXPECT_EQ(answer->ShortDebugString().find("secret"), std::string::npos);
}

TEST_F(HookServiceTest, OneThatAttachesAnewTakesOver) {
  RawHook first(server_);
  ASSERT_TRUE(first.Attach(RawHook::Hello("h")));
  auto waiting = Call();
  const v1::HookEvent event = first.TakeEvent();
  RawHook second(server_);
  ASSERT_TRUE(second.Attach(RawHook::Hello("h")));
  first.Verdict(PassCall(), event.event_id());
  EXPECT_EQ(TextOf(waiting.get()), "hi");
  EXPECT_EQ(ReasonOf(first.WaitForEnd()), v1::ERROR_REASON_REPLACED);
  auto next = Call();
  second.Verdict(PassCall(), second.TakeEvent().event_id());
  EXPECT_EQ(TextOf(next.get()), "hi");
}

// Bytes that are no message, and a verdict that is none: the stream ends and says so.
TEST_F(HookServiceTest, AMalformedStreamEndsAndItsCallsFail) {
  grpc::GenericStub stub(server_.Channel("control"));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, "/toolrack.v1.HookService/Attach", &queue);
  const auto wait = [&queue] {
    void* tag;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  };
  stream->StartCall(nullptr);
  wait();
  const grpc::Slice slice("\xff\xff\xff");
  stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  wait();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  wait();
  EXPECT_EQ(ReasonOf(FromGrpc(status)), v1::ERROR_REASON_PROTOCOL_VIOLATION);
  queue.Shutdown();

  RawHook hook(server_);
  ASSERT_TRUE(hook.Attach(RawHook::Hello("h")));
  auto call = Call();
  const v1::HookEvent event = hook.TakeEvent();
  hook.Verdict(v1::HookVerdict(), event.event_id());
  EXPECT_EQ(ReasonOf(call.get().status()), v1::ERROR_REASON_HOOK_UNAVAILABLE);
  EXPECT_EQ(InfoOf("h").failed(), 1u);
}

// An observer that never reads delays nobody, and what it misses is counted.
TEST_F(HookServiceTest, AFloodedObserverDelaysNobody) {
  v1::Config config;
  config.mutable_hooks()->set_max_queue(16);
  TestServer server(config);
  const auto stub = v1::HookService::NewStub(server.Channel("control"));
  grpc::ClientContext context;
  const auto stream = stub->Attach(&context);
  RawHook::Request request;
  *request.mutable_hello() = RawHook::Hello("deaf");
  request.mutable_hello()->set_observe_only(true);
  ASSERT_TRUE(stream->Write(request));
  v1::HookServiceAttachResponse response;
  ASSERT_TRUE(stream->Read(&response));  // welcome; nothing more is read
  const auto tools = server.Tools();
  const std::string large(100 << 10, 'x');
  v1::ListHooksResponse hooks;
  for (int i = 0; i < 2000; ++i) {
    v1::CallToolRequest call;
    call.set_name("echo");
    call.set_arguments_json("{\"text\":\"" + large + "\"}");
    v1::CallToolResponse answer;
    ASSERT_TRUE(tools->CallTool(NewContext().get(), call, &answer).ok());
    if (i % 50 != 0) continue;
    ASSERT_TRUE(server.Admin()->ListHooks(NewContext().get(), {}, &hooks).ok());
    if (hooks.hooks(0).dropped() > 0) break;
  }
  EXPECT_GT(hooks.hooks(0).dropped(), 0u);
  context.TryCancel();
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(HookServiceTest, LivesOnControlOnly) {
  const auto stub = v1::HookService::NewStub(server_.Channel("agent"));
  grpc::ClientContext context;
  const auto stream = stub->Attach(&context);
  const absl::Status status = FromGrpc(stream->Finish());
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_WRONG_SOCKET);
  EXPECT_THAT(MetadataOf(status)["socket"], HasSubstr("control.sock"));
}

TEST_F(HookServiceTest, ADryRunIsAskedAndChangesNothing) {
  HookOptions options;
  options.address = server_.Address("control");
  options.name = "dry";
  options.points = {v1::HOOK_POINT_PRE_CALL};
  options.dry_run = true;
  std::atomic<int> real{0};
  HookClient hook(options, [&real](const v1::HookEvent& event, const v1::Tool&) {
    if (!event.dry_run()) ++real;
    return DenyCall("never");
  });
  ASSERT_TRUE(hook.Start().ok());
  ASSERT_TRUE(hook.WaitUntilAttached(kHung));
  v1::ExplainCallRequest request;
  request.set_name("echo");
  request.set_arguments_json(R"({"text":"x"})");
  v1::ExplainCallResponse response;
  ASSERT_TRUE(tools_->ExplainCall(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.verdict().reason(), "HOOK_DENIED");
  EXPECT_EQ(real.load(), 0);
  EXPECT_EQ(InfoOf("dry").events(), 0u);
}

// The daemon ends while calls wait for a hook: each is answered, and the daemon is gone in time.
TEST_F(HookServiceTest, TheDaemonDoesNotWaitForAHookAtItsEnd) {
  RawHook hook(server_);
  v1::HookHello hello = RawHook::Hello("h");
  hello.set_dry_run(true);
  ASSERT_TRUE(hook.Attach(hello));
  auto call = Call();
  hook.TakeEvent();
  std::thread explaining([this] {
    v1::ExplainCallRequest request;
    request.set_name("echo");
    request.set_arguments_json(R"({"text":"x"})");
    v1::ExplainCallResponse response;
    tools_->ExplainCall(NewContext().get(), request, &response).ok();
  });
  hook.TakeEvent();
  server_.Stop();
  EXPECT_FALSE(call.get().ok());
  explaining.join();
}

TEST_F(HookServiceTest, TheSdkComesBackAfterARestart) {
  HookOptions options;
  options.address = server_.Address("control");
  options.name = "sdk";
  options.points = {v1::HOOK_POINT_PRE_CALL};
  options.min_backoff = absl::Milliseconds(10);
  options.max_backoff = absl::Milliseconds(100);
  HookClient hook(options, [](const v1::HookEvent&, const v1::Tool& tool) {
    if (tool.name() == "calculator") throw std::runtime_error("no sums");
    return AnswerCall(TextOutcome("by " + tool.name()));
  });
  ASSERT_TRUE(hook.Start().ok());
  ASSERT_TRUE(hook.WaitUntilAttached(kHung));
  EXPECT_EQ(TextOf(Call().get()), "by echo");
  server_.Restart();
  tools_ = server_.Tools();
  ASSERT_TRUE(hook.WaitUntilAttached(kHung));
  v1::CallToolRequest sum;
  sum.set_name("calculator");
  sum.set_arguments_json(R"({"expression":"1"})");
  v1::CallToolResponse response;
  const absl::Status failed = FromGrpc(tools_->CallTool(NewContext().get(), sum, &response));
  EXPECT_EQ(ReasonOf(failed), v1::ERROR_REASON_HOOK_UNAVAILABLE);
  hook.Stop();
  EXPECT_TRUE(hook.Wait().ok());
}

// The example blacks out what looks like a secret, in texts and in data.
TEST_F(HookServiceTest, TheExampleRedactsSecrets) {
  WorkerProcess redactor(server_.Address("control"), "redactor", "example_redactor");
  ASSERT_TRUE(redactor.started());
  const absl::Time end = absl::Now() + kHung;
  while (InfoOf("redactor").hook_name().empty() && absl::Now() < end) std::this_thread::yield();
  EXPECT_EQ(TextOf(Call("key sk-abcdefghijklmnop1234 card 4111 1111 1111 1111.").get()),
            "key [redacted] card [redacted].");
  EXPECT_EQ(TextOf(Call("nothing to hide").get()), "nothing to hide");
}

}  // namespace
}  // namespace toolrack
