#include "registry/call/steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr size_t kMaxIdBytes = 128;
// protobuf itself reads no deeper messages.
constexpr size_t kAnyStructDepth = 1000;

absl::Status CheckId(absl::string_view field, absl::string_view value) {
  if (value.size() > kMaxIdBytes) {
    return RequestInvalid(field, value, absl::StrCat("expected at most ", kMaxIdBytes, " bytes"));
  }
  if (!IsUtf8(value)) return RequestInvalid(field, value, "expected UTF-8");
  return absl::OkStatus();
}

bool Contains(const std::vector<const Backend*>& tried, const Backend* backend) {
  return std::find(tried.begin(), tried.end(), backend) != tried.end();
}

}  // namespace

absl::Status CheckRequest(const v1::CallToolRequest& request) {
  if (request.name().empty()) return RequestInvalid("name", "", "expected a tool's name");
  absl::Status status = CheckId("call_id", request.call_id());
  if (status.ok()) status = CheckId("batch_id", request.batch_id());
  if (status.ok()) status = CheckId("idempotency_key", request.idempotency_key());
  if (status.ok()) status = CheckId("approval_id", request.approval_id());
  if (!status.ok()) return status;
  if (request.has_timeout() && ToDuration(request.timeout()) <= absl::ZeroDuration()) {
    return RequestInvalid("timeout", absl::FormatDuration(ToDuration(request.timeout())),
                          "expected more than 0, or leave it out");
  }
  if (!request.input_responses_json().empty()) return NotSupported("input_responses_json");
  if (!request.request_state().empty()) return NotSupported("request_state");
  return absl::OkStatus();
}

FoundTool FindTool(const Registry& registry, absl::string_view name) {
  const Snapshot& snapshot = registry.Peek();
  return {snapshot.Get(name), snapshot.revision()};
}

absl::Status NotFoundWithNearest(const Registry& registry, absl::string_view name,
                                 const ToolVisibility& visible) {
  return ToolNotFound(name, registry.Nearest(name, 3, visible));
}

absl::Status CheckCallable(const ToolEntry& entry, absl::string_view expected_digest) {
  const v1::Tool& tool = entry.definition->tool;
  if (entry.state == v1::TOOL_STATE_QUARANTINED) {
    absl::string_view first = "its definition is faulty";
    size_t errors = 0;
    for (const v1::Finding& finding : tool.findings()) {
      if (finding.severity() != v1::FINDING_SEVERITY_ERROR) continue;
      if (errors++ == 0) first = finding.message();
    }
    return ToolQuarantined(entry.name(), errors, first);
  }
  if (entry.state == v1::TOOL_STATE_DISABLED) return ToolDisabled(entry.name());
  if (!expected_digest.empty() && expected_digest != tool.digest()) {
    return DefinitionChanged(entry.name(), expected_digest, tool.digest());
  }
  return absl::OkStatus();
}

absl::StatusOr<ArgumentInput> TakeInput(absl::string_view tool, v1::CallToolRequest& request) {
  ArgumentInput input;
  switch (request.input_case()) {
    case v1::CallToolRequest::kArgumentsJson:
      input.text = std::move(*request.mutable_arguments_json());
      break;
    case v1::CallToolRequest::kArguments: {
      absl::StatusOr<std::string> text = StructToJson(request.arguments(), kAnyStructDepth);
      if (!text.ok()) return ArgumentsNotJson(tool, 0, text.status().message());
      input.text = *std::move(text);
      break;
    }
    case v1::CallToolRequest::kInputText:
      input.form = ArgumentInput::Form::kText;
      input.text = std::move(*request.mutable_input_text());
      break;
    case v1::CallToolRequest::INPUT_NOT_SET:
      break;
  }
  return input;
}

size_t InputBytes(const v1::CallToolRequest& request) {
  switch (request.input_case()) {
    case v1::CallToolRequest::kArgumentsJson:
      return request.arguments_json().size();
    case v1::CallToolRequest::kArguments:
      return request.arguments().ByteSizeLong();
    case v1::CallToolRequest::kInputText:
      return request.input_text().size();
    case v1::CallToolRequest::INPUT_NOT_SET:
      break;
  }
  return 0;
}

absl::StatusOr<std::shared_ptr<Backend>> ChooseBackend(const ToolEntry& entry,
                                                       const std::vector<const Backend*>& tried,
                                                       const Session* session) {
  if (IsPinned(entry, session)) {
    if (std::shared_ptr<Backend> replica = session->Replica(entry)) return replica;
    return BackendUnavailable(entry.name(), entry.backends.front()->id());
  }
  const std::shared_ptr<Backend>* best = nullptr;
  bool best_fresh = false;
  uint32_t best_load = 0;
  for (const std::shared_ptr<Backend>& backend : entry.backends) {
    if (!backend->available()) continue;
    const bool fresh = tried.empty() || !Contains(tried, backend.get());
    const uint32_t load = entry.backends.size() == 1 ? 0 : backend->in_flight();
    if (best == nullptr || (fresh && !best_fresh) || (fresh == best_fresh && load < best_load)) {
      best = &backend;
      best_fresh = fresh;
      best_load = load;
    }
  }
  if (best != nullptr) return *best;
  return BackendUnavailable(entry.name(),
                            entry.backends.empty() ? "" : entry.backends.front()->id());
}

bool IsPinned(const ToolEntry& entry, const Session* session) {
  return session != nullptr && entry.backends.size() > 1 &&
         entry.definition->tool.scope() == v1::TOOL_SCOPE_SESSION;
}

absl::Status InSession(absl::Status fault, const ToolEntry& entry, const Session* session) {
  if (fault.ok() || session == nullptr || !session->SawAnother(entry.definition->tool)) {
    return fault;
  }
  return NoteDefinitionChanged(fault);
}

bool HasFresh(const ToolEntry& entry, const std::vector<const Backend*>& tried) {
  return std::any_of(entry.backends.begin(), entry.backends.end(), [&tried](const auto& backend) {
    return backend->available() && !Contains(tried, backend.get());
  });
}

absl::Duration TimeoutOf(const v1::CallToolRequest& request, const v1::Tool& tool,
                         absl::Duration default_timeout) {
  absl::Duration timeout = absl::InfiniteDuration();
  if (request.has_timeout()) timeout = ToDuration(request.timeout());
  if (tool.has_timeout() && ToDuration(tool.timeout()) > absl::ZeroDuration()) {
    timeout = std::min(timeout, ToDuration(tool.timeout()));
  }
  return timeout == absl::InfiniteDuration() ? default_timeout : timeout;
}

bool MayRetry(const absl::Status& status, const v1::Tool& tool) {
  switch (ReasonOf(status)) {
    case v1::ERROR_REASON_BACKEND_UNAVAILABLE:
    case v1::ERROR_REASON_CIRCUIT_OPEN:
    case v1::ERROR_REASON_DRAINING:
    case v1::ERROR_REASON_CONCURRENCY:
    case v1::ERROR_REASON_QUEUE_FULL:
      return SurelyNotExecuted(status);
    case v1::ERROR_REASON_OUTCOME_UNKNOWN:
      return tool.annotations().idempotent() || tool.annotations().read_only();
    default:
      return false;
  }
}

}  // namespace toolrack
