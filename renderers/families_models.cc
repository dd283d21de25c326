#include "renderers/families.h"

// Which open model is of which family: the first pattern that matches counts.
namespace toolrack {

std::vector<CatalogRule> FamilyRules() {
  struct Row {
    const char* pattern;
    const char* renderer;
  };
  static constexpr Row kRows[] = {
      {"*hermes-2*", "hermes"},
      {"*hermes-3*", "hermes"},
      {"*hermes2*", "hermes"},
      {"*hermes-4*", "qwen3"},
      {"*functiongemma*", "functiongemma"},
      {"*gemma-4*", "gemma4"},
      {"*gemma4*", "gemma4"},
      {"*gemma-3*", "pythonic"},
      {"*gemma3*", "pythonic"},
      {"*qwen3-coder-next*", "qwen3_5"},
      {"*qwen3-coder*", "qwen3_coder"},
      {"*qwen3.[5-9]*", "qwen3_5"},
      {"*qwen3*", "qwen3"},
      {"*qwen2.5*", "qwen2_5"},
      {"*qwen2*", "qwen2_5"},
      {"*qwq*", "qwq"},
      {"*toolace*", "pythonic"},
      {"*mimo*", "qwen3"},
      {"*cogito*", "qwen3"},
      {"*xlam*", "xlam"},
      {"*functionary*3.1*", "functionary_v3_1"},
      {"*functionary*", "functionary_v3_2"},
      {"*firefunction*", "phi4_mini"},
      {"*deepseek-r1-distill-qwen*", "qwq"},
      {"*deepseek-r1-distill-llama*", "llama3_json"},
      {"*deepseek-r1*", "deepseek_r1"},
      {"*deepseek-v3.1*", "deepseek_v3_1"},
      {"*deepseek-v3.2*", "deepseek_v3_2"},
      {"*deepseek-v3*", "deepseek_v3"},
      {"*deepseek-v4*", "deepseek_v4"},
      {"*nemotron-3*", "nemotron_v3"},
      {"*nemotron*nano*30b*", "nemotron_v3"},
      {"*nemotron*", "nemotron_v2"},
      {"*llama-4*", "llama4_pythonic"},
      {"*llama4*", "llama4_pythonic"},
      {"*llama-3*", "llama3_json"},
      {"*llama3*", "llama3_json"},
      {"*mistral-small-3.2*", "mistral_v11"},
      {"*mistral-small*2506*", "mistral_v11"},
      {"*mistral-small*2501*", "mistral_v7"},
      {"*mistral-small*2503*", "mistral_v7"},
      {"*mistral-small-3*", "mistral_v7"},
      {"*mistral-large*2411*", "mistral_v7"},
      {"*mistral-large*2407*", "mistral_v3"},
      {"*mistral-nemo*", "mistral_v3"},
      {"*mistral-7b*v0.3*", "mistral_v3"},
      {"*mistral-7b*", "mistral_v2"},
      {"*mixtral-8x22b*", "mistral_v2"},
      {"*devstral*", "mistral_v13"},
      {"*magistral*", "mistral_v13"},
      {"*ministral-3*", "mistral_v13"},
      {"*mistral-medium-3*", "mistral_v13"},
      {"*glm-4.7*", "glm4_7"},
      {"*glm-4.[5-6]*", "glm4_5"},
      {"*kimi-k2-thinking*", "kimi_k2_thinking"},
      {"*kimi-k2.5*", "kimi_k2_thinking"},
      {"*kimi-k2*", "kimi_k2"},
      {"*minimax-m1*", "minimax_m1"},
      {"*minimax-m2*", "minimax_m2"},
      {"*minimax-m3*", "minimax_m3"},
      {"*phi-4-mini*", "phi4_mini"},
      {"*phi4-mini*", "phi4_mini"},
      {"*granite-20b-functioncalling*", "granite_20b_fc"},
      {"*granite-4*", "granite4"},
      {"*granite4*", "granite4"},
      {"*granite-3*", "granite3"},
      {"*granite3*", "granite3"},
      {"*command-r7b*", "command_r7b"},
      {"*command-a*", "command_r7b"},
      {"*command-r*", "command_r"},
      {"*jamba*", "jamba"},
      {"*internlm*", "internlm"},
      {"*hunyuan-a13b*", "hunyuan_a13b"},
      {"*hy3*", "hunyuan_hy3"},
      {"*seed-oss*", "seed_oss"},
      {"*apertus*", "apertus"},
      {"*lfm2*", "lfm2"},
      {"*step-3.5*", "step3_5"},
      {"*step3*", "step3"},
      {"*ernie-4.5*", "ernie4_5"},
      {"*olmo-3*", "olmo3"},
      {"*gigachat3*", "gigachat3"},
      {"*gigachat-3*", "gigachat3"},
      {"*solar-open*", "solar_open"},
      {"*minicpm5*", "minicpm5"},
      {"*apriel*", "apriel"},
  };
  std::vector<CatalogRule> rules;
  // The names that servers have for parsers, and our own: whole, and so before the patterns.
  for (const Family& family : AllFamilies()) {
    const std::string name(family.name);
    for (const absl::string_view alias : family.aliases) {
      rules.push_back({std::string(alias), {name, name + "_dispatcher", name + "_deferred"}});
    }
    rules.push_back({name, {name, name + "_dispatcher", name + "_deferred"}});
  }
  for (const Row& row : kRows) {
    const std::string name = row.renderer;
    rules.push_back({row.pattern, {name, name + "_dispatcher", name + "_deferred"}});
  }
  return rules;
}

}  // namespace toolrack
