// The errors of what was configured: principals, rules, approvals, idempotency keys, the audit log.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

using absl::StatusCode;

std::string S(absl::string_view text) { return ForMessage(text, 200); }

}  // namespace

absl::Status PolicyDenied(absl::string_view tool, absl::string_view rule) {
  return MakeError(StatusCode::kPermissionDenied, v1::ERROR_REASON_POLICY_DENIED,
                   absl::StrCat("The tool ", S(tool), " is not allowed to this caller (", S(rule),
                                "); it was not run. Use another tool, or ask whoever runs the "
                                "rack for a rule that allows it."),
                   {{"tool", S(tool)}, {"rule", S(rule)}}, Executed::kNo);
}

absl::Status ScopeDenied(absl::string_view principal, absl::string_view scope,
                         absl::string_view method) {
  return MakeError(StatusCode::kPermissionDenied, v1::ERROR_REASON_POLICY_DENIED,
                   absl::StrCat("The caller ", S(principal), " has not the scope `", scope,
                                "`, which ", S(method),
                                " needs. Add it to its `principals` entry of the configuration, or "
                                "come with another token."),
                   {{"scope", std::string(scope)}, {"principal", S(principal)}}, Executed::kNo);
}

absl::Status NamespaceDenied(absl::string_view ns, absl::string_view principal,
                             absl::string_view owner) {
  const std::string place =
      ns.empty() ? "without a namespace" : absl::StrCat("in the namespace ", S(ns));
  return MakeError(
      StatusCode::kPermissionDenied, v1::ERROR_REASON_POLICY_DENIED,
      owner.empty()
          ? absl::StrCat(
                "The caller ", S(principal), " may not register tools ", place,
                ": its `namespaces` of the configuration do not name it. Use one of those.")
          : absl::StrCat("The caller ", S(principal), " may not register tools ", place,
                         ": it belongs to ", S(owner), ". Choose another namespace."),
      {{"namespace", S(ns)}, {"principal", S(principal)}, {"owner", S(owner)}}, Executed::kNo);
}

absl::Status TokenInvalid(absl::string_view why) {
  return MakeError(StatusCode::kUnauthenticated, v1::ERROR_REASON_TOKEN_INVALID,
                   absl::StrCat("Not let in: ", why, ". Nothing was run."),
                   {{"why", std::string(why)}}, Executed::kNo);
}

absl::Status ApprovalRequired(absl::string_view tool, absl::string_view approval_id,
                              absl::string_view rule) {
  std::string message =
      absl::StrCat("The tool ", S(tool), " needs an approval (", S(rule), "); it was not run. ");
  if (approval_id.empty()) {
    absl::StrAppend(&message, "The call would ask for one.");
  } else {
    absl::StrAppend(&message, "Once an administrator has granted ", S(approval_id),
                    ", repeat the very same call with that approval_id.");
  }
  return MakeError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_APPROVAL_REQUIRED, message,
                   {{"tool", S(tool)}, {"approval_id", S(approval_id)}, {"rule", S(rule)}},
                   Executed::kNo);
}

absl::Status ApprovalExpired(absl::string_view tool, absl::string_view approval_id) {
  return MakeError(
      StatusCode::kFailedPrecondition, v1::ERROR_REASON_APPROVAL_EXPIRED,
      absl::StrCat("The approval ", S(approval_id),
                   " is used, over or unknown; nothing was run. Call without approval_id to ask "
                   "for a new one."),
      {{"tool", S(tool)}, {"approval_id", S(approval_id)}}, Executed::kNo);
}

absl::Status ApprovalDenied(absl::string_view tool, absl::string_view approval_id,
                            absl::string_view note) {
  return MakeError(StatusCode::kPermissionDenied, v1::ERROR_REASON_POLICY_DENIED,
                   absl::StrCat("An administrator refused this call of ", S(tool),
                                note.empty() ? "" : absl::StrCat(": ", S(note)),
                                ". It was not run; do something else."),
                   {{"tool", S(tool)}, {"rule", "approval"}, {"approval_id", S(approval_id)}},
                   Executed::kNo);
}

absl::Status IdempotencyKeyReused(absl::string_view tool, absl::string_view key) {
  return MakeError(
      StatusCode::kAlreadyExists, v1::ERROR_REASON_IDEMPOTENCY_KEY_REUSED,
      absl::StrCat("The idempotency key ", S(key),
                   " was used for another call. Nothing was run; use a new key for a new call."),
      {{"tool", S(tool)}, {"idempotency_key", S(key)}}, Executed::kNo);
}

absl::Status OutcomeNotKept(absl::string_view tool, absl::string_view key) {
  return MakeError(
      StatusCode::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN,
      absl::StrCat("The first call of ", S(tool), " with the idempotency key ", S(key),
                   " has ended, but its outcome was too large to be kept. It was not run again; "
                   "use a new key to do so."),
      {{"tool", S(tool)}, {"backend", ""}, {"idempotency_key", S(key)}}, Executed::kMaybe);
}

absl::Status ViewChanged() {
  absl::Status status = MakeError(
      StatusCode::kUnavailable, v1::ERROR_REASON_VIEW_CHANGED,
      "A new configuration changed which tools you may see. Watch again: resuming gives a "
      "whole snapshot.");
  AttachRetry(status, absl::Milliseconds(1));
  return status;
}

absl::Status AuditUnavailable(absl::string_view file) {
  absl::Status status = MakeError(
      StatusCode::kUnavailable, v1::ERROR_REASON_AUDIT_UNAVAILABLE,
      absl::StrCat("Every call must be recorded (audit.required), and ", S(file),
                   " cannot be written just now. Nothing was run; try later. The daemon's log says "
                   "what is wrong with the file."),
      {{"file", S(file)}}, Executed::kNo);
  AttachRetry(status, absl::Seconds(1));
  return status;
}

absl::Status ConfigInvalid(absl::string_view file, absl::string_view why) {
  return MakeError(StatusCode::kFailedPrecondition, v1::ERROR_REASON_CONFIG_INVALID,
                   absl::StrCat("The configuration was not read again, and the old one holds: ",
                                ForMessage(absl::StrReplaceAll(why, {{"\n", "; "}}), 8000)),
                   {{"file", S(file)}});
}

}  // namespace toolrack
