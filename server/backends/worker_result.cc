#include "server/backends/worker_result.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr char kWorker[] = "its worker";
constexpr char kExecutionFailed[] = "EXECUTION_FAILED";
constexpr char kToolInternal[] = "TOOL_INTERNAL";
constexpr char kToolInvalidArgument[] = "TOOL_INVALID_ARGUMENT";

// Moves texts from an answer to a result, and remembers the first fault.
class Mover {
 public:
  // `sender`: who is at fault, in the middle of a sentence.
  Mover(absl::string_view sender, const WorkerResultLimits& limits)
      : sender_(sender), limits_(limits) {}

  void Text(std::string* from, absl::string_view what, std::string* to) {
    Count(from->size());
    if (!ok()) return;
    const size_t at = FirstInvalidUtf8(*from);
    if (at == from->size()) {
      *to = std::move(*from);
      return;
    }
    Fail(absl::StrCat(sender_, " sent bytes that are not UTF-8 in ", what, " (byte ", at, ")"));
  }

  void JsonText(std::string* from, absl::string_view what, bool object, std::string* to) {
    Text(from, what, to);
    if (!ok()) return;
    Json value;
    JsonLimits limits;
    limits.max_bytes = limits_.max_bytes;
    limits.max_depth = limits_.max_json_depth;
    const auto parsed = ParseJson(*to, limits, value);
    if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
      Fail(absl::StrCat(sender_, " sent ", what, " that is not JSON: ", fault->message, " (byte ",
                        fault->offset, ")"));
    } else if (object && !value.is_object()) {
      Fail(absl::StrCat(sender_, " sent ", what, " that is not a JSON object"));
    }
  }

  void Blob(std::string* from, std::string* to) {
    Count(from->size());
    if (ok()) *to = std::move(*from);
  }

  void Fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  bool ok() const { return fault_.empty(); }
  const std::string& fault() const { return fault_; }

 private:
  void Count(size_t size) {
    bytes_ += size;
    if (bytes_ > limits_.max_bytes) {
      Fail(absl::StrCat("it is over the limit max_result_bytes: ", limits_.max_bytes,
                        " allowed, at least ", bytes_, " came"));
    }
  }

  absl::string_view sender_;
  const WorkerResultLimits& limits_;
  uint64_t bytes_ = 0;
  std::string fault_;
};

void MoveContent(v1::WorkerContent& from, Mover& mover, v1::Content* to) {
  switch (from.content_case()) {
    case v1::WorkerContent::kText:
      mover.Text(from.mutable_text()->mutable_text(), "a text", to->mutable_text()->mutable_text());
      return;
    case v1::WorkerContent::kJson:
      mover.JsonText(from.mutable_json()->mutable_json(), "a JSON content", /*object=*/false,
                     to->mutable_json()->mutable_json());
      return;
    case v1::WorkerContent::kImage:
    case v1::WorkerContent::kAudio: {
      const bool image = from.has_image();
      v1::WorkerMediaContent* media = image ? from.mutable_image() : from.mutable_audio();
      v1::MediaContent* out = image ? to->mutable_image() : to->mutable_audio();
      mover.Blob(media->mutable_data(), out->mutable_data());
      mover.Text(media->mutable_mime_type(), "a mime_type", out->mutable_mime_type());
      return;
    }
    case v1::WorkerContent::kResourceLink: {
      v1::WorkerResourceLink* link = from.mutable_resource_link();
      v1::ResourceLink* out = to->mutable_resource_link();
      mover.Text(link->mutable_uri(), "a uri", out->mutable_uri());
      mover.Text(link->mutable_name(), "a resource's name", out->mutable_name());
      mover.Text(link->mutable_description(), "a resource's description",
                 out->mutable_description());
      mover.Text(link->mutable_mime_type(), "a mime_type", out->mutable_mime_type());
      return;
    }
    case v1::WorkerContent::kResource: {
      v1::WorkerEmbeddedResource* resource = from.mutable_resource();
      v1::EmbeddedResource* out = to->mutable_resource();
      mover.Text(resource->mutable_uri(), "a uri", out->mutable_uri());
      mover.Text(resource->mutable_mime_type(), "a mime_type", out->mutable_mime_type());
      if (resource->has_text())
        mover.Text(resource->mutable_text(), "a resource's text", out->mutable_text());
      if (resource->has_blob()) mover.Blob(resource->mutable_blob(), out->mutable_blob());
      return;
    }
    case v1::WorkerContent::CONTENT_NOT_SET:
      mover.Fail("one of its contents holds nothing");
      return;
  }
}

void MoveError(v1::WorkerToolError& from, Mover& mover, v1::ToolError* to) {
  std::string reason;
  mover.Text(from.mutable_reason(), "an error's reason", &reason);
  for (auto& [key, value] : *from.mutable_metadata())
    mover.Text(&value, "an error's metadata", &(*to->mutable_metadata())[key]);
  if (reason == kToolInternal || reason == kToolInvalidArgument || reason == kExecutionFailed) {
    to->set_reason(std::move(reason));
    return;
  }
  to->set_reason(kExecutionFailed);
  if (!reason.empty()) (*to->mutable_metadata())["tool_reason"] = std::move(reason);
}

