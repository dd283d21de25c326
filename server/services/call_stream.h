// One CallToolStream.
#ifndef TOOLRACK_SERVER_SERVICES_CALL_STREAM_H_
#define TOOLRACK_SERVER_SERVICES_CALL_STREAM_H_

#include <deque>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/stop.h"
#include "registry/tool.h"
#include "server/rpc/stream.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Keeps what a call tells until the caller has read it, in a bounded queue: a newer progress takes
// the place of one that was not yet read, and when the queue is full logs and early content are
// left out (the result has the content again). The response comes last.
class CallStream final : public ServerStream<v1::CallToolStreamResponse>, public CallReporter {
 public:
  static constexpr size_t kMaxEvents = 256;
  static constexpr size_t kMaxBytes = 1 << 20;

  using ServerStream::ServerStream;

  const StopSource& stop() const { return stop_; }
  // The outcome, once.
  void Done(absl::StatusOr<v1::CallToolResponse> outcome);

  void OnProgress(v1::Progress progress) override;
  void OnLog(v1::LogLine line) override;
  void OnContent(v1::Content content) override;

 private:
  Step Next(v1::CallToolStreamResponse& out, absl::Status& status) override;
  void OnGone(StopReason reason) override { stop_.RequestStop(reason); }
  void Push(v1::CallToolStreamResponse event);

  StopSource stop_;
  absl::Mutex events_mu_;
  std::deque<v1::CallToolStreamResponse> events_ ABSL_GUARDED_BY(events_mu_);
  size_t bytes_ ABSL_GUARDED_BY(events_mu_) = 0;
  uint64_t left_out_ ABSL_GUARDED_BY(events_mu_) = 0;
  std::optional<absl::StatusOr<v1::CallToolResponse>> outcome_ ABSL_GUARDED_BY(events_mu_);
  bool answered_ ABSL_GUARDED_BY(events_mu_) = false;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_CALL_STREAM_H_
