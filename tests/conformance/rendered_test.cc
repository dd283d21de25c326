// What families' official templates render, read where TOOLRACK_SHARED says that it lies: our
// declarations, calls and results stand in it, byte for byte.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "renderers/family_text.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

std::string Contents(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

struct Case {
  const char* folder;
  const char* renderer;
  bool declaration, result;
};

class RenderedTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string path = SharedPath("cases/rendered/").string();
    const std::string text = Contents(path + "scenarios.json");
    if (text.empty()) GTEST_SKIP() << "no shared cases";
    const auto scenarios = ParseJsonText(text);
    ASSERT_TRUE(scenarios.has_value());
    scenarios_ = *scenarios->Find("scenarios");
    folder_ = path + GetParam().folder + "/";
    dialect_ = FindDialect(GetParam().renderer);
    ASSERT_NE(dialect_, nullptr);
  }
  // The calls of a scenario, spelled.
  std::string Calls(const char* scenario) {
    std::vector<std::string> spelled;
    for (const JsonText& message : scenarios_.Find(scenario)->Find("messages")->items) {
      const JsonText* calls = message.Find("tool_calls");
      if (calls == nullptr) continue;
      for (const JsonText& call : calls->items) {
        const JsonText* function = call.Find("function");
        const auto one = FamilyCall(*dialect_, function->StringAt("name"),
                                    WriteJson(*function->Find("arguments")));
        EXPECT_TRUE(one.has_value());
        spelled.push_back(one.value_or(""));
      }
    }
    return FamilyCalls(*dialect_, spelled);
  }

  JsonText scenarios_;
  std::string folder_;
  const Dialect* dialect_ = nullptr;
};

TEST_P(RenderedTest, TheDeclarationStandsInThePrompt) {
  if (!GetParam().declaration) GTEST_SKIP() << "its declaration is ours";
  std::vector<v1::Tool> tools;
  for (const JsonText& given : scenarios_.Find("1_tools_sys")->Find("tools")->items) {
    const JsonText* function = given.Find("function");
    v1::Tool& tool = tools.emplace_back();
    tool.set_name(std::string(function->StringAt("name")));
    tool.set_description(std::string(function->StringAt("description")));
    tool.set_input_schema(WriteJson(*function->Find("parameters")));
  }
  std::vector<DeclaredTool> declared;
  RenderWarnings warnings;
  for (const v1::Tool& tool : tools) {
    declared.push_back(PrepareTool(*dialect_, tool, {}, warnings));
  }
  const std::string text = FamilyDeclaration(*dialect_, declared);
  int seen = 0;
  for (const char* scenario : {"1_tools_sys.txt", "1_tools_nosys.txt", "4_parallel.txt"}) {
    const std::string whole = Contents(folder_ + scenario);
    if (whole.empty()) continue;  // not every family has every scenario
    ++seen;
    EXPECT_NE(whole.find(text), std::string::npos) << text << "\n---\n" << whole;
  }
  EXPECT_GT(seen, 0);
}

TEST_P(RenderedTest, CallsStandInTheHistory) {
  const std::string text = Calls("3_call_result");
  const std::string whole = Contents(folder_ + "3_call_result.txt");
  EXPECT_NE(whole.find(text), std::string::npos) << text << "\n---\n" << whole;
}

TEST_P(RenderedTest, ResultsStandInTheHistory) {
  if (!GetParam().result) GTEST_SKIP() << "around results stand turns, which are not ours";
  const std::string text = FamilyResult(*dialect_, "get_weather", "{\"temp\": 21.5}");
  const std::string whole = Contents(folder_ + "3_call_result.txt");
  EXPECT_NE(whole.find(text), std::string::npos) << text << "\n---\n" << whole;
}

INSTANTIATE_TEST_SUITE_P(
    Families, RenderedTest,
    testing::Values(Case{"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes", false, true},
                    Case{"Qwen-Qwen2.5-7B-Instruct", "qwen2_5", true, true},
                    Case{"Qwen-Qwen3-0.6B", "qwen3", true, true},
                    Case{"Qwen3-Coder", "qwen3_coder", false, true},
                    Case{"GLM-4.6", "glm4_5", true, true},
                    Case{"GLM-4.7-Flash", "glm4_7", true, true},
                    Case{"Kimi-K2-Instruct", "kimi_k2", false, true},
                    Case{"MiniMax-M2", "minimax_m2", false, true},
                    Case{"ByteDance-Seed-OSS", "seed_oss", false, true},
                    Case{"deepseek-ai-DeepSeek-V3.1", "deepseek_v3_1", false, true},
                    Case{"deepseek-ai-DeepSeek-V3.2", "deepseek_v3_2", false, true},
                    Case{"google-gemma-4-31B-it", "gemma4", false, true},
                    Case{"ibm-granite-granite-4.0", "granite4", true, true},
                    Case{"meta-llama-Llama-3.1-8B-Instruct", "llama3_json", false, true},
                    Case{"v13", "mistral_v13", false, true}),
    [](const auto& info) { return std::string(info.param.renderer); });

}  // namespace
}  // namespace toolrack
