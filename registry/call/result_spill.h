// Where kept results lie: in memory, or in a file.
#ifndef TOOLRACK_REGISTRY_CALL_RESULT_SPILL_H_
#define TOOLRACK_REGISTRY_CALL_RESULT_SPILL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// One kept result. Immutable, thread-safe. Its room is free when the last holder is gone.
class ResultBody {
 public:
  virtual ~ResultBody() = default;
  virtual uint64_t size() const = 0;
  // Bytes [from, from + length), as far as there are any.
  virtual absl::StatusOr<std::string> Read(uint64_t from, uint64_t length) const = 0;
};

std::shared_ptr<const ResultBody> MakeMemoryBody(std::string bytes);

// Thread-safe.
class ResultSpill {
 public:
  virtual ~ResultSpill() = default;
  // Blocks as long as the disk does: not on a gRPC thread for much. A status when the disk is full,
  // or whatever else is wrong with it; nothing is left behind then.
  virtual absl::StatusOr<std::shared_ptr<const ResultBody>> Write(absl::string_view bytes) = 0;
};

// Files without a name in `folder` (created with mode 0700): the system frees them when they are
// closed, also when the process is killed. FAILED_PRECONDITION when the folder cannot be used or is
// writable by others.
absl::StatusOr<std::unique_ptr<ResultSpill>> MakeFileSpill(const std::string& folder);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_RESULT_SPILL_H_
