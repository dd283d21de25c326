// approvals, approve, deny, approve-tool, token: who may what.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "client/cli/enum_text.h"
#include "client/cli/exit_code.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "registry/base/json.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string StateText(v1::ApprovalState state) {
  switch (state) {
    case v1::APPROVAL_STATE_PENDING:
      return "pending";
    case v1::APPROVAL_STATE_GRANTED:
      return "granted";
    case v1::APPROVAL_STATE_DENIED:
      return "denied";
    case v1::APPROVAL_STATE_USED:
      return "used";
    default:
      return "unknown";
  }
}

int ListApprovals(CommandLine& line) {
  const auto client = line.Connect(Scope::kControl);
  if (client == nullptr) return kExitUsage;
  const RequestOptions options = line.Options(kPatience);
  v1::ListApprovalsRequest request;
  request.set_page_size(1000);
  v1::ListApprovalsResponse all;
  do {
    const absl::StatusOr<v1::ListApprovalsResponse> page = client->ListApprovals(request, options);
    if (!page.ok()) return line.Fail(page.status());
    all.mutable_approvals()->MergeFrom(page->approvals());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  if (line.json()) {
    line.PrintJson(all);
    return kExitOk;
  }
  Table table({"APPROVAL", "STATE", "TOOL", "RISK", "PRINCIPAL", "UNTIL", "ARGUMENTS"});
  for (const v1::Approval& approval : all.approvals()) {
    table.Add({approval.approval_id(), StateText(approval.state()), approval.tool(),
               RiskText(approval.risk()), approval.principal(), TimeText(approval.expire_time()),
               approval.arguments_json()});
  }
  table.Print(line.terminal().out, line.terminal().columns);
  return kExitOk;
}

int Decide(CommandLine& line, const v1::DecideApprovalRequest& request) {
  const auto client = line.Connect(Scope::kControl);
  if (client == nullptr) return kExitUsage;
  const absl::StatusOr<v1::DecideApprovalResponse> response =
      client->DecideApproval(request, line.Options(kPatience));
  if (!response.ok()) return line.Fail(response.status());
  if (line.json()) {
    line.PrintJson(*response);
    return kExitOk;
  }
  const v1::Approval& approval = response->approval();
  line.PrintLine(Printable(absl::StrCat(StateText(approval.state()), ": ", approval.tool(), " for ",
                                        approval.principal(), ", ", approval.arguments_json()),
                           Lines::kJoin));
  return kExitOk;
}

void AddDecision(CLI::App& app, CommandLine& line, const char* verb, const char* help, bool grant) {
  auto request = std::make_shared<v1::DecideApprovalRequest>();
  request->set_grant(grant);
  CLI::App* command = app.add_subcommand(verb, help);
  command->add_option("APPROVAL", *request->mutable_approval_id(), "Its id.")->required();
  command->add_option("--note", *request->mutable_note(), "Why; the caller is told of a no.");
  command->callback(
      [&line, request] { line.Choose([&line, request] { return Decide(line, *request); }); });
}

int ApproveTool(CommandLine& line, v1::ApproveToolRequest request) {
  const auto client = line.Connect(Scope::kControl);
  if (client == nullptr) return kExitUsage;
  if (request.digest().empty()) {
    v1::DescribeToolRequest describe;
    describe.set_name(request.name());
    const absl::StatusOr<v1::Tool> tool = client->DescribeTool(describe, line.Options(kPatience));
    if (!tool.ok()) return line.Fail(tool.status());
    request.set_digest(tool->digest());
  }
  const absl::StatusOr<v1::ApproveToolResponse> response =
      client->ApproveTool(request, line.Options(kPatience));
  if (!response.ok()) return line.Fail(response.status());
  if (line.json()) {
    line.PrintJson(*response);
  } else {
    line.PrintLine(Printable(
        absl::StrCat("approved ", response->tool().name(), ", digest ", response->tool().digest(),
                     ", now ", ToolStateText(response->tool().state())),
        Lines::kJoin));
  }
  return kExitOk;
}

int NewToken(CommandLine& line) {
  const std::string token = RandomId() + RandomId();
  const std::string hash = Sha256Hex(token);
  if (line.json()) {
    line.PrintLine(
        absl::StrCat("{\"token\":", JsonQuote(token), ",\"token_sha256\":", JsonQuote(hash), "}"));
    return kExitOk;
  }
  line.PrintLine(absl::StrCat("token:        ", token));
  line.PrintLine(absl::StrCat("token_sha256: ", hash));
  return kExitOk;
}

}  // namespace

void AddAccessCommands(CLI::App& app, CommandLine& line) {
  app.add_subcommand("approvals", "The calls that wait for a yes.")->callback([&line] {
    line.Choose([&line] { return ListApprovals(line); });
  });
  AddDecision(app, line, "approve", "Lets a call that waits through, once.", true);
  AddDecision(app, line, "deny", "Refuses a call that waits.", false);

  auto request = std::make_shared<v1::ApproveToolRequest>();
  CLI::App* tool = app.add_subcommand(
      "approve-tool", "Accepts a definition that was quarantined because it changed.");
  tool->add_option("NAME", *request->mutable_name(), "The tool.")->required();
  tool->add_option("--digest", *request->mutable_digest(),
                   "Of the definition that was looked at; else the one it has now.");
  tool->callback(
      [&line, request] { line.Choose([&line, request] { return ApproveTool(line, *request); }); });

  app.add_subcommand("token", "Makes a random token and its hash for the configuration.")
      ->callback([&line] { line.Choose([&line] { return NewToken(line); }); });
}

}  // namespace toolrack
