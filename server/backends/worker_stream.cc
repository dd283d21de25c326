#include "server/backends/worker_stream.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/backends/worker_hub_state.h"
#include "server/backends/worker_session.h"
#include "server/rpc/status.h"

namespace toolrack {
namespace {

class WorkerStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                     public WorkerTransport {
 public:
  explicit WorkerStream(grpc::CallbackServerContext* context) : context_(context) {}

  // Keeps itself alive from here to OnDone.
  void Begin(std::shared_ptr<WorkerStream> self, std::shared_ptr<WorkerSession> session) {
    self_ = std::move(self);
    session_ = std::move(session);
    session_->Begin();
    StartRead(&read_buffer_);
  }

  void Write(const v1::WorkerServiceAttachResponse& message) override {
    bool own = false;
    write_buffer_.Clear();  // gRPC copied what the last write sent
    const grpc::Status status =
        grpc::SerializationTraits<v1::WorkerServiceAttachResponse>::Serialize(message,
                                                                              &write_buffer_, &own);
    // Only a message over 2 GiB does that, and none is; an empty one is ignored by every worker.
    if (!status.ok()) write_buffer_ = grpc::ByteBuffer();
    StartWrite(&write_buffer_);
  }

  void Finish(absl::Status status) override {
    {
      absl::MutexLock lock(&mu_);
      finished_ = true;
    }
    ServerBidiReactor::Finish(ToGrpcStatus(status));
  }

  void Abort() override {
    // Under the lock, as the context dies with OnDone. Only threads of ours come here, where gRPC
    // runs no reaction before TryCancel returns.
    absl::MutexLock lock(&mu_);
    if (!done_) context_->TryCancel();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      session_->OnReadsDone();
      return;
    }
    absl::Status decoded = Decode();
    if (decoded.ok()) {
      session_->OnMessage(message_);
    } else {
      session_->OnViolation(std::move(decoded));
    }
    absl::MutexLock lock(&mu_);
    if (!finished_) StartRead(&read_buffer_);
  }

  void OnWriteDone(bool ok) override { session_->OnWriteDone(ok); }
  void OnCancel() override { session_->OnBroken(); }

  void OnDone() override {
    const std::shared_ptr<WorkerStream> self = std::move(self_);
    const std::shared_ptr<WorkerSession> session = std::move(session_);
    absl::MutexLock lock(&mu_);
    done_ = true;
  }

 private:
  absl::Status Decode();

  grpc::CallbackServerContext* const context_;
  std::shared_ptr<WorkerStream> self_;
  std::shared_ptr<WorkerSession> session_;
  grpc::ByteBuffer read_buffer_;
  grpc::ByteBuffer write_buffer_;
  WorkerMessage message_;
  absl::Mutex mu_;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
};

absl::Status WorkerStream::Decode() {
  message_.Clear();
  {
    grpc::ProtoBufferReader reader(&read_buffer_);
    if (reader.status().ok() && message_.request.ParseFromZeroCopyStream(&reader))
      return absl::OkStatus();
  }
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (read_buffer_.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices)
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return DecodeLeniently(bytes, message_);
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* MakeWorkerStream(
    WorkerHub* hub, grpc::CallbackServerContext* context, std::string principal) {
  auto stream = std::make_shared<WorkerStream>(context);
  WorkerStream* const reactor = stream.get();
  const std::shared_ptr<WorkerSession> session =
      hub->state().MakeSession(std::move(principal), stream);
  reactor->Begin(std::move(stream), session);
  hub->state().Open(session);
  return reactor;
}

}  // namespace toolrack