v1::ToolResult Dropped(absl::string_view tool, absl::string_view fault) {
  return ToolInternal(absl::StrCat("The tool ", ForMessage(tool, 200),
                                   " ran, but its result was dropped: ", fault,
                                   ". Its author must mend it."));
}

absl::StatusOr<v1::ToolResult> TakeFailure(v1::WorkerFailure& failure, absl::string_view tool,
                                           absl::string_view worker,
                                           const WorkerResultLimits& limits) {
  if (failure.code() == v1::WORKER_FAILURE_CODE_NOT_STARTED)
    return ToolNotStarted(tool, worker, failure.message());
  v1::ToolResult result;
  Mover mover(kWorker, limits);
  std::string message;
  mover.Text(failure.mutable_message(), "a failure's message", &message);
  std::string details;
  if (!failure.details_json().empty()) {
    mover.JsonText(failure.mutable_details_json(), "details_json", /*object=*/true, &details);
  }
  if (!mover.ok()) return Dropped(tool, mover.fault());
  const char* reason =
      failure.code() == v1::WORKER_FAILURE_CODE_INVALID_ARGUMENT   ? kToolInvalidArgument
      : failure.code() == v1::WORKER_FAILURE_CODE_EXECUTION_FAILED ? kExecutionFailed
                                                                   : kToolInternal;
  if (message.empty()) message = absl::StrCat("The tool ", tool, " failed without saying why.");
  result.set_is_error(true);
  result.mutable_error()->set_reason(reason);
  result.add_content()->mutable_text()->set_text(std::move(message));
  if (!details.empty()) {
    JsonLimits json_limits;
    json_limits.max_bytes = limits.max_bytes;
    Json object;
    if (std::holds_alternative<std::monostate>(ParseJson(details, json_limits, object))) {
      for (const auto& [key, value] : object.items()) {
        if (value.is_string())
          (*result.mutable_error()->mutable_metadata())[key] = value.get<std::string>();
      }
    }
  }
  return result;
}

}  // namespace

v1::ToolResult ToolInternal(absl::string_view text) {
  v1::ToolResult result;
  result.set_is_error(true);
  result.mutable_error()->set_reason(kToolInternal);
  result.add_content()->mutable_text()->set_text(std::string(text));
  return result;
}

absl::StatusOr<v1::ToolResult> TakeToolResult(v1::WorkerToolResult& from,
                                              const WorkerResultLimits& limits,
                                              absl::string_view sender) {
  v1::ToolResult to;
  Mover mover(sender, limits);
  for (v1::WorkerContent& content : *from.mutable_content()) {
    MoveContent(content, mover, to.add_content());
    if (!mover.ok()) return absl::InvalidArgumentError(mover.fault());
  }
  if (!from.structured_json().empty()) {
    mover.JsonText(from.mutable_structured_json(), "structured_json", /*object=*/false,
                   to.mutable_structured_json());
  }
  if (!from.meta_json().empty()) {
    mover.JsonText(from.mutable_meta_json(), "meta_json", /*object=*/true, to.mutable_meta_json());
  }
  if (!from.summary().empty()) mover.Text(from.mutable_summary(), "summary", to.mutable_summary());
  if (from.is_error() || from.has_error()) {
    to.set_is_error(true);
    MoveError(*from.mutable_error(), mover, to.mutable_error());
  }
  if (!mover.ok()) return absl::InvalidArgumentError(mover.fault());
  return to;
}

absl::StatusOr<v1::ToolResult> TakeOutcome(v1::WorkerResult& answer, absl::string_view tool,
                                           absl::string_view worker,
                                           const WorkerResultLimits& limits) {
  switch (answer.outcome_case()) {
    case v1::WorkerResult::kResult: {
      absl::StatusOr<v1::ToolResult> result =
          TakeToolResult(*answer.mutable_result(), limits, kWorker);
      if (result.ok()) return result;
      return Dropped(tool, result.status().message());
    }
    case v1::WorkerResult::kFailure:
      return TakeFailure(*answer.mutable_failure(), tool, worker, limits);
    case v1::WorkerResult::OUTCOME_NOT_SET:
      break;
  }
  return ToolInternal(absl::StrCat("The worker of ", ForMessage(tool, 200),
                                   " answered with neither a result nor a failure."));
}

size_t JsonBytesOf(const v1::WorkerResult& answer) {
  if (answer.has_failure()) return answer.failure().details_json().size();
  size_t bytes = answer.result().structured_json().size() + answer.result().meta_json().size();
  for (const v1::WorkerContent& content : answer.result().content()) {
    if (content.has_json()) bytes += content.json().json().size();
  }
  return bytes;
}

}  // namespace toolrack
