// How `toolrack` ends: one code for each kind of outcome, for scripts.
//
//   code  meaning                      from
//   0     ok
//   1     the tool ran and failed      a result with is_error
//   2     the command line is wrong    toolrack itself
//   3     arguments or request wrong   INVALID_ARGUMENT
//   4     not found                    NOT_FOUND
//   5     refused                      PERMISSION_DENIED, UNAUTHENTICATED, FAILED_PRECONDITION,
//                                      ALREADY_EXISTS
//   6     busy, try again later        RESOURCE_EXHAUSTED
//   7     unavailable                  UNAVAILABLE
//   8     outcome unknown              UNKNOWN: the tool may have run
//   9     too late                     DEADLINE_EXCEEDED: the tool may have run
//   10    cancelled                    CANCELLED, Ctrl-C
//   11    internal error               every other code
#ifndef TOOLRACK_CLIENT_CLI_EXIT_CODE_H_
#define TOOLRACK_CLIENT_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace toolrack {

enum ExitCode {
  kExitOk = 0,
  kExitToolFailed = 1,
  kExitUsage = 2,
  kExitInvalid = 3,
  kExitNotFound = 4,
  kExitRefused = 5,
  kExitBusy = 6,
  kExitUnavailable = 7,
  kExitOutcomeUnknown = 8,
  kExitTimeout = 9,
  kExitCancelled = 10,
  kExitInternal = 11,
};

// By the table above. Pure.
ExitCode ExitCodeFor(const absl::Status& status);

// The table for --help.
extern const char kExitCodeHelp[];

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_EXIT_CODE_H_
