// Dispatch in a session that says its model and no renderer.
#include <gmock/gmock.h>

#include "tests/integration/dispatch_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace toolrack
