#include "renderers/families.h"

// Families whose call is a header with the name and JSON behind it.
namespace toolrack {

std::vector<Family> HeaderFamilies() {
  const std::vector<absl::string_view> think = {"<think>"}, unthink = {"</think>"};
  const CallFormat mistral{.think_open = {"[THINK]"},
                           .think_close = {"[/THINK]"},
                           .open = {"[TOOL_CALLS]"},
                           .close = {"[/TOOL_CALLS]"},
                           .closer_optional = true,
                           .headers = {"%n[CALL_ID]%i[ARGS]", "%n[ARGS]"},
                           .spelling = {.call = "[TOOL_CALLS]%n[ARGS]%a",
                                        .join = "",
                                        .result = "[TOOL_RESULTS]%r[/TOOL_RESULTS]",
                                        .result_role = "tool"}};
  CallFormat v2 = mistral;
  v2.spelling.before = "[TOOL_CALLS][";
  v2.spelling.call = "{\"name\": %N, \"arguments\": %a}";
  v2.spelling.join = ", ";
  v2.spelling.after = "]";
  CallFormat v3 = v2;
  v3.spelling.call = "{\"name\": %N, \"arguments\": %a, \"id\": \"%i\"}";
  CallFormat v11 = mistral;
  v11.spelling.call = "[TOOL_CALLS]%n[CALL_ID]%i[ARGS]%a";
  const CallFormat deepseek{
      .think_open = think,
      .think_close = unthink,
      .section_open = {"<｜tool▁calls▁begin｜>"},
      .section_close = {"<｜tool▁calls▁end｜>"},
      .open = {"<｜tool▁call▁begin｜>"},
      .close = {"<｜tool▁call▁end｜>"},
      .headers = {"function<｜tool▁sep｜>%n\n```json\n", "%n<｜tool▁sep｜>"},
      .spelling = {.before = "<｜tool▁calls▁begin｜>",
                   .call = "<｜tool▁call▁begin｜>%n<｜tool▁sep｜>%a<｜tool▁call▁end｜>",
                   .join = "",
                   .after = "<｜tool▁calls▁end｜>",
                   .result = "<｜tool▁output▁begin｜>%r<｜tool▁output▁end｜>",
                   .result_role = "tool"}};
  CallFormat v3_0324 = deepseek;
  v3_0324.spelling.call =
      "<｜tool▁call▁begin｜>function<｜tool▁sep｜>%n\n```json\n%a\n```<｜tool▁call▁end｜>";
  v3_0324.spelling.join = "\n";
  CallFormat r1 = v3_0324;
  r1.begins_thinking = true;
  const CallFormat kimi{.think_open = {"<think>", "◁think▷"},
                        .think_close = {"</think>", "◁/think▷"},
                        .section_open = {"<|tool_calls_section_begin|>"},
                        .section_close = {"<|tool_calls_section_end|>"},
                        .open = {"<|tool_call_begin|>"},
                        .close = {"<|tool_call_end|>"},
                        .headers = {"%n<|tool_call_argument_begin|>"},
                        .spelling = {.before = "<|tool_calls_section_begin|>",
                                     .call = "<|tool_call_begin|>functions.%n:0"
                                             "<|tool_call_argument_begin|>%a<|tool_call_end|>",
                                     .join = "",
                                     .after = "<|tool_calls_section_end|>",
                                     .result = "## Return of functions.%n:0\n%r",
                                     .result_role = "tool"}};
  CallFormat kimi_thinking = kimi;
  kimi_thinking.begins_thinking = true;
  const CallFormat custom{.open = {"<function="},
                          .close = {"</function>"},
                          .headers = {"%n>"},
                          .spelling = {.call = "<function=%n>%a</function>",
                                       .join = "",
                                       .result = "%r",
                                       .result_role = "ipython"}};
  return {
      {.name = "mistral_v2",
       .description = "Mistral v2: 7B v0.2, Mixtral 8x22B",
       .aliases = {},
       .stops = {"</s>"},
       .calls = v2},
      {.name = "mistral_v3",
       .description = "Mistral v3: 7B v0.3, Nemo, Large 2407",
       .aliases = {"mistral", "mistral_nemo"},
       .stops = {"</s>"},
       .calls = v3},
      {.name = "mistral_v7",
       .description = "Mistral v7: Large 2411, Small 2501 and 3.1",
       .aliases = {},
       .stops = {"</s>"},
       .calls = v3},
      {.name = "mistral_v11",
       .description = "Mistral v11: Small 3.2",
       .aliases = {},
       .stops = {"</s>"},
       .calls = v11},
      {.name = "mistral_v13",
       .description = "Mistral v13 and v15: Devstral, Magistral, Medium 3, Ministral 3",
       .aliases = {"ministral_3", "ministral", "devstral", "magistral", "mistral_v15"},
       .stops = {"</s>"},
       .calls = mistral},
      {.name = "deepseek_v3",
       .description = "DeepSeek V3-0324",
       .aliases = {"deepseekv3"},
       .stops = {"<｜end▁of▁sentence｜>"},
       .calls = v3_0324},
      {.name = "deepseek_r1",
       .description = "DeepSeek R1-0528, which always thinks first",
       .aliases = {},
       .stops = {"<｜end▁of▁sentence｜>"},
       .calls = r1},
      {.name = "deepseek_v3_1",
       .description = "DeepSeek V3.1",
       .aliases = {"deepseek_v31", "deepseekv31", "deepseek31", "deepseek3"},
       .stops = {"<｜end▁of▁sentence｜>"},
       .calls = deepseek},
      {.name = "kimi_k2",
       .description = "Kimi K2 Instruct",
       .aliases = {"kimik2", "kimi"},
       .stops = {"<|im_end|>"},
       .calls = kimi},
      {.name = "kimi_k2_thinking",
       .description = "Kimi K2 Thinking and K2.5, which think first",
       .aliases = {"kimi_k25", "kimi_k2_5"},
       .stops = {"<|im_end|>"},
       .calls = kimi_thinking},
      {.name = "functionary_v3_1",
       .description = "Functionary 3.1, Llama 3 with custom tags",
       .aliases = {"functionary_v3_llama_3_1", "llama3_custom"},
       .stops = {"<|eom_id|>", "<|eot_id|>"},
       .calls = custom},
      {.name = "functionary_v3_2",
       .description = "Functionary 3.2",
       .aliases = {"functionary", "functionary_v32"},
       .stops = {"<|eot_id|>"},
       .calls =
           {.open = {">>>"},
            .headers = {"%n\n"},
            .begins_header = true,
            .bare = true,
            .spelling = {.call = ">>>%n\n%a", .join = "", .result = "%r", .result_role = "tool"}}},
      {.name = "solar_open",
       .description = "Solar Open 100B",
       .aliases = {"solar"},
       .stops = {"<|calls|>", "<|end|>"},
       .calls = {.think_open = {"<|think|>"},
                 .think_close = {},
                 .section_open = {"<|tool_calls|>"},
                 .open = {"<|tool_call:begin|>"},
                 .close = {"<|tool_call:end|>"},
                 .headers = {"%i<|tool_call:name|>%n<|tool_call:args|>"},
                 .spelling = {.before = "<|tool_calls|>",
                              .call = "<|tool_call:begin|>%i<|tool_call:name|>%n<|tool_call:args|>"
                                      "%a<|tool_call:end|>",
                              .join = "",
                              .result = "<|tool_response:begin|>000000000<|tool_response:name|>%n"
                                        "<|tool_response:result|>%r<|tool_response:end|>",
                              .result_role = "tool"}}},
  };
}

}  // namespace toolrack
