// A client of toolrackd for C++ programs: tools, sessions, administration, health.
//
// Every method blocks its thread until the answer is there, `options.timeout` is over or
// `options.stop` is requested, and gives the daemon's own error (client/status.h): read it with
// ReasonOf and its siblings of registry/base/errors.h. Thread-safe; calls share one connection,
// which is made on first use and made again when it was lost.
#ifndef TOOLRACK_CLIENT_CLIENT_H_
#define TOOLRACK_CLIENT_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/base/stop.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/dispatcher_service.pb.h"
#include "toolrack/v1/renderer_service.pb.h"
#include "toolrack/v1/session_service.pb.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

struct RequestOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // DEADLINE_EXCEEDED after it
  StopToken stop;                                     // CANCELLED when requested
  // Sent as `authorization: Bearer …`; empty: none. Without TLS whoever reads the wire reads it.
  std::string token = {};
};

class Client {
 public:
  // `address`: `unix:/path`, `unix-abstract:name` or `host:port`. Nothing is sent yet.
  static std::unique_ptr<Client> Make(const std::string& address);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& address() const { return address_; }
  // Tries once to connect: UNAVAILABLE when nobody listens there.
  absl::Status Connect(const RequestOptions& options = {});

  // One page.
  absl::StatusOr<v1::ListToolsResponse> ListTools(const v1::ListToolsRequest& request,
                                                  const RequestOptions& options = {});
  // All pages, one after the other, put together in one response; `request.page_token` is where to
  // start, `page_size` the size of one page. At most `max_tools`.
  absl::StatusOr<v1::ListToolsResponse> ListAllTools(v1::ListToolsRequest request,
                                                     const RequestOptions& options = {},
                                                     size_t max_tools = SIZE_MAX);
  absl::StatusOr<v1::Tool> DescribeTool(const v1::DescribeToolRequest& request,
                                        const RequestOptions& options = {});
  absl::StatusOr<v1::SearchToolsResponse> SearchTools(const v1::SearchToolsRequest& request,
                                                      const RequestOptions& options = {});
  absl::StatusOr<v1::CallToolResponse> CallTool(const v1::CallToolRequest& request,
                                                const RequestOptions& options = {});
  // `on_event` sees every event on the calling thread, the response too, which is also the result.
  absl::StatusOr<v1::CallToolResponse> CallToolStream(
      const v1::CallToolRequest& request,
      const std::function<void(const v1::CallToolStreamResponse&)>& on_event,
      const RequestOptions& options = {});
  absl::StatusOr<v1::ExplainCallResponse> ExplainCall(const v1::CallToolRequest& request,
                                                      const RequestOptions& options = {});
  // `on_event` sees every event on the calling thread; false ends the watch with OK.
  absl::Status WatchTools(const v1::WatchToolsRequest& request,
                          const std::function<bool(const v1::WatchToolsResponse&)>& on_event,
                          const RequestOptions& options = {});
  absl::StatusOr<v1::ReadResultResponse> ReadResult(const v1::ReadResultRequest& request,
                                                    const RequestOptions& options = {});

  // Renderers.
  absl::StatusOr<v1::ListRenderersResponse> ListRenderers(const v1::ListRenderersRequest& request,
                                                          const RequestOptions& options = {});
  absl::StatusOr<v1::ResolveRendererResponse> ResolveRenderer(
      const v1::ResolveRendererRequest& request, const RequestOptions& options = {});
  absl::StatusOr<v1::RenderInitialResponse> RenderInitial(const v1::RenderInitialRequest& request,
                                                          const RequestOptions& options = {});
  absl::StatusOr<v1::ParseOutputResponse> ParseOutput(const v1::ParseOutputRequest& request,
                                                      const RequestOptions& options = {});
  absl::StatusOr<v1::DispatchResponse> Dispatch(const v1::DispatchRequest& request,
                                                const RequestOptions& options = {});

  // Sessions: the caller's own, on control.sock everybody's.
  absl::StatusOr<v1::Session> OpenSession(const v1::OpenSessionRequest& request,
                                          const RequestOptions& options = {});
  absl::StatusOr<v1::Session> GetSession(const v1::GetSessionRequest& request,
                                         const RequestOptions& options = {});
  absl::StatusOr<v1::ListSessionsResponse> ListSessions(const v1::ListSessionsRequest& request,
                                                        const RequestOptions& options = {});
  absl::StatusOr<v1::CloseSessionResponse> CloseSession(const v1::CloseSessionRequest& request,
                                                        const RequestOptions& options = {});
  absl::StatusOr<v1::LoadToolsResponse> LoadTools(const v1::LoadToolsRequest& request,
                                                  const RequestOptions& options = {});
  absl::StatusOr<v1::UnloadToolsResponse> UnloadTools(const v1::UnloadToolsRequest& request,
                                                      const RequestOptions& options = {});

  // Administration: on control.sock only.
  absl::StatusOr<v1::GetStatusResponse> GetStatus(const RequestOptions& options = {});
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers(const v1::ListWorkersRequest& request,
                                                      const RequestOptions& options = {});
  absl::StatusOr<v1::ListHooksResponse> ListHooks(const v1::ListHooksRequest& request,
                                                  const RequestOptions& options = {});
  absl::StatusOr<v1::ListCallsResponse> ListCalls(const v1::ListCallsRequest& request,
                                                  const RequestOptions& options = {});
  absl::StatusOr<v1::CancelCallResponse> CancelCall(const v1::CancelCallRequest& request,
                                                    const RequestOptions& options = {});
  absl::StatusOr<v1::SetToolEnabledResponse> SetToolEnabled(
      const v1::SetToolEnabledRequest& request, const RequestOptions& options = {});
  absl::StatusOr<v1::ApproveToolResponse> ApproveTool(const v1::ApproveToolRequest& request,
                                                      const RequestOptions& options = {});
  absl::StatusOr<v1::ListApprovalsResponse> ListApprovals(const v1::ListApprovalsRequest& request,
                                                          const RequestOptions& options = {});
  absl::StatusOr<v1::DecideApprovalResponse> DecideApproval(
      const v1::DecideApprovalRequest& request, const RequestOptions& options = {});
  absl::StatusOr<v1::ReloadConfigResponse> ReloadConfig(const v1::ReloadConfigRequest& request,
                                                        const RequestOptions& options = {});
  absl::StatusOr<v1::DrainResponse> Drain(const v1::DrainRequest& request,
                                          const RequestOptions& options = {});

  // OK when `service` (empty: the server) is SERVING; UNAVAILABLE when it is not; NOT_FOUND when
  // it is not known.
  absl::Status CheckHealth(const std::string& service, const RequestOptions& options = {});

 private:
  struct Stubs;
  explicit Client(const std::string& address);

  const std::string address_;
  const std::unique_ptr<Stubs> stubs_;
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLIENT_H_
