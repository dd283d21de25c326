// The protocol of one hook's stream, apart from gRPC: what came, what goes, and what becomes of
// events when it ends. The contract of the messages is in toolrack/v1/hook_service.proto.
#ifndef TOOLRACK_SERVER_HOOKS_HOOK_SESSION_H_
#define TOOLRACK_SERVER_HOOKS_HOOK_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/executor.h"
#include "registry/base/timers.h"
#include "registry/call/hook.h"
#include "registry/call/hook_set.h"
#include "server/backends/worker_result.h"
#include "toolrack/v1/hook_service.pb.h"

namespace toolrack {

// What a session writes to. Each function may be called from any thread; never two of Write and
// Finish at once.
class HookTransport {
 public:
  virtual ~HookTransport() = default;
  // One at a time: OnWriteDone follows. The message may change as soon as this returned.
  virtual void Write(const v1::HookServiceAttachResponse& message) = 0;
  // Ends the stream: once, not while a write is under way, nothing after it.
  virtual void Finish(absl::Status status) = 0;
  // Breaks the stream off, also when the other side does not read. Finish is still called. Not from
  // the transport's own callbacks.
  virtual void Abort() = 0;
};

// Thread-safe. Held by shared_ptr. The transport's events come from any thread, OnMessage one at a
// time. Every event that was asked ends: by a verdict, by the end of the stream, or by Forget.
class HookSession : public Hook, public std::enable_shared_from_this<HookSession> {
 public:
  struct Parts {  // all outlive the stream
    HookSet* set;
    Timers* timers;
    Executor* executor;  // checks large results
  };
  struct Options {
    std::string principal;
    std::string epoch;
    uint64_t max_message_bytes = 4 << 20;
    size_t max_queue = 4096;            // events waiting to be written
    size_t max_queue_bytes = 64 << 20;  // of them
    WorkerResultLimits results;
    absl::Duration hello_timeout = absl::Seconds(15);
    absl::Duration last_write = absl::Seconds(5);  // after the end, until the stream is broken off
  };
  HookSession(Parts parts, Options options, std::shared_ptr<HookTransport> transport);
  ~HookSession() override;

  // Once, before any event: starts watching over the hello.
  void Begin();

  // Events of the transport.
  void OnMessage(v1::HookServiceAttachRequest& message);
  void OnViolation(absl::Status violation);
  void OnWriteDone(bool ok);
  void OnReadsDone();  // the hook closed its side, or the stream broke
  void OnBroken();     // the stream broke; also after it ended

  // No new events; ends with REPLACED when the last verdict is there.
  void Retire();
  // Ends the stream; the events that wait fail.
  void End(absl::Status status);

  // Hook. The spec is there once the hello was taken.
  const HookSpec& spec() const override { return spec_; }
  uint64_t Ask(HookQuestion question, HookDone done) override;
  void Forget(uint64_t number) override;
  void Tell(HookQuestion question) override;
  void Describe(v1::HookInfo& info) const override;

 private:
  enum class Phase { kNew, kAttached, kOver };
  struct Item {
    uint64_t id = 0;
    HookQuestion question;
    bool asked = false;  // somebody waits
    size_t bytes = 0;
  };

  void OnHello(v1::HookHello& hello);
  void OnVerdict(v1::HookVerdict& verdict);
  absl::StatusOr<HookVerdict> Read(v1::HookVerdict& verdict) const;
  void EndNow(absl::Status status, const char* why);
  void EndIfRetiredAndIdle();
  // Room in the queue, or what is wrong with the hook.
  absl::Status Enqueue(Item item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes what is to be written next: a definition (`with_tool`) or an event. False: nothing.
  bool TakeNext(Item& item, bool& with_tool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes the next message, or finishes, when nothing is under way.
  void Pump();

  const Parts parts_;
  const Options options_;
  const std::string hook_id_;
  const std::shared_ptr<HookTransport> transport_;
  HookSpec spec_;  // never changes once the hook is in the set

  mutable absl::Mutex mu_;
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kNew;
  bool welcome_due_ ABSL_GUARDED_BY(mu_) = false;
  bool welcomed_ ABSL_GUARDED_BY(mu_) = false;  // nothing goes out before the welcome
  bool retiring_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mu_);
  size_t queue_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, HookDone> pending_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> sent_digests_ ABSL_GUARDED_BY(mu_);
  uint64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t late_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
  // The message being written; owned by whoever set `writing_`.
  v1::HookServiceAttachResponse message_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_HOOKS_HOOK_SESSION_H_
