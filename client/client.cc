#include "client/client.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/status.h"
#include "grpcpp/grpcpp.h"
#include "internal/health.grpc.pb.h"
#include "registry/base/errors.h"
#include "toolrack/v1/admin_service.grpc.pb.h"
#include "toolrack/v1/dispatcher_service.grpc.pb.h"
#include "toolrack/v1/renderer_service.grpc.pb.h"
#include "toolrack/v1/session_service.grpc.pb.h"
#include "toolrack/v1/tool_service.grpc.pb.h"

namespace toolrack {
namespace {

namespace health = grpc::health::v1;

constexpr int kLargestPage = 1000;

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // A call of a tool is not repeated behind its caller's back.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::chrono::system_clock::time_point DeadlineAfter(absl::Duration timeout) {
  return absl::ToChronoTime(absl::Now() + timeout);
}

// A request under way: its context, with the deadline and the stop tied to it.
class Ongoing {
 public:
  explicit Ongoing(const RequestOptions& options)
      : stopped_(options.stop.std_token(), [this] { context_.TryCancel(); }) {
    if (options.timeout != absl::InfiniteDuration()) {
      context_.set_deadline(DeadlineAfter(options.timeout));
    }
    if (!options.token.empty()) {
      context_.AddMetadata("authorization", absl::StrCat("Bearer ", options.token));
    }
  }
  grpc::ClientContext* operator*() { return &context_; }

 private:
  grpc::ClientContext context_;
  std::stop_callback<std::function<void()>> stopped_;
};

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Unary(Stub& stub,
                               grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                               const Request& request, const RequestOptions& options) {
  Ongoing ongoing(options);
  Response response;
  const grpc::Status status = (stub.*method)(*ongoing, request, &response);
  if (!status.ok()) return FromGrpcStatus(status);
  return response;
}

// The three requests of a call have the same fields under the same numbers.
template <typename To>
To Recast(const v1::CallToolRequest& request) {
  To out;
  out.ParseFromString(request.SerializeAsString());
  return out;
}

}  // namespace

struct Client::Stubs {
  std::shared_ptr<grpc::Channel> channel;
  v1::ToolService::Stub tools;
  v1::RendererService::Stub renderers;
  v1::DispatcherService::Stub dispatcher;
  v1::SessionService::Stub sessions;
  v1::AdminService::Stub admin;
  health::Health::Stub health;
};

Client::Client(const std::string& address)
    : address_(address), stubs_([&address] {
        std::shared_ptr<grpc::Channel> channel = MakeChannel(address);
        return std::unique_ptr<Stubs>(
            new Stubs{channel, v1::ToolService::Stub(channel), v1::RendererService::Stub(channel),
                      v1::DispatcherService::Stub(channel), v1::SessionService::Stub(channel),
                      v1::AdminService::Stub(channel), health::Health::Stub(channel)});
      }()) {}

Client::~Client() = default;

std::unique_ptr<Client> Client::Make(const std::string& address) {
  return std::unique_ptr<Client>(new Client(address));
}

absl::Status Client::Connect(const RequestOptions& options) {
  const absl::Time deadline = absl::Now() + options.timeout;
  grpc::Channel& channel = *stubs_->channel;
  while (!options.stop.stop_requested() && absl::Now() < deadline) {
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
      return absl::UnavailableError(absl::StrCat("nobody answers at ", address_));
    }
    // Short waits, so that a stop is seen.
    channel.WaitForStateChange(
        state, absl::ToChronoTime(std::min(deadline, absl::Now() + absl::Milliseconds(100))));
  }
  if (options.stop.stop_requested()) return absl::CancelledError("stopped while connecting");
  return absl::DeadlineExceededError(absl::StrCat("no connection to ", address_, " in time"));
}

absl::StatusOr<v1::ListToolsResponse> Client::ListTools(const v1::ListToolsRequest& request,
                                                        const RequestOptions& options) {
  return Unary(stubs_->tools, &v1::ToolService::Stub::ListTools, request, options);
}

