#include "server/services/dispatch_feedback.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "renderers/signature.h"

namespace toolrack {
namespace {

constexpr size_t kShownSpan = 200;

}  // namespace

v1::CallStatus ToCallStatus(const absl::Status& status) {
  v1::CallStatus out;
  out.set_code(static_cast<int32_t>(status.code()));
  out.set_message(std::string(status.message()));
  out.set_reason(std::string(ReasonName(ReasonOf(status))));
  return out;
}

absl::Status OutputMalformed(const v1::OutputMalformed& malformed) {
  std::string message =
      absl::StrCat("A tool call could not be read, and nothing was run for it: ",
                   malformed.reason().empty() ? "it is not as it should be" : malformed.reason(),
                   ". Write the call again, whole.");
  if (!malformed.span().empty()) {
    absl::StrAppend(&message, " It was: ", ForMessage(malformed.span(), kShownSpan));
  }
  return MakeError(absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_OUTPUT_MALFORMED, message,
                   {{"fault", ForMessage(malformed.reason())}}, Executed::kNo);
}

absl::Status OutputUnfinished(absl::string_view wire_name) {
  v1::OutputMalformed malformed;
  malformed.set_reason(absl::StrCat("the output ended within the call of ", ForMessage(wire_name)));
  return OutputMalformed(malformed);
}

void AddFault(const absl::Status& status, OutputFaults& faults) {
  switch (ReasonOf(status)) {
    case v1::ERROR_REASON_OUTPUT_MALFORMED:
      faults.malformed = true;
      return;
    case v1::ERROR_REASON_TOOL_NOT_FOUND:
      faults.unknown_tool = true;
      return;
    case v1::ERROR_REASON_ARGUMENTS_NOT_JSON:
    case v1::ERROR_REASON_ARGUMENTS_INVALID:
    case v1::ERROR_REASON_ARGUMENTS_TOO_LARGE:
      faults.invalid_arguments = true;
      return;
    default:
      return;
  }
}

std::string FeedbackText(const absl::Status& status, const v1::Tool* tool) {
  std::string text(status.message());
  if (tool == nullptr || ReasonOf(status) != v1::ERROR_REASON_ARGUMENTS_INVALID) return text;
  std::vector<std::string> pointers;
  for (const FieldFault& fault : FaultsOf(status)) pointers.push_back(fault.field);
  const std::string excerpt = SchemaExcerpt(tool->input_schema(), pointers);
  if (!excerpt.empty()) absl::StrAppend(&text, "\nFrom its schema:\n", excerpt);
  absl::StrAppend(&text, "\nIt takes: ", Signature(tool->name(), tool->input_schema()));
  return text;
}

}  // namespace toolrack
