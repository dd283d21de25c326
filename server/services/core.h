// What the services are doors to: the parts of one daemon.
#ifndef TOOLRACK_SERVER_SERVICES_CORE_H_
#define TOOLRACK_SERVER_SERVICES_CORE_H_

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/call/hook_set.h"
#include "registry/call/pipeline.h"
#include "registry/call/result_store.h"
#include "registry/policy/approvals.h"
#include "registry/policy/policy.h"
#include "registry/registry.h"
#include "registry/search/search.h"
#include "registry/session_table.h"
#include "server/backends/worker_hub.h"
#include "server/rpc/admission.h"
#include "server/rpc/method_stats.h"
#include "server/services/prompts.h"
#include "server/services/watch_set.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// What an administrator can ask of the daemon as a whole. Thread-safe.
class DaemonControl {
 public:
  virtual ~DaemonControl() = default;
  // Everything in GetStatusResponse. May take a millisecond.
  virtual v1::GetStatusResponse Status() const = 0;
  // Starts to drain and returns at once; a second one may only shorten the grace.
  virtual void BeginDrain(absl::Duration grace) = 0;
  // Reads the configuration again; blocks for the file. CONFIG_INVALID: nothing was changed.
  virtual absl::StatusOr<v1::ReloadConfigResponse> ReloadConfig(bool check_only) = 0;
};

// All outlive the services.
struct Core {
  v1::Config config;  // with defaults
  Registry* registry = nullptr;
  Searcher* searcher = nullptr;
  CallPipeline* pipeline = nullptr;
  ResultStore* results = nullptr;
  SessionTable* sessions = nullptr;
  HookSet* hooks = nullptr;
  WorkerHub* workers = nullptr;
  Executor* executor = nullptr;  // for requests that take over 100 µs
  Clock* clock = nullptr;
  DaemonControl* control = nullptr;
  MethodTable* methods = nullptr;
  WatchSet* watches = nullptr;
  const Admission* admission = nullptr;
  const Policy* policy = nullptr;
  Approvals* approvals = nullptr;
  Prompts* prompts = nullptr;
  const CallUnwrapper* unwrapper = nullptr;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_CORE_H_