absl::StatusOr<v1::ListToolsResponse> Client::ListAllTools(v1::ListToolsRequest request,
                                                           const RequestOptions& options,
                                                           size_t max_tools) {
  const absl::Time deadline = absl::Now() + options.timeout;
  RequestOptions rest = options;
  v1::ListToolsResponse all;
  if (request.page_size() == 0) request.set_page_size(kLargestPage);
  do {
    if (options.timeout != absl::InfiniteDuration()) rest.timeout = deadline - absl::Now();
    absl::StatusOr<v1::ListToolsResponse> page = ListTools(request, rest);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    google::protobuf::RepeatedPtrField<v1::Tool> tools = std::move(*all.mutable_tools());
    for (v1::Tool& tool : *page->mutable_tools()) *tools.Add() = std::move(tool);
    all = std::move(*page);
    *all.mutable_tools() = std::move(tools);
  } while (!request.page_token().empty() && static_cast<size_t>(all.tools_size()) < max_tools);
  if (static_cast<size_t>(all.tools_size()) > max_tools) {
    all.mutable_tools()->DeleteSubrange(static_cast<int>(max_tools),
                                        all.tools_size() - static_cast<int>(max_tools));
  }
  return all;
}

absl::StatusOr<v1::Tool> Client::DescribeTool(const v1::DescribeToolRequest& request,
                                              const RequestOptions& options) {
  return Unary(stubs_->tools, &v1::ToolService::Stub::DescribeTool, request, options);
}

absl::StatusOr<v1::SearchToolsResponse> Client::SearchTools(const v1::SearchToolsRequest& request,
                                                            const RequestOptions& options) {
  return Unary(stubs_->tools, &v1::ToolService::Stub::SearchTools, request, options);
}

absl::StatusOr<v1::CallToolResponse> Client::CallTool(const v1::CallToolRequest& request,
                                                      const RequestOptions& options) {
  Ongoing ongoing(options);
  v1::CallToolResponse response;
  const grpc::Status status = stubs_->tools.CallTool(*ongoing, request, &response);
  if (!status.ok()) return FromGrpcCallStatus(status, request.name());
  return response;
}

absl::StatusOr<v1::CallToolResponse> Client::CallToolStream(
    const v1::CallToolRequest& request,
    const std::function<void(const v1::CallToolStreamResponse&)>& on_event,
    const RequestOptions& options) {
  Ongoing ongoing(options);
  auto reader = stubs_->tools.CallToolStream(*ongoing, Recast<v1::CallToolStreamRequest>(request));
  v1::CallToolStreamResponse event;
  std::optional<v1::CallToolResponse> response;
  while (reader->Read(&event)) {
    on_event(event);
    if (event.has_response()) response = event.response();
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return FromGrpcCallStatus(status, request.name());
  if (!response.has_value()) return OutcomeUnknown(request.name(), "the daemon");
  return *std::move(response);
}

absl::StatusOr<v1::ExplainCallResponse> Client::ExplainCall(const v1::CallToolRequest& request,
                                                            const RequestOptions& options) {
  return Unary(stubs_->tools, &v1::ToolService::Stub::ExplainCall,
               Recast<v1::ExplainCallRequest>(request), options);
}

absl::Status Client::WatchTools(const v1::WatchToolsRequest& request,
                                const std::function<bool(const v1::WatchToolsResponse&)>& on_event,
                                const RequestOptions& options) {
  Ongoing ongoing(options);
  auto reader = stubs_->tools.WatchTools(*ongoing, request);
  v1::WatchToolsResponse event;
  bool ended = false;
  while (!ended && reader->Read(&event)) {
    ended = !on_event(event);
  }
  if (ended) (*ongoing)->TryCancel();
  const grpc::Status status = reader->Finish();
  return ended ? absl::OkStatus() : FromGrpcStatus(status);
}

absl::StatusOr<v1::ReadResultResponse> Client::ReadResult(const v1::ReadResultRequest& request,
                                                          const RequestOptions& options) {
  return Unary(stubs_->tools, &v1::ToolService::Stub::ReadResult, request, options);
}

absl::StatusOr<v1::ListRenderersResponse> Client::ListRenderers(
    const v1::ListRenderersRequest& request, const RequestOptions& options) {
  return Unary(stubs_->renderers, &v1::RendererService::Stub::ListRenderers, request, options);
}

absl::StatusOr<v1::ResolveRendererResponse> Client::ResolveRenderer(
    const v1::ResolveRendererRequest& request, const RequestOptions& options) {
  return Unary(stubs_->renderers, &v1::RendererService::Stub::ResolveRenderer, request, options);
}

absl::StatusOr<v1::RenderInitialResponse> Client::RenderInitial(
    const v1::RenderInitialRequest& request, const RequestOptions& options) {
  return Unary(stubs_->renderers, &v1::RendererService::Stub::RenderInitial, request, options);
}

absl::StatusOr<v1::ParseOutputResponse> Client::ParseOutput(const v1::ParseOutputRequest& request,
                                                            const RequestOptions& options) {
  return Unary(stubs_->renderers, &v1::RendererService::Stub::ParseOutput, request, options);
}

absl::StatusOr<v1::DispatchResponse> Client::Dispatch(const v1::DispatchRequest& request,
                                                      const RequestOptions& options) {
  return Unary(stubs_->dispatcher, &v1::DispatcherService::Stub::Dispatch, request, options);
}

absl::StatusOr<v1::GetStatusResponse> Client::GetStatus(const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::GetStatus, v1::GetStatusRequest(), options);
}

