#include "client/cli/error_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/text.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

std::string ReasonText(const absl::Status& status) {
  const v1::ErrorReason reason = ReasonOf(status);
  return reason == v1::ERROR_REASON_UNSPECIFIED ? "" : std::string(ReasonName(reason));
}

// absl and gRPC differ in the spelling of one code.
std::string CodeName(absl::StatusCode code) { return absl::StatusCodeToString(code); }

std::string NextStep(const absl::Status& status, const ErrorMetadata& metadata,
                     absl::string_view address) {
  const auto of = [&metadata](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  switch (ReasonOf(status)) {
    case v1::ERROR_REASON_TOOL_NOT_FOUND:
      return "`toolrack search WORDS` finds tools by what they do";
    case v1::ERROR_REASON_ARGUMENTS_INVALID:
    case v1::ERROR_REASON_ARGUMENTS_NOT_JSON:
      return absl::StrCat("`toolrack describe ", of("tool"), "` shows what it takes");
    case v1::ERROR_REASON_TOOL_QUARANTINED:
      return absl::StrCat("`toolrack describe ", of("tool"), "` shows what is wrong with it");
    case v1::ERROR_REASON_TOOL_DISABLED:
      return absl::StrCat("an administrator can switch it on: `toolrack enable ", of("tool"), "`");
    case v1::ERROR_REASON_DEFINITION_CHANGED:
      return absl::StrCat("look at it anew: `toolrack describe ", of("tool"), "`");
    case v1::ERROR_REASON_WRONG_SOCKET:
      return absl::StrCat("ask on ", of("socket"), ": --address or --runtime-dir");
    case v1::ERROR_REASON_CALL_NOT_FOUND:
      return "`toolrack calls` lists what is running";
    case v1::ERROR_REASON_WORKER_NOT_FOUND:
      return "`toolrack workers` lists who is attached";
    case v1::ERROR_REASON_RESULT_NOT_FOUND:
      return "results are kept for a while only: call the tool again";
    case v1::ERROR_REASON_APPROVAL_REQUIRED:
      return absl::StrCat("`toolrack approve ", of("approval_id"),
                          "` lets it through once; then repeat the call with --approval ",
                          of("approval_id"));
    case v1::ERROR_REASON_TOKEN_INVALID:
      return "--token-file or $TOOLRACK_TOKEN brings a token along";
    case v1::ERROR_REASON_TIMEOUT:
      return "--timeout gives it longer";
    case v1::ERROR_REASON_UNSPECIFIED:
      if (absl::IsUnavailable(status) && !address.empty()) {
        return absl::StrCat("is toolrackd running? Looked for it at ", address,
                            "; --address and --runtime-dir say where else");
      }
      return "";
    default:
      return "";
  }
}

}  // namespace

std::string ErrorText(const absl::Status& status, absl::string_view address) {
  const std::string reason = ReasonText(status);
  const ErrorMetadata metadata = MetadataOf(status);
  std::string out = absl::StrCat("error: ", status.message(), " (", CodeName(status.code()),
                                 reason.empty() || reason == CodeName(status.code()) ? "" : ", ",
                                 reason == CodeName(status.code()) ? "" : reason, ")\n");
  // The message of wrong arguments lists the faults already.
  if (ReasonOf(status) != v1::ERROR_REASON_ARGUMENTS_INVALID) {
    for (const FieldFault& fault : FaultsOf(status)) {
      absl::StrAppend(&out, "  ", fault.field.empty() ? "(root)" : fault.field, ": ",
                      fault.description, "\n");
    }
  }
  if (const auto delay = RetryDelayOf(status)) {
    absl::StrAppend(&out, "  try again in ", absl::FormatDuration(*delay), "\n");
  }
  if (const std::string next = NextStep(status, metadata, address); !next.empty()) {
    absl::StrAppend(&out, "  next: ", next, "\n");
  }
  return Printable(out, Lines::kKeep);
}

std::string ErrorJson(const absl::Status& status) {
  std::string out = absl::StrCat("{\"error\":{\"code\":", JsonQuote(CodeName(status.code())),
                                 ",\"reason\":", JsonQuote(ReasonText(status)),
                                 ",\"message\":", JsonQuote(status.message()), ",\"metadata\":{");
  const char* comma = "";
  for (const auto& [key, value] : MetadataOf(status)) {
    absl::StrAppend(&out, comma, JsonQuote(key), ":", JsonQuote(value));
    comma = ",";
  }
  absl::StrAppend(&out, "},\"field_violations\":[");
  comma = "";
  for (const FieldFault& fault : FaultsOf(status)) {
    absl::StrAppend(&out, comma, "{\"field\":", JsonQuote(fault.field),
                    ",\"description\":", JsonQuote(fault.description), "}");
    comma = ",";
  }
  absl::StrAppend(&out, "]");
  if (const auto delay = RetryDelayOf(status)) {
    absl::StrAppendFormat(&out, ",\"retry_delay\":\"%.3fs\"", absl::ToDoubleSeconds(*delay));
  }
  return out + "}}";
}

}  // namespace toolrack
