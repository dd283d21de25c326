#include "server/services/dispatch_retry.h"

#include <algorithm>

namespace toolrack {
namespace {

// The lowest of what is left, and the kind that is spent first.
class Standing {
 public:
  explicit Standing(v1::DispatchRetry& out) : out_(out) {}
  void Kind(const char* name, uint32_t count, uint32_t limit) {
    const uint32_t left = count < limit ? limit - count : 0;
    if (first_ || left < out_.left()) out_.set_left(left);
    first_ = false;
    // A limit of 0 is spent by the first fault, not before.
    if (count > 0 && left == 0 && out_.spent().empty()) out_.set_spent(name);
  }

 private:
  v1::DispatchRetry& out_;
  bool first_ = true;
};

}  // namespace

RetryLimits RetryLimitsOf(const v1::RetryPolicy& policy, const v1::DispatcherConfig& config) {
  return {policy.has_max_attempts() ? policy.max_attempts() : config.max_attempts(),
          policy.has_max_malformed() ? policy.max_malformed() : config.max_malformed(),
          policy.has_max_unknown_tool() ? policy.max_unknown_tool() : config.max_unknown_tool(),
          policy.has_max_invalid_arguments() ? policy.max_invalid_arguments()
                                             : config.max_invalid_arguments()};
}

v1::DispatchRetry RetryLedger::Note(const std::string& session_id, absl::string_view turn_id,
                                    const OutputFaults& faults, bool done,
                                    const RetryLimits& limits) {
  Turn turn;
  turn.id = std::string(turn_id);
  absl::MutexLock lock(&mu_);
  const auto session = sessions_.find(session_id);
  if (session != sessions_.end()) {
    std::list<Turn>& turns = session->second;
    const auto at = std::find_if(turns.begin(), turns.end(),
                                 [&turn](const Turn& known) { return known.id == turn.id; });
    if (at != turns.end()) {
      turn = *at;
      turns.erase(at);
    }
  }
  if (done) {
    const std::string id = turn.id;
    turn = Turn();
    turn.id = id;
  }
  turn.attempts += faults.any() ? 1 : 0;
  turn.malformed += faults.malformed ? 1 : 0;
  turn.unknown_tool += faults.unknown_tool ? 1 : 0;
  turn.invalid_arguments += faults.invalid_arguments ? 1 : 0;

  v1::DispatchRetry out;
  out.set_attempt(turn.attempts);
  Standing standing(out);
  standing.Kind("attempts", turn.attempts, limits.attempts);
  // Kinds that did not come up yet may still; those that did bound what is left.
  if (turn.malformed > 0) standing.Kind("malformed", turn.malformed, limits.malformed);
  if (turn.unknown_tool > 0) standing.Kind("unknown_tool", turn.unknown_tool, limits.unknown_tool);
  if (turn.invalid_arguments > 0) {
    standing.Kind("invalid_arguments", turn.invalid_arguments, limits.invalid_arguments);
  }
  out.set_exhausted(!out.spent().empty());
  if (session != sessions_.end() && turn.attempts > 0) {
    session->second.push_front(turn);
    if (session->second.size() > kMaxTurns) session->second.pop_back();
  }
  return out;
}

void RetryLedger::OpenSession(const std::string& session_id) {
  absl::MutexLock lock(&mu_);
  sessions_.try_emplace(session_id);
}

void RetryLedger::CloseSession(const std::string& session_id) {
  absl::MutexLock lock(&mu_);
  sessions_.erase(session_id);
}

}  // namespace toolrack
