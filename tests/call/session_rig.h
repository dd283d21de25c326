// A pipeline with sessions and in-process tools around it, all held still by the test.
#ifndef TOOLRACK_TESTS_CALL_SESSION_RIG_H_
#define TOOLRACK_TESTS_CALL_SESSION_RIG_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/call/pipeline.h"
#include "registry/session_table.h"
#include "registry/tool_server.h"
#include "tests/call/rig.h"

namespace toolrack {

class SessionRig {
 public:
  explicit SessionRig(PipelineOptions options = {})
      : timers(&clock),
        registry(RegistryOptions()),
        results(&clock, options.results),
        sessions({&registry, &timers, &clock}, options.limits),
        server(&registry, "local", ""),
        registrar(*server.TakeRegistrar()),
        pipeline({&registry, &timers, &clock, &executor, &results, &sessions}, std::move(options)) {
    sessions.AddHost(server.session_host());
    sessions.AddHost(&results);
  }

  std::string Open(const v1::OpenSessionRequest& request = {}) {
    const absl::StatusOr<v1::Session> session = sessions.Open(request, "uid:1");
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? session->session_id() : "";
  }
  v1::Session Get(const std::string& id) {
    const absl::StatusOr<v1::Session> session = sessions.Get(id, "uid:1");
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : v1::Session();
  }
  static v1::CallToolRequest Request(const std::string& session, const std::string& name,
                                     const std::string& arguments = "") {
    v1::CallToolRequest request = Rig::Request(name, arguments);
    request.set_session_id(session);
    return request;
  }
  void Start(v1::CallToolRequest request, Answer& answer, const std::string& principal = "uid:1") {
    pipeline.Start(std::move(request), {principal, "", absl::InfiniteDuration()}, StopSource(),
                   nullptr, [&answer](absl::StatusOr<v1::CallToolResponse> value) {
                     ++answer.times;
                     answer.value = std::move(value);
                   });
  }
  Answer Call(const std::string& session, const std::string& name,
              const std::string& arguments = "") {
    Answer answer;
    Start(Request(session, name, arguments), answer);
    executor.RunAll();
    EXPECT_EQ(answer.times, 1);
    return answer;
  }

  FakeClock clock;
  FakeTimers timers;
  ManualExecutor executor;
  Registry registry;
  ResultStore results;
  SessionTable sessions;
  ToolServer server;
  ToolRegistrar registrar;
  CallPipeline pipeline;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CALL_SESSION_RIG_H_
