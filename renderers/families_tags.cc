#include "renderers/families.h"

// Families whose call is tags, each parameter one of its own.
namespace toolrack {

namespace {

constexpr absl::string_view kGlm4_5Declaration =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    "%t\n</tools>\n\n"
    "For each function call, output the function name and arguments within the following XML "
    "format:\n<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n"
    "<arg_value>{arg-value-1}</arg_value>\n<arg_key>{arg-key-2}</arg_key>\n"
    "<arg_value>{arg-value-2}</arg_value>\n...\n</tool_call>";
constexpr absl::string_view kGlm4_7Declaration =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    "%t\n</tools>\n\n"
    "For each function call, output the function name and arguments within the following XML "
    "format:\n<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key>"
    "<arg_value>{arg-value-1}</arg_value><arg_key>{arg-key-2}</arg_key>"
    "<arg_value>{arg-value-2}</arg_value>...</tool_call>";

}  // namespace

std::vector<Family> TagFamilies() {
  const std::vector<absl::string_view> think = {"<think>"}, unthink = {"</think>"};
  const TagNames qwen_tags{.style = TagStyle::kEquals, .newlines = true};
  const TagNames invoke{.style = TagStyle::kAttribute, .call = "invoke", .parameter = "parameter"};
  TagNames dsml = invoke;
  dsml.affix = "｜DSML｜";
  dsml.typed = true;
  TagNames step3 = invoke;
  step3.affix = "steptml:";
  const CallFormat qwen{.shape = CallShape::kTags,
                        .think_open = think,
                        .think_close = unthink,
                        .section_open = {"<tool_call>"},
                        .section_close = {"</tool_call>"},
                        .tags = qwen_tags,
                        .spelling = {.call = "<tool_call>\n<function=%n>\n%a</function>\n"
                                             "</tool_call>",
                                     .parameter = "<parameter=%k>\n%v\n</parameter>\n"}};
  CallFormat thinking = qwen;
  thinking.begins_thinking = true;
  CallFormat seed = qwen;
  seed.think_open = {"<seed:think>"};
  seed.think_close = {"</seed:think>"};
  seed.section_open = {"<seed:tool_call>"};
  seed.section_close = {"</seed:tool_call>"};
  seed.tags.newlines = false;
  seed.spelling.call = "<seed:tool_call>\n<function=%n>\n%a</function>\n</seed:tool_call>";
  seed.spelling.parameter = "<parameter=%k>%v</parameter>\n";
  seed.spelling.result = "%r";
  seed.spelling.result_role = "tool";
  CallFormat minimax{.shape = CallShape::kTags,
                     .think_open = think,
                     .think_close = unthink,
                     .section_open = {"<minimax:tool_call>"},
                     .section_close = {"</minimax:tool_call>"},
                     .tags = invoke,
                     .spelling = {.before = "<minimax:tool_call>\n",
                                  .call = "<invoke name=\"%n\">\n%a</invoke>\n",
                                  .join = "",
                                  .after = "</minimax:tool_call>",
                                  .parameter = "<parameter name=\"%k\">%v</parameter>\n",
                                  .result = "<response>%r</response>",
                                  .result_role = "tool"}};
  CallFormat v32{.shape = CallShape::kTags,
                 .think_open = think,
                 .think_close = unthink,
                 .section_open = {"<｜DSML｜function_calls>"},
                 .section_close = {"</｜DSML｜function_calls>"},
                 .tags = dsml,
                 .spelling = {.before = "<｜DSML｜function_calls>\n",
                              .call = "<｜DSML｜invoke name=\"%n\">\n%a</｜DSML｜invoke>\n",
                              .join = "",
                              .after = "</｜DSML｜function_calls>",
                              .parameter = "<｜DSML｜parameter name=\"%k\" string=\"%s\">%v"
                                           "</｜DSML｜parameter>\n",
                              .result = "<function_results>\n<result>%r</result>\n"
                                        "</function_results>"}};
  CallFormat v4 = v32;
  v4.section_open = {"<｜DSML｜tool_calls>"};
  v4.section_close = {"</｜DSML｜tool_calls>"};
  v4.spelling.before = "<｜DSML｜tool_calls>\n";
  v4.spelling.after = "</｜DSML｜tool_calls>";
  v4.spelling.result = "<tool_result>%r</tool_result>";
  CallFormat glm{.shape = CallShape::kTags,
                 .think_open = think,
                 .think_close = unthink,
                 .tags = {.style = TagStyle::kPairs},
                 .spelling = {.call = "<tool_call>%n\n%a</tool_call>",
                              .parameter = "<arg_key>%k</arg_key>\n"
                                           "<arg_value>%v</arg_value>\n",
                              .result_role = "observation"}};
  glm.spelling.declaration = kGlm4_5Declaration;
  CallFormat glm4_7 = glm;
  glm4_7.spelling.declaration = kGlm4_7Declaration;
  glm4_7.spelling.call = "<tool_call>%n%a</tool_call>";
  glm4_7.spelling.join = "";
  glm4_7.spelling.parameter = "<arg_key>%k</arg_key><arg_value>%v</arg_value>";
  glm4_7.spelling.result = "<tool_response>%r</tool_response>";
  return {
      {.name = "qwen3_coder",
       .description = "Qwen3-Coder",
       .aliases = {"qwen3_xml", "qwen_xml", "qwen3-coder"},
       .stops = {"<|im_end|>", "<|endoftext|>"},
       .calls = qwen},
      {.name = "qwen3_5",
       .description = "Qwen3.5 and later, Qwen3-Coder-Next",
       .aliases = {"qwen3.5", "qwen3_6", "qwen3_8"},
       .stops = {"<|im_end|>", "<|endoftext|>"},
       .calls = thinking},
      {.name = "nemotron_v3",
       .description = "Nemotron 3 and 3.5",
       .aliases = {"nemotron_nano", "nemotron3", "nemotron_3_nano"},
       .stops = {"<|im_end|>"},
       .calls = thinking},
      {.name = "step3_5",
       .description = "Step-3.5-Flash",
       .aliases = {"step3p5"},
       .stops = {"<|im_end|>"},
       .calls = thinking},
      {.name = "seed_oss",
       .description = "Seed-OSS",
       .aliases = {"seed"},
       .stops = {"<seed:eos>"},
       .calls = seed},
      {.name = "minimax_m2",
       .description = "MiniMax M2 and M2.1",
       .aliases = {"minimax-m2"},
       .stops = {"[e~["},
       .calls = minimax},
      {.name = "deepseek_v3_2",
       .description = "DeepSeek V3.2",
       .aliases = {"deepseek_v32", "deepseekv32", "deepseek32", "dsml"},
       .stops = {"<｜end▁of▁sentence｜>"},
       .calls = v32},
      {.name = "deepseek_v4",
       .description = "DeepSeek V4",
       .aliases = {"deepseekv4"},
       .stops = {"<｜end▁of▁sentence｜>"},
       .calls = v4},
      {.name = "step3",
       .description = "Step3 (its declaration is not verified)",
       .aliases = {},
       .stops = {},
       .calls = {.shape = CallShape::kTags,
                 .think_open = think,
                 .think_close = unthink,
                 .fillers = {"<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>"},
                 .section_open = {"<｜tool_calls_begin｜>"},
                 .section_close = {"<｜tool_calls_end｜>"},
                 .tags = step3,
                 .spelling = {.before = "<｜tool_calls_begin｜>\n",
                              .call = "<｜tool_call_begin｜>function<｜tool_sep｜>"
                                      "<steptml:invoke name=\"%n\">%a</steptml:invoke>"
                                      "<｜tool_call_end｜>",
                              .after = "\n<｜tool_calls_end｜>",
                              .parameter = "<steptml:parameter name=\"%k\">%v"
                                           "</steptml:parameter>"}}},
      {.name = "glm4_5",
       .description = "GLM-4.5 and 4.6",
       .aliases = {"glm45", "glm", "glm45_moe", "glm4_6", "glm46"},
       .stops = {"<|observation|>", "<|user|>", "<|endoftext|>"},
       .calls = glm},
      {.name = "glm4_7",
       .description = "GLM-4.7",
       .aliases = {"glm47", "glm-4.7", "glm47_moe"},
       .stops = {"<|observation|>", "<|user|>", "<|endoftext|>"},
       .calls = glm4_7},
      {.name = "hunyuan_hy3",
       .description = "Hunyuan Hy3",
       .aliases = {"hy_v3", "hy3"},
       .stops = {"<｜hy_eos:opensource｜>"},
       .calls = {.shape = CallShape::kTags,
                 .think_open = {"<think:opensource>"},
                 .think_close = {"</think:opensource>"},
                 .section_open = {"<tool_calls:opensource>"},
                 .section_close = {"</tool_calls:opensource>"},
                 .tags = {.style = TagStyle::kPairs, .affix = ":opensource"},
                 .spelling = {.before = "<tool_calls:opensource>\n",
                              .call = "<tool_call:opensource>%n<tool_sep:opensource>\n%a"
                                      "</tool_call:opensource>",
                              .after = "\n</tool_calls:opensource>",
                              .parameter = "<arg_key:opensource>%k</arg_key:opensource>\n"
                                           "<arg_value:opensource>%v</arg_value:opensource>\n",
                              .result = "<tool_response:opensource>\n%r\n"
                                        "</tool_response:opensource>",
                              .result_role = "tool"}}},
      {.name = "minicpm5",
       .description = "MiniCPM5",
       .aliases = {},
       .stops = {"<|im_end|>"},
       .calls = {.shape = CallShape::kTags,
                 .think_open = think,
                 .think_close = unthink,
                 .tags = {.style = TagStyle::kAttribute,
                          .call = "function",
                          .parameter = "param",
                          .cdata = true},
                 .spelling = {.call = "<function name=\"%n\">%a</function>",
                              .join = "",
                              .parameter = "<param name=\"%k\">%v</param>"}}},
      {.name = "minimax_m3",
       .description = "MiniMax M3",
       .aliases = {"minimax-m3"},
       .stops = {"[e~["},
       .calls = {.shape = CallShape::kTree,
                 .think_open = {"<mm:think>"},
                 .think_close = {"</mm:think>"},
                 .section_open = {"]<]minimax[>[<tool_call>"},
                 .section_close = {"]<]minimax[>[</tool_call>"},
                 .tags = {.affix = "]<]minimax[>["},
                 .spelling = {.before = "]<]minimax[>[<tool_call>\n",
                              .call = "]<]minimax[>[<invoke name=\"%n\">%a]<]minimax[>[</invoke>\n",
                              .join = "",
                              .after = "]<]minimax[>[</tool_call>",
                              .result = "<response>%r</response>",
                              .result_role = "tool"}}},
  };
}

}  // namespace toolrack
