// The limits that a call meets: rate, places at once, circuit breakers.
#ifndef TOOLRACK_REGISTRY_CALL_CALL_LIMITS_H_
#define TOOLRACK_REGISTRY_CALL_CALL_LIMITS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/limits/breakers.h"
#include "registry/limits/gates.h"
#include "registry/limits/rate.h"
#include "registry/policy/principals.h"
#include "registry/snapshot.h"
#include "registry/tool.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// One limit on what runs at once, and who waits for it.
struct GateSpec {
  std::string key;
  const char* limit = "";  // its name, for messages
  uint64_t allowed = 0;    // 0: no limit
  uint64_t max_waiting = 0;
  std::string scope;  // whose it is, for messages

  bool limits() const { return allowed > 0; }
};

// What a running call holds of the gates. The backend keeps it until the tool has really ended: a
// caller that left does not make room while its tool goes on.
struct HeldPlaces {
  std::shared_ptr<Gates> gates;  // outlives the places, also when the pipeline is gone
  Gates::Place tool;
  Gates::Place backend;
};

// Thread-safe. What is not configured costs a look.
class CallLimits {
 public:
  CallLimits(const Clock* clock, const v1::LimitsConfig& limits, const v1::BreakerConfig& breaker);

  // RATE. `own`: the principal's own rate; null or 0: everybody's.
  absl::Status TakeRate(absl::string_view principal, const Principal* own = nullptr);
  absl::Status CheckRate(absl::string_view principal, const Principal* own = nullptr) const;
  // A place among the session's calls. CONCURRENCY.
  absl::Status EnterSession(absl::string_view session, Gates::Place& place);
  absl::Status CheckSession(absl::string_view session) const;

  bool LimitsBackends() const { return max_per_backend_ > 0; }
  GateSpec GateOf(const v1::Tool& tool) const;
  GateSpec GateOf(const Backend& backend) const;
  absl::Duration queue_timeout() const { return queue_timeout_; }
  const std::shared_ptr<Gates>& gates() const { return gates_; }

  // Whether the breakers let a call of this tool, and one to this backend, through. `probe`: it is
  // the one that tries. CIRCUIT_OPEN.
  absl::Status AdmitTool(absl::string_view tool, bool& probe);
  absl::Status AdmitBackend(absl::string_view tool, const Backend& backend, bool& probe);
  absl::Status CheckTool(absl::string_view tool) const;
  absl::Status CheckBackend(absl::string_view tool, const Backend& backend) const;
  // How an attempt of an admitted call ended; `result` when `outcome` is OK. Exactly once for each
  // probe.
  void Report(absl::string_view tool, const Backend& backend, bool tool_probe, bool backend_probe,
              const absl::Status& outcome, const v1::ToolResult* result);
  // A probe that never ran.
  void AbandonTool(absl::string_view tool);
  void AbandonBackend(const Backend& backend);

 private:
  absl::Status Refusal(absl::string_view principal, const Principal* own,
                       absl::Duration wait) const;
  const Rate& RateOf(const Principal* own) const {
    return own != nullptr && own->rate.per_minute > 0 ? own->rate : rate_;
  }

  const Rate rate_;
  const uint64_t max_per_session_;
  const uint64_t max_per_backend_;
  const uint64_t max_queue_;
  const absl::Duration queue_timeout_;
  RateLimiter rates_;
  const std::shared_ptr<Gates> gates_ = std::make_shared<Gates>();
  Breakers breakers_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_CALL_LIMITS_H_
