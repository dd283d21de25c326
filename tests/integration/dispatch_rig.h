// A conversation with a scripted model, for tests of DispatcherService.
#ifndef TOOLRACK_TESTS_INTEGRATION_DISPATCH_RIG_H_
#define TOOLRACK_TESTS_INTEGRATION_DISPATCH_RIG_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/base/errors.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"
#include "toolrack/v1/dispatcher_service.grpc.pb.h"

namespace toolrack {

class DispatchTest : public testing::Test {
 protected:
  explicit DispatchTest(v1::Config config = {}) : server_(std::move(config)) {}

  std::string Open(const std::string& renderer, const v1::RetryPolicy& policy = {}) {
    v1::OpenSessionRequest request;
    request.set_renderer(renderer);
    *request.mutable_retry_policy() = policy;
    v1::Session session;
    const grpc::Status status = sessions_->OpenSession(NewContext().get(), request, &session);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return session.session_id();
  }
  static v1::DispatchRequest Text(const std::string& session, const std::string& text,
                                  const std::string& turn = "") {
    v1::DispatchRequest request;
    request.set_session_id(session);
    request.set_text(text);
    request.set_turn_id(turn);
    return request;
  }
  static v1::DispatchRequest Json(const std::string& session, const std::string& json,
                                  const std::string& turn = "") {
    v1::DispatchRequest request;
    request.set_session_id(session);
    request.set_provider_json(json);
    request.set_turn_id(turn);
    return request;
  }
  absl::StatusOr<v1::DispatchResponse> Try(const v1::DispatchRequest& request) {
    v1::DispatchResponse response;
    const absl::Status status = FromGrpc(stub_->Dispatch(NewContext().get(), request, &response));
    if (!status.ok()) return status;
    return response;
  }
  v1::DispatchResponse Dispatch(const v1::DispatchRequest& request) {
    const absl::StatusOr<v1::DispatchResponse> response = Try(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::DispatchResponse();
  }
  // What is appended, one after the other.
  static std::string Appended(const v1::DispatchResponse& response) {
    std::string out;
    for (const v1::OutMessage& message : response.messages()) {
      out += message.has_json() ? message.json() : message.text();
      out += "\n";
    }
    return out;
  }
  // "ok:TEXT", "error:REASON" or the status's reason, for each outcome.
  static std::vector<std::string> Outcomes(const v1::DispatchResponse& response) {
    std::vector<std::string> out;
    for (const v1::DispatchOutcome& outcome : response.outcomes()) {
      if (outcome.has_status()) {
        out.push_back(outcome.status().reason());
      } else if (outcome.result().is_error()) {
        out.push_back("error:" + outcome.result().error().reason());
      } else {
        out.push_back("ok:" + outcome.result().content(0).text().text());
      }
    }
    return out;
  }

  TestServer server_;
  std::unique_ptr<v1::SessionService::Stub> sessions_ = server_.Sessions();
  std::unique_ptr<v1::ToolService::Stub> tools_ = server_.Tools();
  std::unique_ptr<v1::DispatcherService::Stub> stub_ =
      v1::DispatcherService::NewStub(server_.Channel("agent"));
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_INTEGRATION_DISPATCH_RIG_H_
