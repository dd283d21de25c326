// Every error carries its domain, reason, metadata and whether the tool may have run.
#include "registry/base/errors.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "internal/google_rpc.pb.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

using absl::StatusCode;

struct Maker {
  const char* name;
  absl::Status status;
  StatusCode code;
  v1::ErrorReason reason;
  std::set<std::string> keys;  // of the metadata, `executed` aside
  std::string executed;        // "" for errors that are not of a call
  bool retry = false;
};

std::vector<Maker> Makers() {
  const std::string no = "no", maybe = "maybe";
  return {
      {"ArgumentsNotJson",
       ArgumentsNotJson("t", 3, "f"),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_ARGUMENTS_NOT_JSON,
       {"tool", "offset", "fault"},
       no},
      {"ArgumentsTooLarge",
       ArgumentsTooLarge("t", "l", 1, 2),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_ARGUMENTS_TOO_LARGE,
       {"tool", "limit", "allowed", "actual"},
       no},
      {"ArgumentsInvalid",
       ArgumentsInvalid("t", "d", {{"/a", "x"}}),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_ARGUMENTS_INVALID,
       {"tool", "digest"},
       no},
      {"RequestInvalid",
       RequestInvalid("f", "v", "e"),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_REQUEST_INVALID,
       {"field", "value", "expected"},
       no},
      {"ToolNotFound",
       ToolNotFound("t", {"u", "v"}),
       StatusCode::kNotFound,
       v1::ERROR_REASON_TOOL_NOT_FOUND,
       {"tool", "nearest"},
       no},
      {"SessionNotFound",
       SessionNotFound("s", SessionEnd::kExpired),
       StatusCode::kNotFound,
       v1::ERROR_REASON_SESSION_NOT_FOUND,
       {"session", "expired", "ended"},
       no},
      {"HookDenied",
       HookDenied("t", "h", "not today"),
       StatusCode::kPermissionDenied,
       v1::ERROR_REASON_HOOK_DENIED,
       {"tool", "hook", "hook_reason"},
       no},
      {"HookUnavailable",
       HookUnavailable("t", "h", "did not answer within 1s"),
       StatusCode::kUnavailable,
       v1::ERROR_REASON_HOOK_UNAVAILABLE,
       {"tool", "hook", "why"},
       no,
       true},
      {"ResultNotFound",
       ResultNotFound("h", false),
       StatusCode::kNotFound,
       v1::ERROR_REASON_RESULT_NOT_FOUND,
       {"handle", "expired"},
       ""},
      {"CallNotFound",
       CallNotFound("c"),
       StatusCode::kNotFound,
       v1::ERROR_REASON_CALL_NOT_FOUND,
       {"call_id"},
       ""},
      {"WorkerNotFound",
       WorkerNotFound("w", {"x"}),
       StatusCode::kNotFound,
       v1::ERROR_REASON_WORKER_NOT_FOUND,
       {"worker"},
       ""},
      {"ToolQuarantined",
       ToolQuarantined("t", 2, "f"),
       StatusCode::kFailedPrecondition,
       v1::ERROR_REASON_TOOL_QUARANTINED,
       {"tool", "findings", "first_finding"},
       no},
      {"ToolDisabled",
       ToolDisabled("t"),
       StatusCode::kFailedPrecondition,
       v1::ERROR_REASON_TOOL_DISABLED,
       {"tool"},
       no},
      {"DefinitionChanged",
       DefinitionChanged("t", "a", "b"),
       StatusCode::kFailedPrecondition,
       v1::ERROR_REASON_DEFINITION_CHANGED,
       {"tool", "expected_digest", "digest"},
       no},
      {"NameTaken",
       NameTaken("t", "o"),
       StatusCode::kAlreadyExists,
       v1::ERROR_REASON_NAME_TAKEN,
       {"tool", "owner"},
       ""},
      {"NameInvalid",
       NameInvalid("n", "r"),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_NAME_INVALID,
       {"name", "rule"},
       ""},
      {"DefinitionInvalid",
       DefinitionInvalid("t", "/p", "r", "m"),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_DEFINITION_INVALID,
       {"tool", "pointer", "rule"},
       ""},
      {"WrongSocket",
       WrongSocket("s", "k"),
       StatusCode::kPermissionDenied,
       v1::ERROR_REASON_WRONG_SOCKET,
       {"service", "socket"},
       no},
      {"TooManyAtOnce",
       TooManyAtOnce("l", 1, "s"),
       StatusCode::kResourceExhausted,
       v1::ERROR_REASON_CONCURRENCY,
       {"limit", "allowed", "scope"},
       no,
       true},
      {"QueueFull",
       QueueFull("l", 1, "s"),
       StatusCode::kResourceExhausted,
       v1::ERROR_REASON_QUEUE_FULL,
       {"limit", "allowed", "scope"},
       no,
       true},
      {"MessageTooLarge",
       MessageTooLarge("l", 1, 2),
       StatusCode::kResourceExhausted,
       v1::ERROR_REASON_MESSAGE_TOO_LARGE,
       {"limit", "allowed", "actual"},
       ""},
      {"SlowReader",
       SlowReader("l", 1),
       StatusCode::kResourceExhausted,
       v1::ERROR_REASON_SLOW_READER,
       {"limit", "allowed"},
       "",
       true},
      {"Draining",
       Draining("d"),
       StatusCode::kUnavailable,
       v1::ERROR_REASON_DRAINING,
       {"what"},
       no,
       true},
      {"ViewChanged",
       ViewChanged(),
       StatusCode::kUnavailable,
       v1::ERROR_REASON_VIEW_CHANGED,
       {},
       "",
       true},
      {"AuditUnavailable",
       AuditUnavailable("/a.jsonl"),
       StatusCode::kUnavailable,
       v1::ERROR_REASON_AUDIT_UNAVAILABLE,
       {"file"},
       no,
       true},
      {"ConfigInvalid",
       ConfigInvalid("/c.yaml", "it has mistakes"),
       StatusCode::kFailedPrecondition,
       v1::ERROR_REASON_CONFIG_INVALID,
       {"file"},
       ""},
      {"BackendUnavailable",
       BackendUnavailable("t", "b"),
       StatusCode::kUnavailable,
       v1::ERROR_REASON_BACKEND_UNAVAILABLE,
       {"tool", "backend"},
       no,
       true},
      {"OutcomeUnknown",
       OutcomeUnknown("t", "b"),
       StatusCode::kUnknown,
       v1::ERROR_REASON_OUTCOME_UNKNOWN,
       {"tool", "backend"},
       maybe},
      {"CallTimeout",
       CallTimeout("t", absl::Seconds(1), Executed::kMaybe),
       StatusCode::kDeadlineExceeded,
       v1::ERROR_REASON_TIMEOUT,
       {"tool", "timeout"},
       maybe},
      {"CallCancelled",
       CallCancelled("t", "caller", Executed::kNo),
       StatusCode::kCancelled,
       v1::ERROR_REASON_CANCELLED,
       {"tool", "by"},
       no},
      {"InternalError",
       InternalError("w", "x"),
       StatusCode::kInternal,
       v1::ERROR_REASON_INTERNAL,
       {"where"},
       maybe},
      {"NotSupported",
       NotSupported("w"),
       StatusCode::kUnimplemented,
       v1::ERROR_REASON_NOT_SUPPORTED,
       {"what"},
       no},
      {"ProtocolViolation",
       ProtocolViolation("w"),
       StatusCode::kInvalidArgument,
       v1::ERROR_REASON_PROTOCOL_VIOLATION,
       {"what"},
       ""},
      {"Replaced",
       Replaced("w"),
       StatusCode::kUnavailable,
       v1::ERROR_REASON_REPLACED,
       {"worker"},
       ""},
  };
}

