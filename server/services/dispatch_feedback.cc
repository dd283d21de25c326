#include "server/services/dispatch_feedback.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/proto_time.h"
#include "renderers/signature.h"

namespace toolrack {
v1::CallStatus ToCallStatus(const absl::Status& status) {
  v1::CallStatus out;
  out.set_code(static_cast<int32_t>(status.code()));
  out.set_message(std::string(status.message()));
  out.set_reason(std::string(ReasonName(ReasonOf(status))));
  for (auto& [key, value] : MetadataOf(status)) (*out.mutable_metadata())[key] = value;
  if (const std::optional<absl::Duration> delay = RetryDelayOf(status)) {
    SetDuration(*delay, *out.mutable_retry_delay());
  }
  return out;
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
