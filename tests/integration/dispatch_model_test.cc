// Dispatch in a session that says its model and no renderer.
#include <gmock/gmock.h>

#include <future>

#include "absl/strings/str_cat.h"
#include "renderers/catalog.h"
#include "tests/integration/dispatch_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::Config OwnModel() {
  v1::Config config;
  v1::RendererRule& rule = *config.mutable_renderers()->add_rules();
  rule.add_models("house-model*");
  rule.add_renderers("anthropic");
  v1::PolicyRule& asked = *config.mutable_policy()->add_rules();
  asked.set_name("ask-echo");
  asked.set_action("ask");
  asked.add_tools("echo");
  return config;
}

class OwnModelDispatchTest : public DispatchTest {
 protected:
  OwnModelDispatchTest() : DispatchTest(OwnModel()) {
    v1::OpenSessionRequest request;
    request.set_model("house-model-2");
    v1::Session session;
    EXPECT_TRUE(sessions_->OpenSession(NewContext().get(), request, &session).ok());
    session_ = session.session_id();
  }
  std::string session_;
};

TEST_F(OwnModelDispatchTest, IsReadAsItsRuleSays) {
  const auto response = Dispatch(
      Json(session_,
           R"([{"type":"tool_use","id":"t","name":"calculator","input":{"expression":"6*7"}}])"));
  EXPECT_THAT(Outcomes(response), ElementsAre("ok:42"));
}

TEST_F(OwnModelDispatchTest, ARefusalTellsAProgramWhatItNeeds) {
  const auto response = Dispatch(
      Json(session_, R"([{"type":"tool_use","id":"t","name":"echo","input":{"text":"a"}}])"));
  ASSERT_THAT(Outcomes(response), ElementsAre("APPROVAL_REQUIRED"));
  EXPECT_FALSE(response.outcomes(0).status().metadata().at("approval_id").empty());
}

// --- filters are about prompts

class FilteredDispatchTest : public DispatchTest {
 protected:
  // A session whose prompts are about another category than the tool's, whose name is too long for
  // the wire.
  std::string OpenFiltered(const std::string& renderer) {
    v1::OpenSessionRequest request;
    request.set_renderer(renderer);
    request.mutable_filters()->add_names("echo");
    v1::Session session;
    EXPECT_TRUE(sessions_->OpenSession(NewContext().get(), request, &session).ok());
    return session.session_id();
  }
  const std::string name_ = "remember_" + std::string(80, 'x');
  const std::string full_name_ = "files__" + name_;
};

TEST_F(FilteredDispatchTest, WhatIsFoundOutsideThemIsShownAndCalledByItsWireName) {
  TestTools tools(server_->registry(), "files");
  const auto held = tools.AddHeld(name_);
  const std::string session = OpenFiltered("anthropic_deferred");
  const auto found = Dispatch(Json(session, absl::StrCat(R"([{"type":"tool_use","id":"s","name":)",
                                                         R"("__tool_search","input":{"query":)",
                                                         R"("select:)", full_name_, R"("}}])")));
  EXPECT_THAT(found.loaded_tools(), ElementsAre(full_name_));
  const std::string wire = WireNameFor(*FindRenderer("anthropic_deferred")->dialect, full_name_);
  ASSERT_NE(wire, full_name_);
  EXPECT_THAT(Appended(found), HasSubstr(absl::StrCat("\"tool_name\":\"", wire, "\"")));
  auto called = std::async(std::launch::async, [&] {
    return Dispatch(Json(session, absl::StrCat(R"([{"type":"tool_use","id":"t","name":")", wire,
                                               R"(","input":{}}])")));
  });
  if (held->WaitFor(1)) held->Answer("done");
  const v1::DispatchResponse response = called.get();
  EXPECT_THAT(Outcomes(response), ElementsAre("ok:done"));
}

}  // namespace
}  // namespace toolrack
