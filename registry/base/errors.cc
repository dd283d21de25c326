#include "registry/base/errors.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "internal/google_rpc.pb.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

using absl::StatusCode;

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";
constexpr char kRetryInfoUrl[] = "type.googleapis.com/google.rpc.RetryInfo";
constexpr absl::string_view kReasonPrefix = "ERROR_REASON_";
// What a refused caller waits at least: long enough to mean something, short enough for a person
// not to notice.
constexpr absl::Duration kRetryDelay = absl::Milliseconds(250);

template <typename Message>
bool GetDetail(const absl::Status& status, const char* url, Message& message) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  return payload.has_value() && message.ParseFromString(std::string(*payload));
}

template <typename Message>
void SetDetail(absl::Status& status, const char* url, const Message& message) {
  status.SetPayload(url, absl::Cord(message.SerializeAsString()));
}

// The same error in other words, with one more entry in its metadata.
absl::Status Reworded(const absl::Status& status, const std::string& message,
                      const std::string& key, absl::string_view value) {
  absl::Status out(status.code(), message);
  status.ForEachPayload(
      [&out](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  google::rpc::ErrorInfo info;
  if (GetDetail(status, kErrorInfoUrl, info)) {
    (*info.mutable_metadata())[key] = std::string(value);
    SetDetail(out, kErrorInfoUrl, info);
  }
  return out;
}

std::string S(absl::string_view text) { return ForMessage(text, 200); }
std::string N(uint64_t number) { return absl::StrCat(number); }

}  // namespace

std::string ForMessage(absl::string_view text, size_t max_bytes) {
  // Replacing can only lengthen the text, and only what may be shown is looked at.
  const bool cut = text.size() > max_bytes;
  std::string clean = ReplaceInvalidUtf8(cut ? text.substr(0, max_bytes + 4) : text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  if (!cut && clean.size() <= max_bytes) return clean;
  return absl::StrCat(Utf8Prefix(clean, max_bytes), "…");
}

absl::Status MakeError(StatusCode code, v1::ErrorReason reason, std::string message,
                       ErrorMetadata metadata, std::optional<Executed> executed) {
  absl::Status status(code, message);
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ReasonName(reason)));
  info.set_domain(std::string(kErrorDomain));
  for (auto& [key, value] : metadata) (*info.mutable_metadata())[key] = ReplaceInvalidUtf8(value);
  if (executed.has_value()) {
    (*info.mutable_metadata())["executed"] = *executed == Executed::kNo ? "no" : "maybe";
  }
  SetDetail(status, kErrorInfoUrl, info);
  return status;
}

void AttachFaults(absl::Status& status, const std::vector<FieldFault>& faults) {
  google::rpc::BadRequest bad;
  for (const FieldFault& fault : faults) {
    auto* violation = bad.add_field_violations();
    violation->set_field(ReplaceInvalidUtf8(fault.field));
    violation->set_description(ReplaceInvalidUtf8(fault.description));
  }
  SetDetail(status, kBadRequestUrl, bad);
}

void AttachRetry(absl::Status& status, absl::Duration delay) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(delay - absl::Seconds(absl::ToInt64Seconds(delay)))));
  SetDetail(status, kRetryInfoUrl, retry);
}

v1::ErrorReason ReasonOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  if (GetDetail(status, kErrorInfoUrl, info)) {
    v1::ErrorReason_Parse(absl::StrCat(kReasonPrefix, info.reason()), &reason);
  }
  return reason;
}

ErrorMetadata MetadataOf(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  ErrorMetadata out;
  if (GetDetail(status, kErrorInfoUrl, info))
    out.insert(info.metadata().begin(), info.metadata().end());
  return out;
}

std::vector<FieldFault> FaultsOf(const absl::Status& status) {
  google::rpc::BadRequest bad;
  std::vector<FieldFault> out;
  if (GetDetail(status, kBadRequestUrl, bad)) {
    for (const auto& violation : bad.field_violations())
      out.push_back({violation.field(), violation.description()});
  }
  return out;
}

std::optional<absl::Duration> RetryDelayOf(const absl::Status& status) {
  google::rpc::RetryInfo retry;
  if (!GetDetail(status, kRetryInfoUrl, retry)) return std::nullopt;
  return absl::Seconds(retry.retry_delay().seconds()) +
         absl::Nanoseconds(retry.retry_delay().nanos());
}

