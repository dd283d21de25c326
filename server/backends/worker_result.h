// From a worker's answer to the outcome of a call: every text checked, every failure mapped.
//
// Pure functions, thread-safe.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_RESULT_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_RESULT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "toolrack/v1/result.pb.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// What a result may be at most.
struct WorkerResultLimits {
  uint64_t max_bytes = 16 << 20;  // all texts and blobs together
  size_t max_json_depth = 64;
};

// The outcome that the pipeline gets. Takes the texts out of `answer`, without copying them.
//
// NOT_STARTED becomes BackendUnavailable (not executed). Everything else is a result: text that is
// not UTF-8, JSON that is none, and sizes over the limit become TOOL_INTERNAL results that say so.
absl::StatusOr<v1::ToolResult> TakeOutcome(v1::WorkerResult& answer, absl::string_view tool,
                                           absl::string_view worker,
                                           const WorkerResultLimits& limits);

// A result alone, of whoever is called `sender` in the fault: its texts taken out as above. Fails
// with what is wrong with it.
absl::StatusOr<v1::ToolResult> TakeToolResult(v1::WorkerToolResult& from,
                                              const WorkerResultLimits& limits,
                                              absl::string_view sender = "it");

// Bytes of JSON in an answer that TakeOutcome would parse: what decides whether it may run on a
// callback thread.
size_t JsonBytesOf(const v1::WorkerResult& answer);

// A result with is_error, TOOL_INTERNAL and this text.
v1::ToolResult ToolInternal(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_RESULT_H_
