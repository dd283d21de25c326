#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/name.h"
#include "server/config.h"
#include "server/rpc/unary.h"
#include "server/services/core.h"
#include "server/services/page.h"
#include "server/services/services.h"
#include "toolrack/v1/admin_service.grpc.pb.h"

namespace toolrack {
namespace {

constexpr absl::Duration kMaxGrace = absl::Hours(24);

std::string CallKey(const v1::CallInfo& call) {
  return absl::StrCat(TimeKey(call.start_time()), "/", call.call_id());
}

class AdminService final : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(const Core* core)
      : core_(*core),
        max_pending_(core->config.limits().max_pending_requests()),
        status_(core->methods->Get("AdminService/GetStatus")),
        list_workers_(core->methods->Get("AdminService/ListWorkers")),
        list_hooks_(core->methods->Get("AdminService/ListHooks")),
        list_calls_(core->methods->Get("AdminService/ListCalls")),
        cancel_(core->methods->Get("AdminService/CancelCall")),
        enable_(core->methods->Get("AdminService/SetToolEnabled")),
        approve_(core->methods->Get("AdminService/ApproveTool")),
        approvals_(core->methods->Get("AdminService/ListApprovals")),
        decide_(core->methods->Get("AdminService/DecideApproval")),
        reload_(core->methods->Get("AdminService/ReloadConfig")),
        drain_(core->methods->Get("AdminService/Drain")) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::GetStatusResponse* response) override {
    return On(context, response, status_, [this](const std::string&) {
      return absl::StatusOr<v1::GetStatusResponse>(core_.control->Status());
    });
  }

  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const v1::ListWorkersRequest* request,
                                        v1::ListWorkersResponse* response) override {
    return On(context, response, list_workers_,
              [this, request](const std::string&) { return WorkersPage(*request); });
  }

  grpc::ServerUnaryReactor* ListHooks(grpc::CallbackServerContext* context,
                                      const v1::ListHooksRequest* request,
                                      v1::ListHooksResponse* response) override {
    return On(context, response, list_hooks_,
              [this, request](const std::string&) { return HooksPage(*request); });
  }

  grpc::ServerUnaryReactor* ListCalls(grpc::CallbackServerContext* context,
                                      const v1::ListCallsRequest* request,
                                      v1::ListCallsResponse* response) override {
    return On(context, response, list_calls_,
              [this, request](const std::string&) { return CallsPage(*request); });
  }

  // Ending a call answers its caller, which may be much work when an id names many calls.
  grpc::ServerUnaryReactor* CancelCall(grpc::CallbackServerContext* context,
                                       const v1::CancelCallRequest* request,
                                       v1::CancelCallResponse* response) override {
    return On(context, response, cancel_,
              [this, request](const std::string&) -> absl::StatusOr<v1::CancelCallResponse> {
                if (request->call_id().empty()) {
                  return RequestInvalid("call_id", "", "the id of a running call");
                }
                v1::CancelCallResponse out;
                out.set_cancelled(core_.pipeline->CancelCall(request->call_id()));
                if (out.cancelled() == 0) return CallNotFound(request->call_id());
                return out;
              });
  }

  grpc::ServerUnaryReactor* SetToolEnabled(grpc::CallbackServerContext* context,
                                           const v1::SetToolEnabledRequest* request,
                                           v1::SetToolEnabledResponse* response) override {
    return On(context, response, enable_,
              [this, request](const std::string&) { return Switch(*request); });
  }

  grpc::ServerUnaryReactor* ApproveTool(grpc::CallbackServerContext* context,
                                        const v1::ApproveToolRequest* request,
                                        v1::ApproveToolResponse* response) override {
    return On(context, response, approve_,
              [this, request](const std::string& who) { return Approve(*request, who); });
  }

  grpc::ServerUnaryReactor* ListApprovals(grpc::CallbackServerContext* context,
                                          const v1::ListApprovalsRequest* request,
                                          v1::ListApprovalsResponse* response) override {
    return On(context, response, approvals_,
              [this, request](const std::string&) { return ApprovalsPage(*request); });
  }

  grpc::ServerUnaryReactor* DecideApproval(grpc::CallbackServerContext* context,
                                           const v1::DecideApprovalRequest* request,
                                           v1::DecideApprovalResponse* response) override {
    return On(context, response, decide_,
              [this, request](const std::string& who) { return Decide(*request, who); });
  }

  grpc::ServerUnaryReactor* ReloadConfig(grpc::CallbackServerContext* context,
                                         const v1::ReloadConfigRequest* request,
                                         v1::ReloadConfigResponse* response) override {
    return On(context, response, reload_, [this, request](const std::string&) {
      return core_.control->ReloadConfig(request->check_only());
    });
  }

  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override {
    return On(context, response, drain_,
              [this, request](const std::string&) { return BeginDrain(*request); });
  }

 private:
  // Answers on the executor, once the caller was let in. `work` gets its principal.
  template <typename Response, typename Work>
  grpc::ServerUnaryReactor* On(grpc::CallbackServerContext* context, Response* response,
                               MethodStats* method, Work work) {
    return AnswerOn(
        core_.executor, max_pending_, context, response, method,
        [work = std::move(work),
         who = core_.admission->Admit(*context, AccessScope::kAdmin,
                                      method->name())]() mutable -> absl::StatusOr<Response> {
          if (!who.ok()) return who.status();
          return work(*who);
        });
  }

  absl::StatusOr<v1::ApproveToolResponse> Approve(const v1::ApproveToolRequest& request,
                                                  const std::string& who) {
    if (request.name().empty()) return RequestInvalid("name", "", "the canonical name of a tool");
    if (request.digest().empty()) {
      return RequestInvalid("digest", "", "the digest of the definition that was looked at");
    }
    const absl::StatusOr<ToolEntryPtr> tool =
        core_.registry->ApproveTool(request.name(), request.digest());
    if (!tool.ok()) return tool.status();
    LogInfo(absl::StrCat("the definition ", ForMessage(request.digest()), " of ",
                         ForMessage(request.name()), " was approved by ", who));
    v1::ApproveToolResponse out;
    *out.mutable_tool() = (*tool)->ToProto(v1::TOOL_VIEW_BASIC);
    out.set_revision(core_.registry->snapshot()->revision());
    return out;
  }

  absl::StatusOr<v1::ListApprovalsResponse> ApprovalsPage(const v1::ListApprovalsRequest& request) {
    v1::ListApprovalsResponse out;
    const auto key_of = [](const v1::Approval& approval) {
      return absl::StrCat(TimeKey(approval.create_time()), "/", approval.approval_id());
    };
    std::vector<v1::Approval> approvals = core_.approvals->List();
    std::sort(
        approvals.begin(), approvals.end(),
        [&key_of](const v1::Approval& a, const v1::Approval& b) { return key_of(a) < key_of(b); });
    absl::StatusOr<std::string> next =
        Page(approvals, request.page_size(), request.page_token(), key_of,
             [&out](v1::Approval approval) { *out.add_approvals() = std::move(approval); });
    if (!next.ok()) return next.status();
    out.set_next_page_token(*std::move(next));
    return out;
  }

  absl::StatusOr<v1::DecideApprovalResponse> Decide(const v1::DecideApprovalRequest& request,
                                                    const std::string& who) {
    absl::StatusOr<v1::Approval> approval =
        core_.approvals->Decide(request.approval_id(), request.grant(), who, request.note());
    if (!approval.ok()) return approval.status();
    LogInfo(absl::StrCat("the approval ", approval->approval_id(), " of ",
                         ForMessage(approval->tool()), " for ", approval->principal(), " was ",
                         request.grant() ? "granted" : "refused", " by ", who));
    v1::DecideApprovalResponse out;
    *out.mutable_approval() = *std::move(approval);
    return out;
  }

  absl::StatusOr<v1::ListWorkersResponse> WorkersPage(const v1::ListWorkersRequest& request) {
    v1::ListWorkersResponse out;
    const auto key_of = [](const v1::WorkerInfo& worker) {
      return absl::StrCat(worker.worker_name(), absl::string_view("\0", 1), worker.worker_id());
    };
    std::vector<v1::WorkerInfo> workers = core_.workers->List();
    std::sort(workers.begin(), workers.end(),
              [&key_of](const v1::WorkerInfo& a, const v1::WorkerInfo& b) {
                return key_of(a) < key_of(b);
              });
    absl::StatusOr<std::string> next =
        Page(workers, request.page_size(), request.page_token(), key_of,
             [&out](v1::WorkerInfo worker) { *out.add_workers() = std::move(worker); });
    if (!next.ok()) return next.status();
    out.set_next_page_token(*std::move(next));
    return out;
  }

  absl::StatusOr<v1::ListHooksResponse> HooksPage(const v1::ListHooksRequest& request) {
    v1::ListHooksResponse out;
    // The order in which they are asked, as text: the highest priority first, then by name.
    const auto key_of = [](const v1::HookInfo& hook) {
      const int64_t rank = int64_t{INT32_MAX} - hook.priority();
      return absl::StrCat(absl::Dec(rank, absl::kZeroPad12), "/", hook.hook_name());
    };
    std::vector<v1::HookInfo> hooks = core_.hooks->List();
    absl::StatusOr<std::string> next =
        Page(hooks, request.page_size(), request.page_token(), key_of,
             [&out](v1::HookInfo hook) { *out.add_hooks() = std::move(hook); });
    if (!next.ok()) return next.status();
    out.set_next_page_token(*std::move(next));
    return out;
  }

  absl::StatusOr<v1::ListCallsResponse> CallsPage(const v1::ListCallsRequest& request) {
    v1::ListCallsResponse out;
    std::vector<v1::CallInfo> calls = core_.pipeline->RunningCalls();
    std::sort(calls.begin(), calls.end(),
              [](const v1::CallInfo& a, const v1::CallInfo& b) { return CallKey(a) < CallKey(b); });
    absl::StatusOr<std::string> next =
        Page(calls, request.page_size(), request.page_token(), CallKey,
             [&out](v1::CallInfo call) { *out.add_calls() = std::move(call); });
    if (!next.ok()) return next.status();
    out.set_next_page_token(*std::move(next));
    // With the first page only: they are the same on each.
    if (request.page_token().empty()) {
      for (v1::Refusal& refusal : core_.pipeline->LastRefusals()) {
        *out.add_refusals() = std::move(refusal);
      }
    }
    return out;
  }

  absl::StatusOr<v1::SetToolEnabledResponse> Switch(const v1::SetToolEnabledRequest& request) {
    std::vector<ToolEntryPtr> changed;
    if (request.selector_case() == v1::SetToolEnabledRequest::kName) {
      absl::StatusOr<std::vector<ToolEntryPtr>> one =
          core_.registry->SetToolEnabled(request.name(), request.enabled());
      if (!one.ok()) return one.status();
      changed = *std::move(one);
    } else if (request.selector_case() == v1::SetToolEnabledRequest::kCategory) {
      if (absl::Status status = CheckCategory(request.category()); !status.ok()) return status;
      changed = core_.registry->SetCategoryEnabled(request.category(), request.enabled());
    } else {
      return RequestInvalid("selector", "", "`name` or `category`");
    }
    std::sort(changed.begin(), changed.end(),
              [](const ToolEntryPtr& a, const ToolEntryPtr& b) { return a->name() < b->name(); });
    v1::SetToolEnabledResponse out;
    for (const ToolEntryPtr& entry : changed) {
      *out.add_tools() = entry->ToProto(v1::TOOL_VIEW_BASIC);
    }
    out.set_revision(core_.registry->snapshot()->revision());
    return out;
  }

  absl::StatusOr<v1::DrainResponse> BeginDrain(const v1::DrainRequest& request) {
    absl::Duration grace = FromProto(core_.config.drain_grace());
    if (request.has_grace()) {
      grace = FromProto(request.grace());
      if (grace < absl::ZeroDuration() || grace > kMaxGrace) {
        return RequestInvalid("grace", absl::FormatDuration(grace), "0 to 24h");
      }
    }
    if (request.worker_name().empty()) {
      core_.control->BeginDrain(grace);
    } else if (absl::Status status = core_.workers->DrainWorker(request.worker_name(), grace);
               !status.ok()) {
      return status;
    }
    v1::DrainResponse out;
    out.set_calls_in_flight(core_.pipeline->calls_in_flight());
    return out;
  }

  const Core& core_;
  const uint64_t max_pending_;
  MethodStats* const status_;
  MethodStats* const list_workers_;
  MethodStats* const list_hooks_;
  MethodStats* const list_calls_;
  MethodStats* const cancel_;
  MethodStats* const enable_;
  MethodStats* const approve_;
  MethodStats* const approvals_;
  MethodStats* const decide_;
  MethodStats* const reload_;
  MethodStats* const drain_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const Core* core) {
  return std::make_unique<AdminService>(core);
}

}  // namespace toolrack
