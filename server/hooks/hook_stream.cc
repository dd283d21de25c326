// The gRPC side of a hook's stream: bytes to messages, one read and one write at a time.
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "server/hooks/hook_hub.h"
#include "server/rpc/status.h"

namespace toolrack {
namespace {

// Reads bytes, as gRPC would end the stream like a clean close on a message that it cannot read.
class HookStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                   public HookTransport {
 public:
  explicit HookStream(grpc::CallbackServerContext* context) : context_(context) {}

  // Keeps itself alive from here to OnDone.
  void Begin(std::shared_ptr<HookStream> self, std::shared_ptr<HookSession> session) {
    self_ = std::move(self);
    session_ = std::move(session);
    session_->Begin();
    StartRead(&read_buffer_);
  }

  void Write(const v1::HookServiceAttachResponse& message) override {
    bool own = false;
    write_buffer_.Clear();  // gRPC copied what the last write sent
    const grpc::Status status = grpc::SerializationTraits<v1::HookServiceAttachResponse>::Serialize(
        message, &write_buffer_, &own);
    // Only a message over 2 GiB does that, and none is; an empty one is ignored by every hook.
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
    message_.Clear();
    grpc::ProtoBufferReader reader(&read_buffer_);
    if (reader.status().ok() && message_.ParseFromZeroCopyStream(&reader)) {
      session_->OnMessage(message_);
    } else {
      session_->OnViolation(ProtocolViolation(
          "bytes came that are no HookServiceAttachRequest, or a name in them is not UTF-8"));
    }
    absl::MutexLock lock(&mu_);
    if (!finished_) StartRead(&read_buffer_);
  }

  void OnWriteDone(bool ok) override { session_->OnWriteDone(ok); }
  void OnCancel() override { session_->OnBroken(); }

  void OnDone() override {
    const std::shared_ptr<HookStream> self = std::move(self_);
    const std::shared_ptr<HookSession> session = std::move(session_);
    absl::MutexLock lock(&mu_);
    done_ = true;
  }

 private:
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<HookStream> self_;
  std::shared_ptr<HookSession> session_;
  grpc::ByteBuffer read_buffer_;
  grpc::ByteBuffer write_buffer_;
  v1::HookServiceAttachRequest message_;
  absl::Mutex mu_;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* MakeHookStream(
    HookHub* hub, grpc::CallbackServerContext* context, std::string principal) {
  auto stream = std::make_shared<HookStream>(context);
  HookStream* const reactor = stream.get();
  const std::shared_ptr<HookSession> session = hub->MakeSession(std::move(principal), stream);
  reactor->Begin(std::move(stream), session);
  hub->Open(session);
  return reactor;
}

}  // namespace toolrack
