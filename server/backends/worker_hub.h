// All attached workers: their backends, their grace, their draining.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_HUB_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_HUB_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/base/timers.h"
#include "registry/registry.h"
#include "registry/session_table.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

struct WorkerHubOptions {
  v1::WorkersConfig workers;  // 0 is the default, here and below
  v1::LimitsConfig limits;
  uint64_t max_result_bytes = 16 << 20;
};

// Thread-safe. Outlives the server that serves its streams.
class WorkerHub {
 public:
  struct Parts {  // all outlive this
    Registry* registry;
    Timers* timers;
    Clock* clock;
    Executor* executor;                // publishing runs here: it compiles schemas
    SessionTable* sessions = nullptr;  // null: there are no sessions
  };
  WorkerHub(Parts parts, WorkerHubOptions options);
  ~WorkerHub();

  // Attached, draining, and lost within their grace. Sorted by name.
  std::vector<v1::WorkerInfo> List() const;
  size_t attached() const;
  // No new calls for this worker (in any state); it is told with `drain`. WORKER_NOT_FOUND.
  absl::Status DrainWorker(absl::string_view worker_name, absl::Duration grace);
  // Tells every worker that the daemon is going away. New Attach streams are refused with DRAINING
  // from now on.
  void Drain(absl::Duration grace);
  // Ends every stream with DRAINING. Calls still in the air end with OutcomeUnknown.
  void Shutdown();

  struct State;
  State& state() { return *state_; }  // for worker_service and worker_stream only

 private:
  std::shared_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_HUB_H_
