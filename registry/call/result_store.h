// Results over the cap, kept by handle until their time is up.
#ifndef TOOLRACK_REGISTRY_CALL_RESULT_STORE_H_
#define TOOLRACK_REGISTRY_CALL_RESULT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/clock.h"
#include "registry/call/result_spill.h"
#include "registry/session_table.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Bounded in bytes and in time. What memory has no room for lies in files, when there is a spill;
// else, and when that is full or fails, the oldest results go. Thread-safe.
class ResultStore : public SessionHost {
 public:
  // clock outlives this; 0 is the default.
  ResultStore(Clock* clock, v1::ResultsConfig options,
              std::unique_ptr<ResultSpill> spill = nullptr);
  ~ResultStore() override;

  // Keeps `bytes` for `principal`, no longer than the session (empty: none) lasts; gives an
  // unguessable handle. Empty when it can never fit.
  std::string Put(std::string bytes, absl::string_view principal,
                  absl::string_view session_id = "");
  // Drops what belongs to it. May be called again for what came after it was over.
  void CloseSession(const std::string& session_id) override;
  // RESULT_NOT_FOUND for an unknown handle, another principal's, or (said so) an expired one.
  // Reading past the end is an empty range with eof.
  absl::StatusOr<v1::ReadResultResponse> Read(const v1::ReadResultRequest& request,
                                              absl::string_view principal);

  uint64_t count() const;
  uint64_t bytes() const;    // in memory
  uint64_t spilled() const;  // in files

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_RESULT_STORE_H_
