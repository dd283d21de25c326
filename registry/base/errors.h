// Every error of the rack is born here: one function each, with its reason and metadata attached.
//
// An error is an absl::Status whose payloads are google.rpc messages (type URL
// "type.googleapis.com/google.rpc.X", serialised), so that one place in server/rpc turns it into
// `grpc-status-details-bin`. Each message says what, where, the limit, and the way out; whatever is
// dynamic in it is also in the metadata. Source: AIP-193, toolrack/v1/error.proto for the list of
// reasons and their metadata keys.
//
// Thread-safe: pure functions.
#ifndef TOOLRACK_REGISTRY_BASE_ERRORS_H_
#define TOOLRACK_REGISTRY_BASE_ERRORS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "toolrack/v1/error.pb.h"

namespace toolrack {

inline constexpr absl::string_view kErrorDomain = "toolrack.dev";

// Whether the tool may have run. Decides whether a retry is safe.
enum class Executed { kNo, kMaybe };

// One wrong field of a request or of the arguments: `field` is a JSON Pointer for arguments.
struct FieldFault {
  std::string field;
  std::string description;
};

using ErrorMetadata = std::map<std::string, std::string>;

// The raw maker, for the functions below and for errors of single files. Adds `executed` to the
// metadata when given.
absl::Status MakeError(absl::StatusCode code, v1::ErrorReason reason, std::string message,
                       ErrorMetadata metadata = {},
                       std::optional<Executed> executed = std::nullopt);
// Adds google.rpc.BadRequest.
void AttachFaults(absl::Status& status, const std::vector<FieldFault>& faults);
// Adds google.rpc.RetryInfo.
void AttachRetry(absl::Status& status, absl::Duration delay);

// Reading an error back. UNSPECIFIED, empty or nullopt when there is none.
v1::ErrorReason ReasonOf(const absl::Status& status);
ErrorMetadata MetadataOf(const absl::Status& status);
std::vector<FieldFault> FaultsOf(const absl::Status& status);
std::optional<absl::Duration> RetryDelayOf(const absl::Status& status);
// Whether the status says that the tool certainly did not run.
bool SurelyNotExecuted(const absl::Status& status);
// The enum value's name without `ERROR_REASON_`, e.g. "TOOL_NOT_FOUND".
absl::string_view ReasonName(v1::ErrorReason reason);

// Arguments. `offset` is the byte where reading stopped.
absl::Status ArgumentsNotJson(absl::string_view tool, size_t offset, absl::string_view fault);
absl::Status ArgumentsTooLarge(absl::string_view tool, absl::string_view limit, uint64_t allowed,
                               uint64_t actual);
absl::Status ArgumentsInvalid(absl::string_view tool, absl::string_view digest,
                              const std::vector<FieldFault>& faults);
// Any other field of a request.
absl::Status RequestInvalid(absl::string_view field, absl::string_view value,
                            absl::string_view expected);

// A model's output. `fault`: what is wrong with a call in it, `span` how it was written.
absl::Status OutputMalformed(absl::string_view fault, absl::string_view span);
// It ended within a call.
absl::Status OutputUnfinished(absl::string_view wire_name);

// Look-up. `nearest` best first.
absl::Status ToolNotFound(absl::string_view tool, const std::vector<std::string>& nearest);
// Why a session is not there; kUnknown also for those who may not know.
enum class SessionEnd { kUnknown, kExpired, kClosed };
absl::Status SessionNotFound(absl::string_view session, SessionEnd end);
absl::Status ResultNotFound(absl::string_view handle, bool expired);
absl::Status CallNotFound(absl::string_view call_id);
absl::Status WorkerNotFound(absl::string_view worker, const std::vector<std::string>& known);
absl::Status ToolQuarantined(absl::string_view tool, size_t findings,
                             absl::string_view first_finding);
absl::Status ToolDisabled(absl::string_view tool);
absl::Status DefinitionChanged(absl::string_view tool, absl::string_view expected_digest,
                               absl::string_view digest);
// ArgumentsInvalid of a tool that is not as the session has seen it: the same, and says so.
absl::Status NoteDefinitionChanged(const absl::Status& status);

// Registration.
absl::Status NameTaken(absl::string_view tool, absl::string_view owner);
absl::Status NameInvalid(absl::string_view name, absl::string_view rule);
// More tools than `limit` allows; nothing of the set was taken.
absl::Status TooManyTools(absl::string_view limit, uint64_t allowed, uint64_t actual);
absl::Status DefinitionInvalid(absl::string_view tool, absl::string_view pointer,
                               absl::string_view rule, absl::string_view message);

// Hooks. `why` is the hook's own reason, or what went wrong with it.
absl::Status HookDenied(absl::string_view tool, absl::string_view hook, absl::string_view why);
absl::Status HookUnavailable(absl::string_view tool, absl::string_view hook, absl::string_view why);
// A refusal of arguments that a hook had put in the caller's place.
absl::Status BlameHook(const absl::Status& status, absl::string_view hook);
absl::Status HookReplaced(absl::string_view hook);

// Admission.
absl::Status WrongSocket(absl::string_view service, absl::string_view socket);
absl::Status TooManyAtOnce(absl::string_view limit, uint64_t allowed, absl::string_view scope);
absl::Status QueueFull(absl::string_view limit, uint64_t allowed, absl::string_view scope);
// A call waited as long as it may for a place under `limit`.
absl::Status WaitedTooLong(absl::string_view limit, uint64_t allowed, absl::string_view scope,
                           absl::Duration waited);
// More than `allowed` calls a minute; the next one is let through after `wait`.
absl::Status RateExceeded(absl::string_view limit, uint64_t allowed, absl::string_view scope,
                          absl::Duration wait);
absl::Status MessageTooLarge(absl::string_view limit, uint64_t allowed, uint64_t actual);
absl::Status SlowReader(absl::string_view limit, uint64_t allowed);
absl::Status Draining(absl::string_view what);
// A watch whose reader may see other tools from now on.
absl::Status ViewChanged();
// `audit.required`, and the record in `file` cannot be written.
absl::Status AuditUnavailable(absl::string_view file);
// `why`: all mistakes, or why it cannot be read.
absl::Status ConfigInvalid(absl::string_view file, absl::string_view why);

// Who may what. `rule` is the name of the rule that says so.
absl::Status PolicyDenied(absl::string_view tool, absl::string_view rule);
// The principal has not the scope that `method` needs.
absl::Status ScopeDenied(absl::string_view principal, absl::string_view scope,
                         absl::string_view method);
// `owner` empty: the principal may register in its own namespaces only.
absl::Status NamespaceDenied(absl::string_view ns, absl::string_view principal,
                             absl::string_view owner);
absl::Status TokenInvalid(absl::string_view why);
// `approval_id` empty: it would be asked for.
absl::Status ApprovalRequired(absl::string_view tool, absl::string_view approval_id,
                              absl::string_view rule);
absl::Status ApprovalExpired(absl::string_view tool, absl::string_view approval_id);
// An administrator said no.
absl::Status ApprovalDenied(absl::string_view tool, absl::string_view approval_id,
                            absl::string_view note);
absl::Status IdempotencyKeyReused(absl::string_view tool, absl::string_view key);
// The first call of the key ended, but how is no longer known.
absl::Status OutcomeNotKept(absl::string_view tool, absl::string_view key);

// Running.
absl::Status BackendUnavailable(absl::string_view tool, absl::string_view backend);
// The tool, or its backend, keeps failing; it is tried again after `wait`.
absl::Status CircuitOpen(absl::string_view tool, absl::string_view backend, absl::Duration wait);
// The backend gave the call back unstarted, with its own words.
absl::Status ToolNotStarted(absl::string_view tool, absl::string_view backend,
                            absl::string_view why);
absl::Status OutcomeUnknown(absl::string_view tool, absl::string_view backend);
absl::Status CallTimeout(absl::string_view tool, absl::Duration timeout, Executed executed);
// `by`: caller, admin, shutdown.
absl::Status CallCancelled(absl::string_view tool, absl::string_view by, Executed executed);
absl::Status InternalError(absl::string_view where, absl::string_view what);
absl::Status NotSupported(absl::string_view what);
absl::Status ProtocolViolation(absl::string_view what);
absl::Status Replaced(absl::string_view worker);

// The first `max_bytes` of a text for a message: cut at a character boundary, control characters
// and bytes that are not UTF-8 replaced, `…` appended when something was cut.
std::string ForMessage(absl::string_view text, size_t max_bytes = 120);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_ERRORS_H_
