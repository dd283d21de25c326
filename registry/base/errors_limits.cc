// The errors of limits that wait or count over time.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

using absl::StatusCode;

constexpr absl::Duration kLeastWait = absl::Milliseconds(1);

std::string S(absl::string_view text) { return ForMessage(text, 200); }

// Rounded up: whoever comes back after it comes late enough.
absl::Duration Rounded(absl::Duration wait) {
  return std::max(absl::Ceil(wait, absl::Milliseconds(1)), kLeastWait);
}

}  // namespace

absl::Status WaitedTooLong(absl::string_view limit, uint64_t allowed, absl::string_view scope,
                           absl::Duration waited) {
  absl::Status status = MakeError(
      StatusCode::kResourceExhausted, v1::ERROR_REASON_CONCURRENCY,
      absl::StrCat("Too many at once: ", limit, " allows ", allowed, " for ", S(scope),
                   ", and none ended within the ", absl::FormatDuration(waited),
                   " of limits.queue_timeout. Nothing was run; try later."),
      {{"limit", std::string(limit)}, {"allowed", absl::StrCat(allowed)}, {"scope", S(scope)}},
      Executed::kNo);
  AttachRetry(status, absl::Seconds(1));
  return status;
}

absl::Status RateExceeded(absl::string_view limit, uint64_t allowed, absl::string_view scope,
                          absl::Duration wait) {
  wait = Rounded(wait);
  absl::Status status = MakeError(
      StatusCode::kResourceExhausted, v1::ERROR_REASON_RATE,
      absl::StrCat("Too many calls: ", limit, " allows ", allowed, " a minute for ", S(scope),
                   ". Nothing was run; try again in ", absl::FormatDuration(wait), "."),
      {{"limit", std::string(limit)}, {"allowed", absl::StrCat(allowed)}, {"scope", S(scope)}},
      Executed::kNo);
  AttachRetry(status, wait);
  return status;
}

absl::Status CircuitOpen(absl::string_view tool, absl::string_view backend, absl::Duration wait) {
  wait = Rounded(wait);
  absl::Status status = MakeError(
      StatusCode::kUnavailable, v1::ERROR_REASON_CIRCUIT_OPEN,
      absl::StrCat(backend.empty() ? absl::StrCat("The tool ", S(tool))
                                   : absl::StrCat("The backend ", S(backend), " of ", S(tool)),
                   " keeps failing and is left alone for a while; the tool was not run. Try again "
                   "in ",
                   absl::FormatDuration(wait), ", or use another tool."),
      {{"tool", std::string(tool)}, {"backend", std::string(backend)}}, Executed::kNo);
  AttachRetry(status, wait);
  return status;
}

}  // namespace toolrack
