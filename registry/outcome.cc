#include "registry/outcome.h"

#include "registry/base/errors.h"
#include "registry/base/utf8.h"

namespace toolrack {

v1::ToolResult TextResult(absl::string_view text) {
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(std::string(text));
  return result;
}

v1::ToolResult ErrorResult(v1::ErrorReason reason, absl::string_view text,
                           const std::map<std::string, std::string>& metadata) {
  v1::ToolResult result = TextResult(text);
  result.set_is_error(true);
  result.mutable_error()->set_reason(std::string(ReasonName(reason)));
  for (const auto& [key, value] : metadata) {
    (*result.mutable_error()->mutable_metadata())[key] = value;
  }
  return result;
}

bool IsBackendFailure(const absl::Status& status) {
  switch (ReasonOf(status)) {
    case v1::ERROR_REASON_BACKEND_UNAVAILABLE:
    case v1::ERROR_REASON_CIRCUIT_OPEN:
    case v1::ERROR_REASON_OUTCOME_UNKNOWN:
    case v1::ERROR_REASON_DRAINING:
    case v1::ERROR_REASON_CONCURRENCY:
    case v1::ERROR_REASON_QUEUE_FULL:
    case v1::ERROR_REASON_MESSAGE_TOO_LARGE:
    case v1::ERROR_REASON_TIMEOUT:
    case v1::ERROR_REASON_CANCELLED:
    case v1::ERROR_REASON_SESSION_NOT_FOUND:
    case v1::ERROR_REASON_INTERNAL:
      return true;
    default:
      return false;
  }
}

v1::ToolResult ResultFromStatus(const absl::Status& status) {
  v1::ErrorReason reason = v1::ERROR_REASON_EXECUTION_FAILED;
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    reason = v1::ERROR_REASON_TOOL_INVALID_ARGUMENT;
  } else if (status.code() == absl::StatusCode::kInternal) {
    reason = v1::ERROR_REASON_TOOL_INTERNAL;
  }
  ErrorMetadata metadata = MetadataOf(status);
  metadata["code"] = absl::StatusCodeToString(status.code());
  const absl::string_view message = status.message();
  return ErrorResult(
      reason, message.empty() ? "The tool failed and gave no reason." : ReplaceInvalidUtf8(message),
      metadata);
}

}  // namespace toolrack
