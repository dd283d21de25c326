// One session: what belongs to one conversation of one agent.
//
// Nothing in it decides whether a call is allowed or its arguments are valid: verdicts depend on
// the registry alone.
#ifndef TOOLRACK_REGISTRY_SESSION_H_
#define TOOLRACK_REGISTRY_SESSION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/session_prompt.h"
#include "registry/snapshot.h"
#include "registry/tool.h"
#include "registry/tool_filter.h"
#include "toolrack/v1/session.pb.h"
#include "toolrack/v1/session_service.pb.h"

namespace toolrack {

// Thread-safe. Held by shared_ptr; made by SessionTable only. A call that runs in it keeps it when
// it is over.
class Session {
 public:
  // `opened` has what never changes: id, principal, what was asked for, ttl, time.
  Session(v1::Session opened, PinnedToolsPtr pinned, absl::Duration ttl, absl::Duration now);

  const std::string& id() const { return opened_.session_id(); }
  const std::string& principal() const { return opened_.principal(); }
  absl::Duration ttl() const { return ttl_; }
  // Moves at a boundary of its prompt.
  uint64_t pinned_revision() const { return prompt_.revision(); }
  const std::string& renderer() const { return opened_.renderer(); }
  const std::string& model() const { return opened_.model(); }
  const v1::ToolFilter& filters() const { return opened_.filters(); }
  const v1::RetryPolicy& retry_policy() const { return opened_.retry_policy(); }
  // Closed or expired.
  bool over() const { return over_.load(); }

  // How one call ended, for the counters.
  enum class Ended { kOk, kToolError, kFailed };
  void Count(Ended ended, uint64_t argument_bytes, uint64_t result_bytes);
  v1::SessionCounters counters() const;

  // The loaded set. Loading the same definition again changes nothing, another one replaces it.
  enum class Loaded { kNew, kAlready, kFull };
  Loaded Load(const v1::Tool& tool, size_t max_tools);
  bool Unload(absl::string_view name);
  std::vector<v1::LoadedTool> loaded_tools() const;  // sorted by name

  // Its prompt's prefix and deltas.
  SessionPrompt& prompt() { return prompt_; }
  // The model is shown everything anew, from `tools`: what is loaded is loaded as defined there,
  // and what is not there, disabled or hidden is not loaded any more.
  PromptBase Boundary(PinnedToolsPtr tools, const ToolVisibility& visible);

  // Whether the definition is not the one that the session has seen: loaded with another digest,
  // or not loaded and newer than the pinned revision.
  bool SawAnother(const v1::Tool& tool) const;

  // Which of the replicas that serve a session-scoped tool has this session's instance: the same
  // as long as it is available, else the same worker's new attachment, else one that is chosen by
  // the session's id. Null when none is available.
  std::shared_ptr<Backend> Replica(const ToolEntry& entry) const;

 private:
  friend class SessionTable;
  friend class SessionLease;
  struct Route {
    std::weak_ptr<Backend> backend;
    std::string id;
  };

  const v1::Session opened_;
  SessionPrompt prompt_;
  const absl::Duration ttl_;
  std::atomic<bool> over_{false};
  std::atomic<int64_t> last_used_ns_;  // Clock::SteadyNow
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<uint64_t> calls_{0}, tool_errors_{0}, failed_{0}, argument_bytes_{0},
      result_bytes_{0};
  // When the table looks at it next. Under the table's lock.
  absl::Duration due_;

  mutable absl::Mutex mu_;
  absl::btree_map<std::string, std::string> loaded_ ABSL_GUARDED_BY(mu_);        // name to digest
  mutable absl::flat_hash_map<std::string, Route> routes_ ABSL_GUARDED_BY(mu_);  // by namespace
};

// A call in a session: as long as there is one, the session is not idle. Move-only.
class SessionLease {
 public:
  SessionLease() = default;
  SessionLease(SessionLease&& other) noexcept = default;
  SessionLease& operator=(SessionLease&& other) noexcept;
  ~SessionLease() { Release(); }

  explicit operator bool() const { return session_ != nullptr; }
  Session* operator->() const { return session_.get(); }
  Session* get() const { return session_.get(); }

 private:
  friend class SessionTable;
  SessionLease(std::shared_ptr<Session> session, Clock* clock);
  void Release();

  std::shared_ptr<Session> session_;
  Clock* clock_ = nullptr;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SESSION_H_
