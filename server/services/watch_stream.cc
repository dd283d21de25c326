#include "server/services/watch_stream.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "registry/watch_feed.h"
#include "server/rpc/stream.h"
#include "server/services/watch_set.h"

namespace toolrack {
namespace {

class WatchStream final : public ServerStream<v1::WatchToolsResponse>, public Endable {
 public:
  WatchStream(grpc::CallbackServerContext* context, MethodStats* stats, const Core& core)
      : ServerStream(context, stats), watches_(core.watches), executor_(core.executor) {}

  // The stream's number among the watches.
  uint64_t id() const { return reinterpret_cast<uintptr_t>(this); }

  void Follow(Registry* registry, const v1::WatchToolsRequest& request, size_t max_backlog,
              ToolVisibility visible) {
    feed_.emplace(
        registry, request, max_backlog,
        [weak = std::weak_ptr<ServerStream>(weak_from_this())] {
          if (auto self = std::static_pointer_cast<WatchStream>(weak.lock())) {
            self->OnChange(std::move(self));
          }
        },
        std::move(visible));
  }

  // `status` ends the stream once what is being written is written.
  void End(absl::Status status) override {
    {
      absl::MutexLock lock(&end_mu_);
      end_ = std::move(status);
    }
    Wake();
  }

 private:
  // Comes on the thread that publishes, which has no time for a thousand watchers.
  void OnChange(std::shared_ptr<WatchStream> self) {
    if (wake_posted_.exchange(true, std::memory_order_acq_rel)) return;
    if (!executor_->Post([self] { self->WakeOnce(); })) WakeOnce();
  }
  void WakeOnce() {
    wake_posted_.store(false, std::memory_order_release);
    Wake();
  }

  Step Next(v1::WatchToolsResponse& out, absl::Status& status) override {
    {
      absl::MutexLock lock(&end_mu_);
      if (!end_.ok()) {
        status = end_;
        return Step::kEnd;
      }
    }
    absl::StatusOr<std::optional<v1::WatchToolsResponse>> message = feed_->Next();
    if (!message.ok()) {
      status = message.status();
      return Step::kEnd;
    }
    if (!message->has_value()) return Step::kWait;
    out.Swap(&**message);
    return Step::kWrite;
  }
  void OnEnded() override { watches_->Remove(id()); }

  WatchSet* const watches_;
  Executor* const executor_;
  std::atomic<bool> wake_posted_{false};
  absl::Mutex end_mu_;
  absl::Status end_ ABSL_GUARDED_BY(end_mu_);
  std::optional<WatchFeed> feed_;  // empty when the stream was refused
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchToolsResponse>* BeginWatch(grpc::CallbackServerContext* context,
                                                             MethodStats* stats,
                                                             const v1::WatchToolsRequest& request,
                                                             const Core& core,
                                                             absl::StatusOr<std::string> who) {
  auto stream = std::make_shared<WatchStream>(context, stats, core);
  absl::Status status = who.status();
  if (status.ok()) status = core.watches->Add(stream->id(), stream);
  if (!status.ok()) {
    stream->End(std::move(status));
  } else {
    stream->Follow(core.registry, request, core.config.limits().max_watch_backlog(),
                   core.policy->VisibilityOf(*who));
  }
  return stream->Begin();
}

}  // namespace toolrack
