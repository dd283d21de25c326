#include "client/cli/exit_code.h"

namespace toolrack {

const char kExitCodeHelp[] =
    "Exit codes: 0 ok, 1 the tool failed, 2 wrong command line, 3 wrong arguments, 4 not found,\n"
    "5 refused, 6 busy, 7 unavailable, 8 outcome unknown, 9 too late, 10 cancelled, 11 internal.";

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
      return kExitInvalid;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
      return kExitRefused;
    case absl::StatusCode::kResourceExhausted:
      return kExitBusy;
    case absl::StatusCode::kUnavailable:
      return kExitUnavailable;
    case absl::StatusCode::kUnknown:
      return kExitOutcomeUnknown;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitTimeout;
    case absl::StatusCode::kCancelled:
      return kExitCancelled;
    default:
      return kExitInternal;
  }
}

}  // namespace toolrack
