// Reading what a worker sent, also when one text in it is not UTF-8.
//
// protobuf refuses a whole message for one bad `string`, and gRPC then ends the stream as if the
// worker had hung up. The stream is therefore read as bytes; a message that protobuf refuses is
// read a second time, part by part.
//
// Pure functions, thread-safe.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_DECODE_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_DECODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// One message, and the parts of it that could not be taken.
struct WorkerMessage {
  v1::WorkerServiceAttachRequest request;
  // Tools left out of `request.publish`, with the reason.
  std::vector<v1::WorkerRejected> bad_tools;
  // Results left out of `request.results`.
  std::vector<uint64_t> bad_results;

  // Keeps memory for the next one.
  void Clear() {
    request.Clear();
    bad_tools.clear();
    bad_results.clear();
  }
};

// The second reading. PROTOCOL_VIOLATION when the bytes are no message at all, or when the bad text
// is one that nothing can be answered without (worker name, namespace).
absl::Status DecodeLeniently(absl::string_view bytes, WorkerMessage& out);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_DECODE_H_