TEST(Errors, CanBeSaidAnewWithoutLosingTheirDetails) {
  const absl::Status fault = ArgumentsInvalid("t", "d", {{"/n", "expected integer"}});
  const absl::Status blamed = BlameHook(fault, "h");
  const absl::Status noted = NoteDefinitionChanged(fault);
  for (const absl::Status& status : {blamed, noted}) {
    EXPECT_EQ(status.code(), fault.code());
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_ARGUMENTS_INVALID);
    ASSERT_EQ(FaultsOf(status).size(), 1u);
    EXPECT_EQ(FaultsOf(status)[0].field, "/n");
    EXPECT_TRUE(SurelyNotExecuted(status));
    EXPECT_NE(status.message().find(fault.message()), absl::string_view::npos);
  }
  EXPECT_EQ(MetadataOf(blamed)["hook"], "h");
  EXPECT_EQ(MetadataOf(noted)["definition_changed"], "true");
  EXPECT_EQ(MetadataOf(fault).count("hook"), 0u);
}

TEST(Errors, EachHasItsCodeReasonMetadataAndOutcome) {
  std::set<v1::ErrorReason> seen;
  for (const Maker& each : Makers()) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(each.status.code(), each.code);
    EXPECT_EQ(ReasonOf(each.status), each.reason);
    EXPECT_TRUE(seen.insert(each.reason).second) << "two makers for one reason";
    ErrorMetadata metadata = MetadataOf(each.status);
    EXPECT_EQ(metadata["executed"], each.executed);
    metadata.erase("executed");
    std::set<std::string> keys;
    for (const auto& [key, value] : metadata) keys.insert(key);
    EXPECT_EQ(keys, each.keys);
    EXPECT_EQ(SurelyNotExecuted(each.status), each.executed == "no");
    EXPECT_EQ(RetryDelayOf(each.status).has_value(), each.retry);
    EXPECT_FALSE(each.status.message().empty());
  }
}

