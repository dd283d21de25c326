// What WatchTools streams, without the stream: one message after the other for whoever pumps.
#ifndef TOOLRACK_REGISTRY_WATCH_FEED_H_
#define TOOLRACK_REGISTRY_WATCH_FEED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "registry/registry.h"
#include "registry/tool_filter.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Gives `reset`, `added`…, `synced` and then the changes; or, when the request names this epoch and
// a revision that is still remembered, what was missed, `synced`, and then the changes. Quarantined
// tools are not shown: one that leaves quarantine is `added`, one that falls into it `removed`.
//
// Every message carries the revision that is right to resume from after it: the last message of a
// revision carries that revision, those before it the revision before; in a snapshot only `synced`
// carries one. So a stream that is cut anywhere loses nothing.
//
// Next() is called by one thread at a time.
class WatchFeed {
 public:
  // `registry` outlives this. `wake` as for Registry::Watch: called when Next() has something new
  // after it gave nothing. At most `max_backlog` changes wait for Next().
  // What is not `visible`, and reserved tools, are not shown.
  WatchFeed(Registry* registry, const v1::WatchToolsRequest& request, size_t max_backlog,
            std::function<void()> wake, ToolVisibility visible = {});

  // The next message; nullopt: nothing now, wait for `wake`. SLOW_READER once too much waited, for
  // ever then.
  absl::StatusOr<std::optional<v1::WatchToolsResponse>> Next();

 private:
  enum class Phase { kReset, kSnapshot, kChanges };

  void Subscribe(const v1::WatchToolsRequest& request, std::function<void()> wake);
  void StartSnapshot(const char* reason, std::function<void()> wake);
  v1::WatchToolsResponse NextOfSnapshot();
  v1::WatchToolsResponse Synced();
  bool Visible(const ToolEntryPtr& entry) const;
  // The first change at or after `from` that this watcher sees; the number of changes when none.
  size_t NextVisible(size_t from) const;
  v1::WatchToolsResponse EventOf(const RegistryChange& change) const;

  Registry* const registry_;
  const ToolFilter filter_;
  const ToolVisibility visible_;
  const size_t max_backlog_;
  std::unique_ptr<RegistryWatch> watch_;

  Phase phase_ = Phase::kChanges;
  std::string reset_reason_;
  SnapshotPtr snapshot_;  // while it is being told
  std::string told_up_to_;
  // Changes up to here come before `synced`.
  std::optional<uint64_t> sync_at_;
  RegistryChangesPtr changes_;  // being told
  size_t at_ = 0;               // the next one to tell
  uint64_t revision_ = 0;       // the last one that was told whole
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_WATCH_FEED_H_
