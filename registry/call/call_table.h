// The calls that are running: who may start one, what is there, and stopping them.
#ifndef TOOLRACK_REGISTRY_CALL_CALL_TABLE_H_
#define TOOLRACK_REGISTRY_CALL_CALL_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/stop.h"
#include "registry/tool.h"

namespace toolrack {

// What the table knows of a call. Owned by the call; stays where it is while it is in the table.
struct RunningCall {
  std::string call_id;
  std::string tool;
  std::string principal;
  std::string session_id;
  StopSource stop;
  absl::Duration start;  // Clock::SteadyNow

 private:
  friend class CallTable;
  uint64_t number = 0;
  // Under the shard's lock from here on.
  const Backend* backend = nullptr;
  RunningCall* previous = nullptr;
  RunningCall* next = nullptr;
};

// Thread-safe. Sharded: calls of different threads seldom meet.
class CallTable {
 public:
  struct Limits {
    uint64_t max_in_flight = 10000;
    uint64_t max_per_principal = 10000;
  };
  explicit CallTable(Limits limits) : limits_(limits) {}
  ~CallTable();

  // Whether a call of this principal would be admitted now. DRAINING, CONCURRENCY.
  absl::Status Check(absl::string_view principal, uint64_t max_of_principal = 0) const;
  // Takes the call in, or says why not. `max_of_principal`: its own limit; 0: everybody's.
  absl::Status Enter(RunningCall& call, uint64_t max_of_principal = 0);
  // After Enter gave OK, exactly once.
  void Leave(RunningCall& call);
  // While the call is in the table, where others read its name.
  void SetTool(RunningCall& call, std::string tool);
  // The call is about to be given to `backend`, which the call keeps alive until it calls this
  // again or leaves.
  void SetBackend(RunningCall& call, const Backend* backend);

  struct Row {
    std::string call_id, tool, principal, session_id, backend;
    absl::Duration start;
    uint64_t number;
  };
  // Oldest first.
  std::vector<Row> Rows() const;
  // Stops all of this id, or all when `call_id` is null. The number of them.
  uint32_t Stop(const absl::string_view* call_id, StopReason reason);

  void Drain() { draining_.store(true); }
  uint64_t in_flight() const { return in_flight_.load(); }

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    mutable absl::Mutex mu;
    RunningCall* first ABSL_GUARDED_BY(mu) = nullptr;
  };
  struct alignas(64) Principals {
    mutable absl::Mutex mu;
    absl::flat_hash_map<std::string, uint64_t> calls ABSL_GUARDED_BY(mu);
  };

  Shard& ShardOf(const RunningCall& call) { return shards_[call.number % kShards]; }
  Principals& PrincipalsOf(absl::string_view principal) const;
  absl::Status InFlightFull() const;
  absl::Status PrincipalFull(absl::string_view principal, uint64_t max_of_principal) const;

  const Limits limits_;
  std::atomic<bool> draining_{false};
  std::atomic<uint64_t> in_flight_{0};
  std::atomic<uint64_t> last_number_{0};
  std::array<Shard, kShards> shards_;
  mutable std::array<Principals, kShards> principals_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_CALL_TABLE_H_