bool SurelyNotExecuted(const absl::Status& status) {
  const ErrorMetadata metadata = MetadataOf(status);
  const auto at = metadata.find("executed");
  return at != metadata.end() && at->second == "no";
}

absl::string_view ReasonName(v1::ErrorReason reason) {
  absl::string_view name = v1::ErrorReason_Name(reason);
  if (absl::StartsWith(name, kReasonPrefix)) name.remove_prefix(kReasonPrefix.size());
  return name;
}

absl::Status ArgumentsNotJson(absl::string_view tool, size_t offset, absl::string_view fault) {
  return MakeError(
      StatusCode::kInvalidArgument, v1::ERROR_REASON_ARGUMENTS_NOT_JSON,
      absl::StrCat("The arguments of ", S(tool), " are not valid JSON: ", S(fault), " (byte ",
                   offset, "). The tool was not run. Send one JSON object."),
      {{"tool", std::string(tool)}, {"offset", N(offset)}, {"fault", std::string(fault)}},
      Executed::kNo);
}

absl::Status ArgumentsTooLarge(absl::string_view tool, absl::string_view limit, uint64_t allowed,
                               uint64_t actual) {
  return MakeError(
      StatusCode::kInvalidArgument, v1::ERROR_REASON_ARGUMENTS_TOO_LARGE,
      absl::StrCat("The arguments of ", S(tool), " are over the limit ", limit, ": ", allowed,
                   " allowed, ", actual, " came. The tool was not run. Send less, or in parts."),
      {{"tool", std::string(tool)},
       {"limit", std::string(limit)},
       {"allowed", N(allowed)},
       {"actual", N(actual)}},
      Executed::kNo);
}

absl::Status ArgumentsInvalid(absl::string_view tool, absl::string_view digest,
                              const std::vector<FieldFault>& faults) {
  std::string message =
      absl::StrCat("The arguments of ", S(tool), " do not fit its schema; the tool was not run.");
  for (const FieldFault& fault : faults) {
    absl::StrAppend(&message, "\n", fault.field.empty() ? "(root)" : fault.field, ": ",
                    fault.description);
  }
  absl::Status status =
      MakeError(StatusCode::kInvalidArgument, v1::ERROR_REASON_ARGUMENTS_INVALID, message,
                {{"tool", std::string(tool)}, {"digest", std::string(digest)}}, Executed::kNo);
  AttachFaults(status, faults);
  return status;
}

absl::Status RequestInvalid(absl::string_view field, absl::string_view value,
                            absl::string_view expected) {
  absl::Status status = MakeError(
      StatusCode::kInvalidArgument, v1::ERROR_REASON_REQUEST_INVALID,
      absl::StrCat("The field `", field, "` is wrong: ", expected, "; got ",
                   value.empty() ? "nothing" : S(value), "."),
      {{"field", std::string(field)}, {"value", S(value)}, {"expected", std::string(expected)}},
      Executed::kNo);
  AttachFaults(status, {{std::string(field), std::string(expected)}});
  return status;
}

absl::Status ToolNotFound(absl::string_view tool, const std::vector<std::string>& nearest) {
  std::string message = absl::StrCat("There is no tool named ", S(tool), ".");
  if (nearest.empty()) {
    absl::StrAppend(&message, " SearchTools finds tools by what they do.");
  } else {
    absl::StrAppend(&message, " The nearest names are: ", absl::StrJoin(nearest, ", "), ".");
  }
  return MakeError(StatusCode::kNotFound, v1::ERROR_REASON_TOOL_NOT_FOUND, message,
                   {{"tool", S(tool)}, {"nearest", absl::StrJoin(nearest, ",")}}, Executed::kNo);
}

absl::Status SessionNotFound(absl::string_view session, SessionEnd end) {
  const char* const ended = end == SessionEnd::kExpired  ? "expired"
                            : end == SessionEnd::kClosed ? "closed"
                                                         : "unknown";
  return MakeError(StatusCode::kNotFound, v1::ERROR_REASON_SESSION_NOT_FOUND,
                   absl::StrCat("There is no session ", S(session),
                                end == SessionEnd::kExpired  ? ": it has expired."
                                : end == SessionEnd::kClosed ? ": it was closed."
                                                             : ".",
                                " Open one, or call without a session."),
                   {{"session", S(session)},
                    {"expired", end == SessionEnd::kExpired ? "true" : "false"},
                    {"ended", ended}},
                   Executed::kNo);
}

