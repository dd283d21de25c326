// Counters of each RPC method: every door counts itself, no service does.
#ifndef TOOLRACK_SERVER_RPC_METHOD_STATS_H_
#define TOOLRACK_SERVER_RPC_METHOD_STATS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "toolrack/v1/admin_service.pb.h"

namespace toolrack {

// One method. Thread-safe.
class MethodStats {
 public:
  explicit MethodStats(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  void Started() { started_.fetch_add(1, std::memory_order_relaxed); }
  void Ended(absl::StatusCode code) {
    const auto at = static_cast<size_t>(code);
    ended_[at < ended_.size() ? at : 2].fetch_add(1, std::memory_order_relaxed);
  }
  v1::MethodStatus ToProto() const;

 private:
  const std::string name_;
  std::atomic<uint64_t> started_{0};
  std::array<std::atomic<uint64_t>, 17> ended_{};  // by gRPC code
};

// All methods. Thread-safe; gives pointers that stay valid as long as it lives.
class MethodTable {
 public:
  // E.g. `ToolService/ListTools`. The same name gives the same counters.
  MethodStats* Get(const std::string& name);
  // Those that were asked, by name.
  std::vector<v1::MethodStatus> List() const;

 private:
  mutable absl::Mutex mu_;
  std::deque<MethodStats> methods_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_METHOD_STATS_H_
