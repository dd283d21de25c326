// RenderOptions.allowed_tools: said beside the prefix, never in it.
#include "renderers/allowed_tools.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

Tools Some(int count) {
  Tools tools;
  for (int i = 0; i < count; ++i) {
    tools.Add(absl::StrCat("srv__t", i), "d", R"({"type":"object"})");
  }
  return tools;
}
v1::RenderOptions Allowing(const std::vector<std::string>& names) {
  v1::RenderOptions options;
  for (const std::string& name : names) options.add_allowed_tools(name);
  return options;
}

TEST(AllowedToolsTest, ResponsesSaysItInToolChoice) {
  const Tools tools = Some(3);
  const auto all = Render("openai_responses", tools);
  const auto some = Render("openai_responses", tools, Allowing({"srv__t2", "srv__t0", "srv__t2"}));
  EXPECT_EQ(
      ContentOf(some, "tool_choice"),
      R"({"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"srv__t0"},{"type":"function","name":"srv__t2"}]})");
  EXPECT_EQ(ContentOf(some, "tools"), ContentOf(all, "tools"));
  EXPECT_EQ(ContentOf(all, "tool_choice"), "");
  EXPECT_EQ(some.warnings_size(), 0);
}

TEST(AllowedToolsTest, DeferredOnesAndTheSearchCanBeAllowed) {
  const auto some =
      Render("openai_responses_deferred", Some(30), Allowing({"__tool_search", "srv__t7"}));
  EXPECT_EQ(
      ContentOf(some, "tool_choice"),
      R"({"type":"allowed_tools","mode":"auto","tools":[{"type":"tool_search"},{"type":"function","name":"srv__t7"}]})");
}

TEST(AllowedToolsTest, UnknownNamesAreWarnedOfAndNoneLeftIsNone) {
  const auto some = Render("openai_responses", Some(1), Allowing({"nobody"}));
  EXPECT_EQ(ContentOf(some, "tool_choice"), "\"none\"");
  ASSERT_EQ(some.warnings_size(), 1);
  EXPECT_EQ(some.warnings(0).rule(), "allowed_tool_unknown");
  EXPECT_EQ(some.warnings(0).tool(), "nobody");
  // A tool behind the dispatcher is not declared: its name cannot be in `tool_choice`.
  const auto hidden = Render("openai_responses_dispatcher", Some(1), Allowing({"srv__t0"}));
  EXPECT_EQ(hidden.warnings(0).rule(), "allowed_tool_unknown");
}

TEST(AllowedToolsTest, OtherFormatsWarnAndChangeNothing) {
  for (const RendererSpec& spec : AllRenderers()) {
    if (spec.dialect->declare == DeclareEngine::kOpenAiResponses) continue;
    const auto all = Render(spec.name(), Some(3));
    const auto some = Render(spec.name(), Some(3), Allowing({"srv__t0"}));
    ASSERT_EQ(some.fragments_size(), all.fragments_size());
    for (int i = 0; i < all.fragments_size(); ++i) {
      EXPECT_EQ(some.fragments(i).digest(), all.fragments(i).digest()) << spec.name();
    }
    EXPECT_EQ(some.warnings(some.warnings_size() - 1).rule(), "allowed_tools_not_said");
  }
}

}  // namespace
}  // namespace toolrack
