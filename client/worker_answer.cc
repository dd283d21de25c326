#include "client/worker_answer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

// Room for the other fields of the message around a single answer.
constexpr uint64_t kEnvelope = 1 << 10;

void MoveContent(v1::Content& from, v1::WorkerContent* to) {
  switch (from.content_case()) {
    case v1::Content::kText:
      to->mutable_text()->set_text(std::move(*from.mutable_text()->mutable_text()));
      return;
    case v1::Content::kJson:
      to->mutable_json()->set_json(std::move(*from.mutable_json()->mutable_json()));
      return;
    case v1::Content::kImage:
    case v1::Content::kAudio: {
      v1::MediaContent* media = from.has_image() ? from.mutable_image() : from.mutable_audio();
      v1::WorkerMediaContent* out = from.has_image() ? to->mutable_image() : to->mutable_audio();
      out->set_data(std::move(*media->mutable_data()));
      out->set_mime_type(std::move(*media->mutable_mime_type()));
      return;
    }
    case v1::Content::kResourceLink: {
      v1::ResourceLink* link = from.mutable_resource_link();
      v1::WorkerResourceLink* out = to->mutable_resource_link();
      out->set_uri(std::move(*link->mutable_uri()));
      out->set_name(std::move(*link->mutable_name()));
      out->set_description(std::move(*link->mutable_description()));
      out->set_mime_type(std::move(*link->mutable_mime_type()));
      return;
    }
    case v1::Content::kResource: {
      v1::EmbeddedResource* resource = from.mutable_resource();
      v1::WorkerEmbeddedResource* out = to->mutable_resource();
      out->set_uri(std::move(*resource->mutable_uri()));
      out->set_mime_type(std::move(*resource->mutable_mime_type()));
      if (resource->has_text()) out->set_text(std::move(*resource->mutable_text()));
      if (resource->has_blob()) out->set_blob(std::move(*resource->mutable_blob()));
      return;
    }
    case v1::Content::CONTENT_NOT_SET:
      return;
  }
}

void MoveResult(v1::ToolResult& from, v1::WorkerToolResult* to) {
  for (v1::Content& content : *from.mutable_content()) MoveContent(content, to->add_content());
  to->set_structured_json(std::move(*from.mutable_structured_json()));
  to->set_is_error(from.is_error());
  to->set_summary(std::move(*from.mutable_summary()));
  to->set_meta_json(std::move(*from.mutable_meta_json()));
  if (!from.has_error()) return;
  to->mutable_error()->set_reason(std::move(*from.mutable_error()->mutable_reason()));
  for (auto& [key, value] : *from.mutable_error()->mutable_metadata())
    (*to->mutable_error()->mutable_metadata())[key] = std::move(value);
}

v1::WorkerFailureCode CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return v1::WORKER_FAILURE_CODE_NOT_STARTED;
    case absl::StatusCode::kInvalidArgument:
      return v1::WORKER_FAILURE_CODE_INVALID_ARGUMENT;
    case absl::StatusCode::kInternal:
      return v1::WORKER_FAILURE_CODE_INTERNAL;
    default:
      return v1::WORKER_FAILURE_CODE_EXECUTION_FAILED;
  }
}

}  // namespace

v1::WorkerResult MakeWorkerResult(uint64_t invocation_id, WorkerOutcome outcome,
                                  uint64_t max_message_bytes) {
  v1::WorkerResult result;
  result.set_invocation_id(invocation_id);
  if (!outcome.ok()) {
    result.mutable_failure()->set_code(CodeOf(outcome.status()));
    result.mutable_failure()->set_message(std::string(outcome.status().message()));
  } else {
    MoveResult(*outcome, result.mutable_result());
  }
  const uint64_t bytes = result.ByteSizeLong() + kEnvelope;
  if (bytes <= max_message_bytes) return result;
  result.mutable_failure()->set_code(v1::WORKER_FAILURE_CODE_INTERNAL);
  result.mutable_failure()->set_message(absl::StrCat(
      "The tool ran, but its result is over the limit max_message_bytes: ", max_message_bytes,
      " allowed, ", bytes, " needed."));
  return result;
}

StopReason StopReasonFromName(absl::string_view name) {
  for (StopReason reason :
       {StopReason::kDeadline, StopReason::kCaller, StopReason::kAdmin, StopReason::kShutdown}) {
    if (name == StopReasonName(reason)) return reason;
  }
  return StopReason::kCaller;
}

v1::ToolResult TextOutcome(absl::string_view text) {
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(std::string(text));
  return result;
}

v1::ToolResult JsonOutcome(std::string json) {
  v1::ToolResult result;
  result.set_structured_json(json);
  result.add_content()->mutable_json()->set_json(std::move(json));
  return result;
}

}  // namespace toolrack
