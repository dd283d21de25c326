// An error, as a person and as a program want it. Pure, thread-safe.
#ifndef TOOLRACK_CLIENT_CLI_ERROR_REPORT_H_
#define TOOLRACK_CLIENT_CLI_ERROR_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// Lines, the last one ended: message and reason, each faulty field, when to try again, what to
// do next. Harmless on a terminal. `address`: where the daemon was looked for.
std::string ErrorText(const absl::Status& status, absl::string_view address);

// One line: {"error":{"code","reason","message","metadata","field_violations","retry_delay"}}. The
// code is gRPC's name; `reason` is empty when the daemon gave none; `retry_delay` is `0.250s` or
// left out.
std::string ErrorJson(const absl::Status& status);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_ERROR_REPORT_H_