absl::Status ResultNotFound(absl::string_view handle, bool expired) {
  return MakeError(
      StatusCode::kNotFound, v1::ERROR_REASON_RESULT_NOT_FOUND,
      absl::StrCat("There is no stored result ", S(handle), expired ? ": it has expired." : ".",
                   " Call the tool again to get it anew."),
      {{"handle", S(handle)}, {"expired", expired ? "true" : "false"}});
}

absl::Status CallNotFound(absl::string_view call_id) {
  return MakeError(
      StatusCode::kNotFound, v1::ERROR_REASON_CALL_NOT_FOUND,
      absl::StrCat("No call ", S(call_id), " is running. ListCalls shows those that are."),
      {{"call_id", S(call_id)}});
}

absl::Status WorkerNotFound(absl::string_view worker, const std::vector<std::string>& known) {
  return MakeError(StatusCode::kNotFound, v1::ERROR_REASON_WORKER_NOT_FOUND,
                   absl::StrCat("No worker ", S(worker), " is attached. Attached: ",
                                known.empty() ? "none" : absl::StrJoin(known, ", "), "."),
                   {{"worker", S(worker)}});
}

absl::Status ToolQuarantined(absl::string_view tool, size_t findings,
                             absl::string_view first_finding) {
  return MakeError(
      StatusCode::kFailedPrecondition, v1::ERROR_REASON_TOOL_QUARANTINED,
      absl::StrCat(
          "The tool ", S(tool), " is quarantined and was not run: ", S(first_finding),
          findings > 1 ? absl::StrCat(" (and ", findings - 1, " more)") : "",
          ". DescribeTool shows all findings; its owner must publish a mended definition."),
      {{"tool", std::string(tool)}, {"findings", N(findings)}, {"first_finding", S(first_finding)}},
      Executed::kNo);
}

absl::Status ToolDisabled(absl::string_view tool) {
  return MakeError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_TOOL_DISABLED,
                   absl::StrCat("The tool ", S(tool),
                                " is switched off and was not run. An administrator can switch it "
                                "on with SetToolEnabled; use another tool until then."),
                   {{"tool", std::string(tool)}}, Executed::kNo);
}

absl::Status DefinitionChanged(absl::string_view tool, absl::string_view expected_digest,
                               absl::string_view digest) {
  return MakeError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_DEFINITION_CHANGED,
                   absl::StrCat("The definition of ", S(tool),
                                " has changed since it was read; it was not run. "
                                "Describe it again and call with the new digest."),
                   {{"tool", std::string(tool)},
                    {"expected_digest", S(expected_digest)},
                    {"digest", std::string(digest)}},
                   Executed::kNo);
}

absl::Status NoteDefinitionChanged(const absl::Status& status) {
  return Reworded(status,
                  absl::StrCat(status.message(),
                               "\nThe tool has changed, or is new, since this session last saw it: "
                               "look at its description again."),
                  "definition_changed", "true");
}

absl::Status NameTaken(absl::string_view tool, absl::string_view owner) {
  return MakeError(StatusCode::kAlreadyExists, v1::ERROR_REASON_NAME_TAKEN,
                   absl::StrCat("The name ", S(tool), " is taken by ", S(owner),
                                ". Choose another name or namespace."),
                   {{"tool", S(tool)}, {"owner", S(owner)}});
}

absl::Status NameInvalid(absl::string_view name, absl::string_view rule) {
  return MakeError(StatusCode::kInvalidArgument, v1::ERROR_REASON_NAME_INVALID,
                   absl::StrCat("The name \"", S(name), "\" is not allowed: ", rule, "."),
                   {{"name", S(name)}, {"rule", std::string(rule)}});
}

absl::Status TooManyTools(absl::string_view limit, uint64_t allowed, uint64_t actual) {
  return MakeError(
      StatusCode::kResourceExhausted, v1::ERROR_REASON_MESSAGE_TOO_LARGE,
      absl::StrCat("Too many tools: ", limit, " allows ", allowed,
                   ", with this set there would be ", actual,
                   ". Nothing of it was registered; withdraw tools or raise the limit."),
      {{"limit", std::string(limit)}, {"allowed", N(allowed)}, {"actual", N(actual)}});
}

absl::Status DefinitionInvalid(absl::string_view tool, absl::string_view pointer,
                               absl::string_view rule, absl::string_view message) {
  return MakeError(StatusCode::kInvalidArgument, v1::ERROR_REASON_DEFINITION_INVALID,
                   absl::StrCat("The definition of ", S(tool), " is faulty at ",
                                pointer.empty() ? "the root" : pointer, ": ", message),
                   {{"tool", S(tool)}, {"pointer", S(pointer)}, {"rule", std::string(rule)}});
}

