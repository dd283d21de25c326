// How often a model was asked to try again, turn by turn.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_RETRY_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_RETRY_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "registry/session_table.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/dispatcher_service.pb.h"
#include "toolrack/v1/session_service.pb.h"

namespace toolrack {

// What was wrong with one output. `other`: something that counts only in all (too many calls).
struct OutputFaults {
  bool malformed = false;
  bool unknown_tool = false;
  bool invalid_arguments = false;
  bool other = false;
  bool any() const { return malformed || unknown_tool || invalid_arguments || other; }
};

struct RetryLimits {
  uint32_t attempts, malformed, unknown_tool, invalid_arguments;
};
// What the session says, else the configuration (with defaults).
RetryLimits RetryLimitsOf(const v1::RetryPolicy& policy, const v1::DispatcherConfig& config);

// The counts of all sessions. An output counts once for each kind of fault that it has, and once in
// all. A turn is spent at its limit-th faulty output, and stays spent until it is done or another
// turn begins. Thread-safe; keeps the last kMaxTurns turns of each session that is open.
class RetryLedger final : public SessionHost {
 public:
  static constexpr size_t kMaxTurns = 16;

  // Notes an output and says where the turn stands. `done`: it ends the turn.
  v1::DispatchRetry Note(const std::string& session_id, absl::string_view turn_id,
                         const OutputFaults& faults, bool done, const RetryLimits& limits);

  void OpenSession(const std::string& session_id) override;
  // What is noted for it afterwards is not kept.
  void CloseSession(const std::string& session_id) override;

 private:
  struct Turn {
    std::string id;
    uint32_t attempts = 0, malformed = 0, unknown_tool = 0, invalid_arguments = 0;
  };
  absl::Mutex mu_;
  // Newest use first.
  absl::flat_hash_map<std::string, std::list<Turn>> sessions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_RETRY_H_
