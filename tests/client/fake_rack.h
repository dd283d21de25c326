// Stand-ins for the daemon's services, for tests of the client.
#ifndef TOOLRACK_TESTS_CLIENT_FAKE_RACK_H_
#define TOOLRACK_TESTS_CLIENT_FAKE_RACK_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "internal/google_rpc.pb.h"
#include "registry/base/errors.h"
#include "toolrack/v1/admin_service.grpc.pb.h"
#include "toolrack/v1/dispatcher_service.grpc.pb.h"
#include "toolrack/v1/session_service.grpc.pb.h"
#include "toolrack/v1/tool_service.grpc.pb.h"

namespace toolrack {

// As the daemon puts an error on the wire.
inline grpc::Status OnTheWire(const absl::Status& status) {
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(std::string(status.message()));
  status.ForEachPayload([&wire](absl::string_view url, const absl::Cord& payload) {
    auto* detail = wire.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), wire.message(),
                      wire.SerializeAsString());
}

class FakeTools : public v1::ToolService::Service {
 public:
  std::vector<v1::Tool> tools;
  std::function<absl::Status(const v1::CallToolRequest&, v1::CallToolResponse&)> on_call;
  std::vector<v1::CallToolStreamResponse> events;
  std::vector<v1::WatchToolsResponse> changes;
  v1::ExplainCallResponse explained;
  v1::SearchToolsResponse found;
  v1::SearchToolsRequest searched;
  std::string stored;
  absl::Notification waiting;  // a call waits until its caller leaves
  absl::Notification left;

  grpc::Status ListTools(grpc::ServerContext*, const v1::ListToolsRequest* request,
                         v1::ListToolsResponse* response) override {
    // Pages of two, whatever was asked for.
    const size_t first =
        request->page_token().empty() ? 0 : static_cast<size_t>(std::stoi(request->page_token()));
    for (size_t i = first; i < tools.size() && i < first + 2; ++i) {
      *response->add_tools() = tools[i];
    }
    if (first + 2 < tools.size()) response->set_next_page_token(std::to_string(first + 2));
    response->set_total_size(static_cast<int>(tools.size()));
    response->set_epoch("e1");
    return grpc::Status::OK;
  }
  grpc::Status DescribeTool(grpc::ServerContext*, const v1::DescribeToolRequest* request,
                            v1::Tool* response) override {
    for (const v1::Tool& tool : tools) {
      if (tool.name() == request->name()) return *response = tool, grpc::Status::OK;
    }
    return OnTheWire(ToolNotFound(request->name(), {"echo"}));
  }
  grpc::Status SearchTools(grpc::ServerContext*, const v1::SearchToolsRequest* request,
                           v1::SearchToolsResponse* response) override {
    searched = *request;
    *response = found;
    return grpc::Status::OK;
  }
  grpc::Status CallTool(grpc::ServerContext* context, const v1::CallToolRequest* request,
                        v1::CallToolResponse* response) override {
    if (request->name() == "wait") {
      waiting.Notify();
      while (!context->IsCancelled()) std::this_thread::yield();
      left.Notify();
      return grpc::Status::CANCELLED;
    }
    const absl::Status status = on_call(*request, *response);
    return status.ok() ? grpc::Status::OK : OnTheWire(status);
  }
  grpc::Status CallToolStream(grpc::ServerContext*, const v1::CallToolStreamRequest*,
                              grpc::ServerWriter<v1::CallToolStreamResponse>* writer) override {
    for (const auto& event : events) writer->Write(event);
    return grpc::Status::OK;
  }
  grpc::Status ExplainCall(grpc::ServerContext*, const v1::ExplainCallRequest*,
                           v1::ExplainCallResponse* response) override {
    *response = explained;
    return grpc::Status::OK;
  }
  grpc::Status WatchTools(grpc::ServerContext*, const v1::WatchToolsRequest* request,
                          grpc::ServerWriter<v1::WatchToolsResponse>* writer) override {
    for (const auto& change : changes) {
      if (change.revision() <= request->from_revision()) continue;
      writer->Write(change);
      // Dropped once, in the middle.
      if (request->epoch().empty() && change.revision() == 2) {
        return OnTheWire(SlowReader("max_watch_backlog", 1));
      }
    }
    return grpc::Status::OK;
  }
  grpc::Status ReadResult(grpc::ServerContext*, const v1::ReadResultRequest* request,
                          v1::ReadResultResponse* response) override {
    if (request->handle() != "h") return OnTheWire(ResultNotFound(request->handle(), true));
    // Never more than seven bytes at once.
    response->set_data(stored.substr(request->offset(), std::min<uint64_t>(7, request->length())));
    response->set_total_bytes(stored.size());
    response->set_eof(request->offset() + response->data().size() >= stored.size());
    return grpc::Status::OK;
  }
};

// One session for all; answers every output with `response`.
class FakeDispatcher : public v1::DispatcherService::Service {
 public:
  v1::DispatchRequest dispatched;
  v1::DispatchResponse response;

  grpc::Status Dispatch(grpc::ServerContext*, const v1::DispatchRequest* request,
                        v1::DispatchResponse* out) override {
    dispatched = *request;
    *out = response;
    return grpc::Status::OK;
  }
};

class FakeSessions : public v1::SessionService::Service {
 public:
  v1::OpenSessionRequest opened;
  std::string closed;

  grpc::Status OpenSession(grpc::ServerContext*, const v1::OpenSessionRequest* request,
                           v1::Session* response) override {
    opened = *request;
    response->set_session_id("s1");
    return grpc::Status::OK;
  }
  grpc::Status CloseSession(grpc::ServerContext*, const v1::CloseSessionRequest* request,
                            v1::CloseSessionResponse*) override {
    closed = request->session_id();
    return grpc::Status::OK;
  }
};

class FakeAdmin : public v1::AdminService::Service {
 public:
  v1::DrainRequest drained;

  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest* request,
                           v1::ListWorkersResponse* response) override {
    auto* worker = response->add_workers();
    worker->set_worker_name(request->page_token().empty() ? "first" : "second");
    worker->set_state("attached");
    worker->set_max_in_flight(64);
    if (request->page_token().empty()) response->set_next_page_token("more");
    return grpc::Status::OK;
  }
  grpc::Status CancelCall(grpc::ServerContext*, const v1::CancelCallRequest* request,
                          v1::CancelCallResponse*) override {
    return OnTheWire(CallNotFound(request->call_id()));
  }
  grpc::Status SetToolEnabled(grpc::ServerContext*, const v1::SetToolEnabledRequest* request,
                              v1::SetToolEnabledResponse* response) override {
    auto* tool = response->add_tools();
    tool->set_name(request->name());
    tool->set_state(request->enabled() ? v1::TOOL_STATE_ACTIVE : v1::TOOL_STATE_DISABLED);
    return grpc::Status::OK;
  }
  grpc::Status Drain(grpc::ServerContext*, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override {
    drained = *request;
    response->set_calls_in_flight(3);
    return grpc::Status::OK;
  }
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CLIENT_FAKE_RACK_H_