absl::Status HookDenied(absl::string_view tool, absl::string_view hook, absl::string_view why) {
  const std::string reason = ForMessage(why, 1000);
  return MakeError(
      StatusCode::kPermissionDenied, v1::ERROR_REASON_HOOK_DENIED,
      absl::StrCat("The call of ", S(tool), " was refused by the hook ", S(hook),
                   reason.empty() ? "" : ": ", reason, reason.empty() ? "." : "",
                   "\nThe tool was not run. Do something else, or ask whoever runs the hook."),
      {{"tool", std::string(tool)}, {"hook", std::string(hook)}, {"hook_reason", reason}},
      Executed::kNo);
}

absl::Status HookUnavailable(absl::string_view tool, absl::string_view hook,
                             absl::string_view why) {
  absl::Status status = MakeError(
      StatusCode::kUnavailable, v1::ERROR_REASON_HOOK_UNAVAILABLE,
      absl::StrCat("The hook ", S(hook), ", which must agree to calls of ", S(tool), ", ", S(why),
                   ". The tool was not run. Try again; if it stays so, look at the hook."),
      {{"tool", std::string(tool)}, {"hook", std::string(hook)}, {"why", std::string(why)}},
      Executed::kNo);
  AttachRetry(status, kRetryDelay);
  return status;
}

absl::Status BlameHook(const absl::Status& status, absl::string_view hook) {
  return Reworded(status,
                  absl::StrCat("The hook ", S(hook), " replaced the arguments. ", status.message()),
                  "hook", hook);
}

absl::Status HookReplaced(absl::string_view hook) {
  return MakeError(StatusCode::kUnavailable, v1::ERROR_REASON_REPLACED,
                   absl::StrCat("The hook ", S(hook),
                                " attached anew elsewhere, which took over from this stream."),
                   {{"hook", std::string(hook)}});
}

absl::Status WrongSocket(absl::string_view service, absl::string_view socket) {
  return MakeError(
      StatusCode::kPermissionDenied, v1::ERROR_REASON_WRONG_SOCKET,
      absl::StrCat("The service ", S(service), " is not served here. Use ", socket, "."),
      {{"service", S(service)}, {"socket", std::string(socket)}}, Executed::kNo);
}

absl::Status TooManyAtOnce(absl::string_view limit, uint64_t allowed, absl::string_view scope) {
  absl::Status status = MakeError(
      StatusCode::kResourceExhausted, v1::ERROR_REASON_CONCURRENCY,
      absl::StrCat("Too many at once: ", limit, " allows ", allowed, " for ", S(scope),
                   ". Nothing was run; try later."),
      {{"limit", std::string(limit)}, {"allowed", N(allowed)}, {"scope", S(scope)}}, Executed::kNo);
  AttachRetry(status, kRetryDelay);
  return status;
}

absl::Status QueueFull(absl::string_view limit, uint64_t allowed, absl::string_view scope) {
  absl::Status status = MakeError(
      StatusCode::kResourceExhausted, v1::ERROR_REASON_QUEUE_FULL,
      absl::StrCat("The queue of ", S(scope), " is full: ", limit, " allows ", allowed,
                   ". Nothing was run; try later."),
      {{"limit", std::string(limit)}, {"allowed", N(allowed)}, {"scope", S(scope)}}, Executed::kNo);
  AttachRetry(status, kRetryDelay);
  return status;
}

absl::Status MessageTooLarge(absl::string_view limit, uint64_t allowed, uint64_t actual) {
  return MakeError(
      StatusCode::kResourceExhausted, v1::ERROR_REASON_MESSAGE_TOO_LARGE,
      absl::StrCat("Too large: ", limit, " allows ", allowed, " bytes, ", actual, " came."),
      {{"limit", std::string(limit)}, {"allowed", N(allowed)}, {"actual", N(actual)}});
}

absl::Status SlowReader(absl::string_view limit, uint64_t allowed) {
  absl::Status status = MakeError(StatusCode::kResourceExhausted, v1::ERROR_REASON_SLOW_READER,
                                  absl::StrCat("Dropped: more than ", allowed, " changes (", limit,
                                               ") waited for this watcher. Watch again with the "
                                               "last epoch and revision seen."),
                                  {{"limit", std::string(limit)}, {"allowed", N(allowed)}});
  AttachRetry(status, kRetryDelay);
  return status;
}