absl::StatusOr<v1::ListWorkersResponse> Client::ListWorkers(const v1::ListWorkersRequest& request,
                                                            const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::ListWorkers, request, options);
}

absl::StatusOr<v1::Session> Client::OpenSession(const v1::OpenSessionRequest& request,
                                                const RequestOptions& options) {
  return Unary(stubs_->sessions, &v1::SessionService::Stub::OpenSession, request, options);
}

absl::StatusOr<v1::Session> Client::GetSession(const v1::GetSessionRequest& request,
                                               const RequestOptions& options) {
  return Unary(stubs_->sessions, &v1::SessionService::Stub::GetSession, request, options);
}

absl::StatusOr<v1::ListSessionsResponse> Client::ListSessions(
    const v1::ListSessionsRequest& request, const RequestOptions& options) {
  return Unary(stubs_->sessions, &v1::SessionService::Stub::ListSessions, request, options);
}

absl::StatusOr<v1::CloseSessionResponse> Client::CloseSession(
    const v1::CloseSessionRequest& request, const RequestOptions& options) {
  return Unary(stubs_->sessions, &v1::SessionService::Stub::CloseSession, request, options);
}

absl::StatusOr<v1::LoadToolsResponse> Client::LoadTools(const v1::LoadToolsRequest& request,
                                                        const RequestOptions& options) {
  return Unary(stubs_->sessions, &v1::SessionService::Stub::LoadTools, request, options);
}

absl::StatusOr<v1::UnloadToolsResponse> Client::UnloadTools(const v1::UnloadToolsRequest& request,
                                                            const RequestOptions& options) {
  return Unary(stubs_->sessions, &v1::SessionService::Stub::UnloadTools, request, options);
}

absl::StatusOr<v1::ListHooksResponse> Client::ListHooks(const v1::ListHooksRequest& request,
                                                        const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::ListHooks, request, options);
}

absl::StatusOr<v1::ListCallsResponse> Client::ListCalls(const v1::ListCallsRequest& request,
                                                        const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::ListCalls, request, options);
}

absl::StatusOr<v1::CancelCallResponse> Client::CancelCall(const v1::CancelCallRequest& request,
                                                          const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::CancelCall, request, options);
}

absl::StatusOr<v1::SetToolEnabledResponse> Client::SetToolEnabled(
    const v1::SetToolEnabledRequest& request, const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::SetToolEnabled, request, options);
}

absl::StatusOr<v1::ApproveToolResponse> Client::ApproveTool(const v1::ApproveToolRequest& request,
                                                            const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::ApproveTool, request, options);
}

absl::StatusOr<v1::ListApprovalsResponse> Client::ListApprovals(
    const v1::ListApprovalsRequest& request, const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::ListApprovals, request, options);
}

absl::StatusOr<v1::DecideApprovalResponse> Client::DecideApproval(
    const v1::DecideApprovalRequest& request, const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::DecideApproval, request, options);
}

absl::StatusOr<v1::ReloadConfigResponse> Client::ReloadConfig(
    const v1::ReloadConfigRequest& request, const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::ReloadConfig, request, options);
}

absl::StatusOr<v1::DrainResponse> Client::Drain(const v1::DrainRequest& request,
                                                const RequestOptions& options) {
  return Unary(stubs_->admin, &v1::AdminService::Stub::Drain, request, options);
}

absl::Status Client::CheckHealth(const std::string& service, const RequestOptions& options) {
  health::HealthCheckRequest request;
  request.set_service(service);
  const absl::StatusOr<health::HealthCheckResponse> response =
      Unary(stubs_->health, &health::Health::Stub::Check, request, options);
  if (!response.ok()) return response.status();
  if (response->status() == health::HealthCheckResponse::SERVING) return absl::OkStatus();
  return absl::UnavailableError(
      health::HealthCheckResponse::ServingStatus_Name(response->status()));
}

}  // namespace toolrack
