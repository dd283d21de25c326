// From a handler's outcome to the message that answers the invocation.
#ifndef TOOLRACK_CLIENT_WORKER_ANSWER_H_
#define TOOLRACK_CLIENT_WORKER_ANSWER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "client/worker.h"
#include "registry/base/stop.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// An answer of more than `max_message_bytes` would end the stream, and with it every other call: it
// becomes a failure that says so. Pure, thread-safe.
v1::WorkerResult MakeWorkerResult(uint64_t invocation_id, WorkerOutcome outcome,
                                  uint64_t max_message_bytes);

// `deadline`, `caller`, `admin`, `shutdown`; anything else counts as `caller`.
StopReason StopReasonFromName(absl::string_view name);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_WORKER_ANSWER_H_
