// Enum values as people read them: the name without its prefix, in lower case.
#ifndef TOOLRACK_CLIENT_CLI_ENUM_TEXT_H_
#define TOOLRACK_CLIENT_CLI_ENUM_TEXT_H_

#include <string>

#include "toolrack/v1/hook_service.pb.h"
#include "toolrack/v1/tool.pb.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

std::string ToolStateText(v1::ToolState state);
std::string RiskText(v1::RiskLevel risk);
std::string SeverityText(v1::FindingSeverity severity);
std::string ExplainText(v1::ExplainOutcome outcome);
std::string HookPointText(int point);
std::string GrpcCodeText(int code);  // `NOT_FOUND`

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_ENUM_TEXT_H_
