// The bare side: the least that a callback-API daemon can do with the same bytes on the wire.
//
// It serves CallTool and Attach with the messages of toolrack.v1, with reactors of its own
// (OnCancel needs them), and nothing else: no look-up, no parsing of arguments, no validation, no
// limits, no counters, no log. By the called name's last word:
//   echo   answered at once with the same response that the built-in echo gives;
//   sleep  parked until the caller cancels;
//   any other name goes to the attached worker, batched (at most 64 calls and 256 KiB a message).
// One worker. A call that is cancelled while the worker has it waits for the worker's answer.
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "tests/bench/harness.h"
#include "toolrack/v1/tool_service.grpc.pb.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack::bench {
namespace {

constexpr size_t kBatchCalls = 64;
constexpr size_t kBatchBytes = 256 << 10;

// What every answer carries besides the content, at the size that the daemon's answers have.
void FillCommon(v1::CallToolResponse* response) {
  response->set_call_id("0123456789abcdef0123");
  response->mutable_duration()->set_nanos(12345);
  response->set_revision(1);
}

class EchoCall : public grpc::ServerUnaryReactor {
 public:
  EchoCall(const v1::CallToolRequest* request, v1::CallToolResponse* response) {
    FillCommon(response);
    // The text in `{"text":"…"}`, as the built-in echo gives it.
    absl::string_view text = request->arguments_json();
    absl::ConsumePrefix(&text, "{\"text\":\"");
    absl::ConsumeSuffix(&text, "\"}");
    v1::ToolResult* result = response->mutable_result();
    result->add_content()->mutable_text()->mutable_text()->assign(text.data(), text.size());
    result->set_total_bytes(text.size());
    Finish(grpc::Status::OK);
  }
  void OnCancel() override {}
  void OnDone() override { delete this; }
};

class ParkedCall : public grpc::ServerUnaryReactor {
 public:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

class RelayedCall : public grpc::ServerUnaryReactor {
 public:
  explicit RelayedCall(v1::CallToolResponse* response) : response_(response) {}
  void Answer(v1::WorkerResult* result) {
    FillCommon(response_);
    v1::ToolResult* out = response_->mutable_result();
    for (auto& content : *result->mutable_result()->mutable_content()) {
      *out->add_content()->mutable_text()->mutable_text() =
          std::move(*content.mutable_text()->mutable_text());
      out->set_total_bytes(out->total_bytes() + out->content().rbegin()->text().text().size());
    }
    Finish(grpc::Status::OK);
  }
  void Fail() { Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "no worker")); }
  void OnCancel() override {}
  void OnDone() override { delete this; }

 private:
  v1::CallToolResponse* response_;
};

