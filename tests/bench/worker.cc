// The benchmark's worker, the same for both sides: attaches, publishes, answers at once or after a
// while. Lean on purpose (the callback API, results batched as they queue up), so that the daemon
// between is what differs.
//
//   --target=ADDRESS        where the daemon listens
//   --workers=N             N streams, each with a connection of its own, named bench-0 …
//   --tools=N               tools of each worker: `echo`, `sleep`, then `tool_1` …
//   --hold-results=1        never answers
// Says `attached MILLISECONDS` (from connect to the last `published`), then serves until standard
// input ends.
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/bench/harness.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack::bench {
namespace {

constexpr int kBatchCalls = 64;
constexpr size_t kBatchBytes = 256 << 10;
constexpr int kToolsPerMessage = 500;

v1::Tool MakeDefinition(int index) {
  v1::Tool tool;
  tool.set_name(index == 0 ? "echo" : index == 1 ? "sleep" : absl::StrCat("tool_", index - 1));
  tool.set_description(absl::StrCat("Reads a part of file number ", index,
                                    " and gives its lines back, from the first line wanted on."));
  tool.set_input_schema(
      R"({"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":4096},)"
      R"("text":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100000},)"
      R"("recursive":{"type":"boolean"},"mode":{"enum":["lines","bytes"]},)"
      R"("tags":{"type":"array","items":{"type":"string"},"maxItems":16}},)"
      R"("required":["path"],"additionalProperties":false})");
  return tool;
}

class WorkerStream : public grpc::ClientBidiReactor<v1::WorkerServiceAttachRequest,
                                                    v1::WorkerServiceAttachResponse> {
 public:
  WorkerStream(const std::shared_ptr<grpc::Channel>& channel, std::string name, int tools,
               bool hold)
      : stub_(v1::WorkerService::NewStub(channel)),
        name_(std::move(name)),
        tools_(tools),
        hold_(hold) {
    stub_->async()->Attach(&context_, this);
    v1::WorkerServiceAttachRequest hello;
    hello.mutable_hello()->set_worker_name(name_);
    hello.mutable_hello()->set_protocol_version(1);
    hello.mutable_hello()->set_max_in_flight(10000);
    AddHold();
    StartRead(&in_);
    StartCall();
    Send(std::move(hello));
  }

  // False when the stream ended first.
  bool WaitPublished() {
    published_.WaitForNotification();
    absl::MutexLock lock(&mutex_);
    return !dead_;
  }
  grpc::Status Leave() {
    context_.TryCancel();
    done_.WaitForNotification();
    return status_;
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        absl::MutexLock lock(&mutex_);
        dead_ = true;
      }
      if (!published_.HasBeenNotified()) published_.Notify();
      RemoveHold();
      return;
    }
    switch (in_.message_case()) {
      case v1::WorkerServiceAttachResponse::kInvocations:
        if (!hold_) AnswerAll();
        break;
      case v1::WorkerServiceAttachResponse::kWelcome:
        Publish();
        break;
      case v1::WorkerServiceAttachResponse::kPublished:
        if (in_.published().accepted_size() == 0) {
          absl::FPrintF(stderr, "nothing accepted: %s\n", in_.published().ShortDebugString());
        }
        published_.Notify();
        break;
      case v1::WorkerServiceAttachResponse::kPing: {
        v1::WorkerServiceAttachRequest pong;
        pong.mutable_pong()->set_nonce(in_.ping().nonce());
        Send(std::move(pong));
        break;
      }
      default:
        break;
    }
    StartRead(&in_);
  }
  void OnWriteDone(bool ok) override {
    bool write = false;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      write = ok && TakeBatch();
    }
    if (write) StartWrite(&out_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

 private:
  void Publish() {
    for (int first = 0; first < tools_; first += kToolsPerMessage) {
      v1::WorkerServiceAttachRequest message;
      v1::WorkerPublish* publish = message.mutable_publish();
      publish->set_namespace_(name_);
      publish->set_generation(1);
      const int end = std::min(tools_, first + kToolsPerMessage);
      for (int i = first; i < end; ++i) *publish->add_tools() = MakeDefinition(i);
      publish->set_commit(end == tools_);
      Send(std::move(message));
    }
  }

  void AnswerAll() {
    bool write = false;
    {
      absl::MutexLock lock(&mutex_);
      for (auto& invocation : *in_.mutable_invocations()->mutable_invocations()) {
        v1::WorkerResult result;
        result.set_invocation_id(invocation.invocation_id());
        *result.mutable_result()->add_content()->mutable_text()->mutable_text() =
            std::move(*invocation.mutable_arguments_json());
        results_.push_back(std::move(result));
      }
      write = TakeBatch();
    }
    if (write) StartWrite(&out_);
  }

  void Send(v1::WorkerServiceAttachRequest message) {
    bool write = false;
    {
      absl::MutexLock lock(&mutex_);
      control_.push_back(std::move(message));
      write = TakeBatch();
    }
    if (write) StartWrite(&out_);
  }

  bool TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || dead_) return false;
    if (!control_.empty()) {
      out_ = std::move(control_.front());
      control_.pop_front();
    } else if (!results_.empty()) {
      auto* batch = out_.mutable_results()->mutable_results();
      batch->Clear();
      size_t bytes = 0;
      while (!results_.empty() && batch->size() < kBatchCalls && bytes < kBatchBytes) {
        bytes += results_.front().result().content(0).text().text().size();
        *batch->Add() = std::move(results_.front());
        results_.pop_front();
      }
    } else {
      return false;
    }
    writing_ = true;
    return true;
  }

  const std::unique_ptr<v1::WorkerService::Stub> stub_;
  const std::string name_;
  const int tools_;
  const bool hold_;
  grpc::ClientContext context_;
  v1::WorkerServiceAttachResponse in_;
  v1::WorkerServiceAttachRequest out_;
  absl::Notification published_;
  absl::Notification done_;
  grpc::Status status_;
  absl::Mutex mutex_;
  std::deque<v1::WorkerServiceAttachRequest> control_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::WorkerResult> results_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool dead_ ABSL_GUARDED_BY(mutex_) = false;
};

int Main(int argc, char** argv) {
  const Flags flags(argc, argv);
  const std::string target = flags.Text("target", "");
  const int workers = static_cast<int>(flags.Number("workers", 1));
  const int tools = static_cast<int>(flags.Number("tools", 2));
  const bool hold = flags.Number("hold-results", 0) != 0;
  const absl::Time start = absl::Now();
  std::vector<std::unique_ptr<WorkerStream>> streams;
  bool ok = true;
  for (int i = 0; i < workers; ++i) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    args.SetMaxReceiveMessageSize(64 << 20);
    auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), args);
    streams.push_back(
        std::make_unique<WorkerStream>(channel, absl::StrCat("bench-", i), tools, hold));
    // One after the other in small groups: a thousand handshakes at once time out.
    if (i % 16 == 15) ok = streams.back()->WaitPublished() && ok;
  }
  for (auto& stream : streams) ok = stream->WaitPublished() && ok;
  if (ok) {
    Say(absl::StrCat("attached ", absl::ToInt64Milliseconds(absl::Now() - start)));
    WaitForEndOfInput();
  }
  for (auto& stream : streams) {
    const grpc::Status status = stream->Leave();
    if (!ok && status.error_code() != grpc::StatusCode::CANCELLED) {
      absl::FPrintF(stderr, "%d %s\n", static_cast<int>(status.error_code()),
                    status.error_message());
    }
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace toolrack::bench

int main(int argc, char** argv) { return toolrack::bench::Main(argc, argv); }