TEST(Errors, TheDomainIsOnTheWire) {
  for (const Maker& each : Makers()) {
    google::rpc::ErrorInfo info;
    const auto payload = each.status.GetPayload("type.googleapis.com/google.rpc.ErrorInfo");
    ASSERT_TRUE(payload.has_value()) << each.name;
    ASSERT_TRUE(info.ParseFromString(std::string(*payload)));
    EXPECT_EQ(info.domain(), "toolrack.dev");
    EXPECT_EQ(info.reason(), std::string(ReasonName(each.reason)));
    EXPECT_EQ(info.reason().find("ERROR_REASON_"), std::string::npos);
  }
}

TEST(Errors, FaultsOfArgumentsAreFieldViolations) {
  const absl::Status status = ArgumentsInvalid("t", "d", {{"/a", "is wrong"}, {"", "so is this"}});
  const auto faults = FaultsOf(status);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].field, "/a");
  EXPECT_EQ(faults[0].description, "is wrong");
  EXPECT_EQ(faults[1].field, "");
  EXPECT_NE(status.message().find("/a: is wrong"), absl::string_view::npos);
  EXPECT_NE(status.message().find("(root): so is this"), absl::string_view::npos);
}

TEST(Errors, HostileTextStaysValidUtf8AndShort) {
  const std::string hostile = std::string("\xFF\x01\n", 3) + std::string(100000, 'x');
  for (const absl::Status& status :
       {ToolNotFound(hostile, {}), SessionNotFound(hostile, SessionEnd::kUnknown),
        NameInvalid(hostile, "rule"), RequestInvalid("f", hostile, "e"), CallNotFound(hostile),
        ResultNotFound(hostile, true)}) {
    EXPECT_TRUE(IsUtf8(status.message()));
    EXPECT_LT(status.message().size(), 1000u);
    for (const auto& [key, value] : MetadataOf(status)) {
      EXPECT_TRUE(IsUtf8(value)) << key;
      EXPECT_LT(value.size(), 1000u) << key;
    }
  }
}

TEST(Errors, AStatusOfSomebodyElseHasNoReason) {
  const absl::Status status = absl::NotFoundError("x");
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_UNSPECIFIED);
  EXPECT_TRUE(MetadataOf(status).empty());
  EXPECT_TRUE(FaultsOf(status).empty());
  EXPECT_FALSE(RetryDelayOf(status).has_value());
  EXPECT_FALSE(SurelyNotExecuted(status));
  EXPECT_FALSE(SurelyNotExecuted(absl::OkStatus()));
}

TEST(Errors, ARetryDelayKeepsItsFraction) {
  absl::Status status = NotSupported("x");
  AttachRetry(status, absl::Milliseconds(1250));
  EXPECT_EQ(RetryDelayOf(status), absl::Milliseconds(1250));
}

TEST(ForMessage, CutsAtACharacterAndSaysSo) {
  EXPECT_EQ(ForMessage("abc", 3), "abc");
  EXPECT_EQ(ForMessage("abcd", 3), "abc…");
  EXPECT_EQ(ForMessage("ab日本", 4), "ab…");
  EXPECT_EQ(ForMessage("日本語", 6), "日本…");
  EXPECT_EQ(ForMessage("a\tb\x7F\n", 10), "a b  ");
  EXPECT_EQ(ForMessage(absl::string_view("a\xFF", 2), 10), "a\xEF\xBF\xBD");
  EXPECT_EQ(ForMessage("", 0), "");
  EXPECT_EQ(ForMessage("x", 0), "…");
}

}  // namespace
}  // namespace toolrack