class WorkerStream : public grpc::ServerBidiReactor<v1::WorkerServiceAttachRequest,
                                                    v1::WorkerServiceAttachResponse> {
 public:
  // The stream that calls go to: the last one that said hello. Streams are never deleted before the
  // process ends when they are current, so a raw pointer does.
  static std::atomic<WorkerStream*> current;

  WorkerStream() { StartRead(&in_); }

  void Submit(v1::Invocation invocation, RelayedCall* call) {
    bool write = false;
    {
      absl::MutexLock lock(&mutex_);
      if (dead_) {
        call->Fail();
        return;
      }
      invocation.set_invocation_id(++last_id_);
      pending_.emplace(last_id_, call);
      queue_.push_back(std::move(invocation));
      write = TakeBatch();
    }
    if (write) StartWrite(&out_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Die();
      return;
    }
    if (in_.has_results()) {
      std::vector<RelayedCall*> calls;
      auto* results = in_.mutable_results()->mutable_results();
      calls.reserve(results->size());
      {
        absl::MutexLock lock(&mutex_);
        for (const auto& result : *results) {
          auto it = pending_.find(result.invocation_id());
          calls.push_back(it == pending_.end() ? nullptr : it->second);
          if (it != pending_.end()) pending_.erase(it);
        }
      }
      for (int i = 0; i < results->size(); ++i) {
        if (calls[i] != nullptr) calls[i]->Answer(&(*results)[i]);
      }
    } else if (in_.has_hello()) {
      v1::WorkerServiceAttachResponse welcome;
      welcome.mutable_welcome()->set_worker_id("bare");
      welcome.mutable_welcome()->mutable_limits()->set_max_in_flight(10000);
      SendControl(std::move(welcome));
    } else if (in_.has_publish() && in_.publish().commit()) {
      current = this;
      v1::WorkerServiceAttachResponse published;
      published.mutable_published()->set_namespace_(in_.publish().namespace_());
      published.mutable_published()->set_generation(in_.publish().generation());
      for (const auto& tool : in_.publish().tools())
        published.mutable_published()->add_accepted(tool.name());
      SendControl(std::move(published));
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
  void OnCancel() override {}
  void OnDone() override { delete this; }

 private:
  void SendControl(v1::WorkerServiceAttachResponse message) {
    bool write = false;
    {
      absl::MutexLock lock(&mutex_);
      control_.push_back(std::move(message));
      write = TakeBatch();
    }
    if (write) StartWrite(&out_);
  }

  // Puts the next message into out_ when the writer is free. True: the caller starts the write.
  bool TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || dead_) return false;
    if (!control_.empty()) {
      out_ = std::move(control_.front());
      control_.pop_front();
    } else if (!queue_.empty()) {
      auto* batch = out_.mutable_invocations()->mutable_invocations();
      batch->Clear();
      size_t bytes = 0;
      while (!queue_.empty() && static_cast<size_t>(batch->size()) < kBatchCalls) {
        bytes += queue_.front().arguments_json().size();
        if (batch->size() > 0 && bytes > kBatchBytes) break;
        *batch->Add() = std::move(queue_.front());
        queue_.pop_front();
      }
    } else {
      return false;
    }
    writing_ = true;
    return true;
  }

  void Die() {
    WorkerStream* self = this;
    current.compare_exchange_strong(self, nullptr);
    absl::flat_hash_map<uint64_t, RelayedCall*> lost;
    {
      absl::MutexLock lock(&mutex_);
      dead_ = true;
      lost.swap(pending_);
    }
    for (const auto& [id, call] : lost) call->Fail();
    Finish(grpc::Status::OK);
  }

  v1::WorkerServiceAttachRequest in_;
  v1::WorkerServiceAttachResponse out_;
  absl::Mutex mutex_;
  std::deque<v1::WorkerServiceAttachResponse> control_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::Invocation> queue_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, RelayedCall*> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool dead_ ABSL_GUARDED_BY(mutex_) = false;
};
std::atomic<WorkerStream*> WorkerStream::current{nullptr};

class BareTools : public v1::ToolService::CallbackService {
 public:
  grpc::ServerUnaryReactor* CallTool(grpc::CallbackServerContext*,
                                     const v1::CallToolRequest* request,
                                     v1::CallToolResponse* response) override {
    if (request->name() == "echo") return new EchoCall(request, response);
    if (absl::EndsWith(request->name(), "sleep") && WorkerStream::current == nullptr) {
      return new ParkedCall();
    }
    auto* call = new RelayedCall(response);
    WorkerStream* worker = WorkerStream::current;
    if (worker == nullptr) {
      call->Fail();
      return call;
    }
    v1::Invocation invocation;
    invocation.set_tool(request->name());
    invocation.set_arguments_json(request->arguments_json());
    invocation.set_call_id("0123456789abcdef0123");
    invocation.set_attempt(1);
    worker->Submit(std::move(invocation), call);
    return call;
  }
};

class BareWorkers : public v1::WorkerService::CallbackService {
 public:
  grpc::ServerBidiReactor<v1::WorkerServiceAttachRequest, v1::WorkerServiceAttachResponse>* Attach(
      grpc::CallbackServerContext*) override {
    return new WorkerStream();
  }
};

int Main(int argc, char** argv) {
  const Flags flags(argc, argv);
  // As the daemon does.
  if (flags.Number("deadlock-checks", 0) == 0) {
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  }
  BareTools tools;
  BareWorkers workers;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(flags.Text("listen", ""), grpc::InsecureServerCredentials());
  int port = 0;
  const bool tcp = flags.Number("tcp", 0) != 0;
  if (tcp) builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&tools);
  builder.RegisterService(&workers);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || (tcp && port == 0)) return 1;
  Say(absl::StrCat("serving 127.0.0.1:", port));
  WaitForEndOfInput();
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace toolrack::bench

int main(int argc, char** argv) { return toolrack::bench::Main(argc, argv); }
