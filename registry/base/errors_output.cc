// The errors of what a model wrote, before any tool is asked.
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

constexpr size_t kShownSpan = 200;

}  // namespace

absl::Status OutputMalformed(absl::string_view fault, absl::string_view span) {
  std::string message = absl::StrCat("A tool call could not be read, and nothing was run for it: ",
                                     fault.empty() ? "it is not as it should be" : fault,
                                     ". Write the call again, whole.");
  if (!span.empty()) absl::StrAppend(&message, " It was: ", ForMessage(span, kShownSpan));
  return MakeError(absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_OUTPUT_MALFORMED, message,
                   {{"fault", ForMessage(fault)}}, Executed::kNo);
}

absl::Status OutputUnfinished(absl::string_view wire_name) {
  return OutputMalformed(
      absl::StrCat("the output ended within the call of ", ForMessage(wire_name)), "");
}

}  // namespace toolrack
