#include "client/cli/enum_text.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace toolrack {
namespace {

// A value that this build does not know is shown as its number.
std::string Plain(const std::string& name, absl::string_view prefix, int number) {
  if (name.empty()) return absl::StrCat(number);
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

}  // namespace

std::string ToolStateText(v1::ToolState state) {
  return Plain(v1::ToolState_Name(state), "TOOL_STATE_", state);
}

std::string RiskText(v1::RiskLevel risk) {
  return Plain(v1::RiskLevel_Name(risk), "RISK_LEVEL_", risk);
}

std::string SeverityText(v1::FindingSeverity severity) {
  return Plain(v1::FindingSeverity_Name(severity), "FINDING_SEVERITY_", severity);
}

std::string ExplainText(v1::ExplainOutcome outcome) {
  return Plain(v1::ExplainOutcome_Name(outcome), "EXPLAIN_OUTCOME_", outcome);
}

std::string HookPointText(int point) {
  return Plain(v1::HookPoint_Name(point), "HOOK_POINT_", point);
}

std::string GrpcCodeText(int code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace toolrack