absl::Status Draining(absl::string_view what) {
  absl::Status status =
      MakeError(StatusCode::kUnavailable, v1::ERROR_REASON_DRAINING,
                absl::StrCat("The ", S(what),
                             " is draining and takes no new calls. Nothing was run; "
                             "try again, or another replica."),
                {{"what", S(what)}}, Executed::kNo);
  AttachRetry(status, absl::Seconds(1));
  return status;
}

absl::Status BackendUnavailable(absl::string_view tool, absl::string_view backend) {
  absl::Status status =
      MakeError(StatusCode::kUnavailable, v1::ERROR_REASON_BACKEND_UNAVAILABLE,
                absl::StrCat("The backend ", S(backend), " of ", S(tool),
                             " is away; the tool was not run. Try again shortly."),
                {{"tool", std::string(tool)}, {"backend", std::string(backend)}}, Executed::kNo);
  AttachRetry(status, absl::Seconds(1));
  return status;
}

absl::Status ToolNotStarted(absl::string_view tool, absl::string_view backend,
                            absl::string_view why) {
  absl::Status status =
      MakeError(StatusCode::kUnavailable, v1::ERROR_REASON_BACKEND_UNAVAILABLE,
                absl::StrCat("The backend ", S(backend), " did not start ", S(tool), ": ",
                             why.empty() ? "it gave no reason" : S(why), ". Try again shortly."),
                {{"tool", std::string(tool)}, {"backend", std::string(backend)}, {"why", S(why)}},
                Executed::kNo);
  AttachRetry(status, absl::Seconds(1));
  return status;
}

absl::Status OutcomeUnknown(absl::string_view tool, absl::string_view backend) {
  return MakeError(
      StatusCode::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN,
      absl::StrCat(
          "The backend ", S(backend), " was lost while it ran ", S(tool),
          ": whether the tool ran is not known. Check its effect before you repeat the call."),
      {{"tool", std::string(tool)}, {"backend", std::string(backend)}}, Executed::kMaybe);
}

absl::Status CallTimeout(absl::string_view tool, absl::Duration timeout, Executed executed) {
  return MakeError(
      StatusCode::kDeadlineExceeded, v1::ERROR_REASON_TIMEOUT,
      absl::StrCat("The call of ", S(tool), " took longer than ", absl::FormatDuration(timeout),
                   "; ",
                   executed == Executed::kNo ? "the tool was not run." : "the tool may have run."),
      {{"tool", std::string(tool)}, {"timeout", absl::FormatDuration(timeout)}}, executed);
}

absl::Status CallCancelled(absl::string_view tool, absl::string_view by, Executed executed) {
  return MakeError(
      StatusCode::kCancelled, v1::ERROR_REASON_CANCELLED,
      absl::StrCat("The call of ", S(tool), " was ended by the ", by, "; ",
                   executed == Executed::kNo ? "the tool was not run." : "the tool may have run."),
      {{"tool", std::string(tool)}, {"by", std::string(by)}}, executed);
}

absl::Status InternalError(absl::string_view where, absl::string_view what) {
  return MakeError(
      StatusCode::kInternal, v1::ERROR_REASON_INTERNAL,
      absl::StrCat("A fault in toolrack, in ", where, ": ", S(what), ". Please report it."),
      {{"where", std::string(where)}}, Executed::kMaybe);
}

absl::Status NotSupported(absl::string_view what) {
  return MakeError(StatusCode::kUnimplemented, v1::ERROR_REASON_NOT_SUPPORTED,
                   absl::StrCat("Not supported by this build: ", S(what), "."), {{"what", S(what)}},
                   Executed::kNo);
}

absl::Status ProtocolViolation(absl::string_view what) {
  return MakeError(StatusCode::kInvalidArgument, v1::ERROR_REASON_PROTOCOL_VIOLATION,
                   absl::StrCat("The stream's protocol was broken: ", S(what),
                                ". Mend the client and attach again."),
                   {{"what", S(what)}});
}

absl::Status Replaced(absl::string_view worker) {
  return MakeError(StatusCode::kUnavailable, v1::ERROR_REASON_REPLACED,
                   absl::StrCat("The worker ", S(worker), " attached anew; this stream is over."),
                   {{"worker", S(worker)}});
}

}  // namespace toolrack
