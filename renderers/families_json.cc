#include "renderers/families.h"

// Families whose call is JSON: between tags, behind one, or bare.
namespace toolrack {

namespace {

constexpr absl::string_view kObject = "{\"name\": %N, \"arguments\": %a}";
constexpr absl::string_view kTaggedObject =
    "<tool_call>\n{\"name\": %N, \"arguments\": %a}\n</tool_call>";
constexpr absl::string_view kParameters = "{\"name\": %N, \"parameters\": %a}";
constexpr absl::string_view kQwenDeclaration =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    "%t\n</tools>\n\n"
    "For each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n"
    "<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>";

constexpr absl::string_view kGranite4Declaration =
    "You are a helpful assistant with access to the following tools. You may call one or more "
    "tools to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
    "%t\n</tools>\n\n"
    "For each tool call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n"
    "<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>. "
    "If a tool does not exist in the provided list of tools, notify the user that you do not have "
    "the ability to fulfill the request.";

}  // namespace

std::vector<Family> JsonFamilies() {
  const CallFormat hermes{
      .open = {"<tool_call>"}, .close = {"</tool_call>"}, .spelling = {.call = kTaggedObject}};
  CallFormat qwen = hermes;
  qwen.spelling.declaration = kQwenDeclaration;
  CallFormat qwen2_5 = hermes;
  qwen2_5.spelling.declaration = kQwenDeclaration;
  qwen.think_open = {"<think>"};
  qwen.think_close = {"</think>"};
  CallFormat granite4 = hermes;
  granite4.spelling.declaration = kGranite4Declaration;
  CallFormat qwq = qwen;
  qwq.begins_thinking = true;
  CallFormat ernie = qwen;
  ernie.spelling.declaration = {};
  ernie.noise = {"<response>", "</response>"};
  const CallFormat tool_calls{
      .think_open = {"<think>"},
      .think_close = {"</think>"},
      .open = {"<tool_calls>"},
      .close = {"</tool_calls>"},
      .spelling = {
          .before = "<tool_calls>[", .call = kObject, .join = ", ", .after = "]</tool_calls>"}};
  CallFormat lines = tool_calls;
  lines.spelling.before = "<tool_calls>\n";
  lines.spelling.join = "\n";
  lines.spelling.after = "\n</tool_calls>";
  const CallFormat toolcall{.think_open = {"<think>"},
                            .think_close = {"</think>"},
                            .open = {"<TOOLCALL>"},
                            .close = {"</TOOLCALL>"},
                            .spelling = {.before = "<TOOLCALL>[",
                                         .call = kObject,
                                         .join = ", ",
                                         .after = "]</TOOLCALL>",
                                         .result = "<TOOL_RESPONSE>[%r]</TOOL_RESPONSE>"}};
  const CallFormat bare{
      .open = {"<|python_tag|>", "<|python_start|>"},
      .close = {"<|python_end|>"},
      .closer_optional = true,
      .bare = true,
      .spelling = {.call = kParameters, .join = "; ", .result = "%R", .result_role = "ipython"}};
  const CallFormat granite{.open = {"<|tool_call|>", "<tool_call>"},
                           .close = {"</tool_call>"},
                           .closer_optional = true,
                           .spelling = {.before = "<|tool_call|>[",
                                        .call = kObject,
                                        .join = ", ",
                                        .after = "]",
                                        .result = "%r",
                                        .result_role = "tool_response"}};
  CallFormat granite_thinking = granite;
  granite_thinking.think_open = {"Here is my thought process:"};
  granite_thinking.think_close = {"Here is my response:"};
  return {
      {.name = "hermes",
       .description = "Hermes 2 Pro, Hermes 3",
       .aliases = {"hermes2", "hermes3", "hermes_2_pro"},
       .stops = {"<|im_end|>"},
       .calls = hermes},
      {.name = "qwen2_5",
       .description = "Qwen2.5 and its Coder",
       .aliases = {"qwen25", "qwen2.5", "qwen"},
       .stops = {"<|im_end|>", "<|endoftext|>"},
       .calls = qwen2_5},
      {.name = "qwen3",
       .description = "Qwen3, Qwen3-Next, Qwen3-VL, MiMo, Cogito",
       .aliases = {"qwen3_json", "mimo", "cogito"},
       .stops = {"<|im_end|>", "<|endoftext|>"},
       .calls = qwen},
      {.name = "qwq",
       .description = "QwQ, which always thinks first",
       .aliases = {"qwen3_thinking"},
       .stops = {"<|im_end|>", "<|endoftext|>"},
       .calls = qwq},
      {.name = "granite4",
       .description = "Granite 4.0 and 4.1",
       .aliases = {},
       .stops = {"<|end_of_text|>"},
       .calls = granite4},
      {.name = "granite3",
       .description = "Granite 3.0 to 3.3",
       .aliases = {"granite"},
       .stops = {"<|end_of_text|>"},
       .calls = granite_thinking},
      {.name = "granite_20b_fc",
       .description = "Granite-20b-functioncalling",
       .aliases = {"granite-20b-fc"},
       .stops = {"<|end_of_text|>", "<|endoftext|>"},
       .calls = {.open = {"<function_call>"},
                 .spelling = {.call = "<function_call> {\"name\": %N, \"arguments\": %a}",
                              .result = "%r",
                              .result_role = "tool_response"}}},
      {.name = "ernie4_5",
       .description = "Ernie 4.5 (its declaration is not verified)",
       .aliases = {"ernie45"},
       .stops = {},
       .calls = ernie},
      {.name = "jamba",
       .description = "Jamba 1.5 (its declaration is not verified)",
       .aliases = {},
       .stops = {"<|eom|>"},
       .calls = tool_calls},
      {.name = "minimax_m1",
       .description = "MiniMax M1: JSON lines",
       .aliases = {"minimax"},
       .stops = {"<end_of_sentence>"},
       .calls = lines},
      {.name = "hunyuan_a13b",
       .description = "Hunyuan A13B",
       .aliases = {"hunyuan"},
       .stops = {"<|eos|>"},
       .calls = tool_calls},
      {.name = "apriel",
       .description = "Apriel 1.5 and 1.6",
       .aliases = {},
       .stops = {"<|end|>"},
       .calls = tool_calls},
      {.name = "nemotron_v2",
       .description = "Nemotron Nano v2, Llama-Nemotron Super and Ultra",
       .aliases = {"nemotron_deci", "nemotron_nano_v2", "llama_nemotron_json"},
       .stops = {"<SPECIAL_12>"},
       .calls = toolcall},
      {.name = "internlm",
       .description = "InternLM 2, 2.5 and 3",
       .aliases = {"internlm2", "interns1"},
       .stops = {"<|im_end|>"},
       .calls = {.open = {"<|action_start|><|plugin|>"},
                 .close = {"<|action_end|>"},
                 .spelling = {.before = "<|action_start|><|plugin|>\n",
                              .call = kObject,
                              .after = "<|action_end|>",
                              .result = "%r",
                              .result_role = "environment"}}},
      {.name = "llama3_json",
       .description = "Llama 3.1, 3.2 and 3.3 with JSON calls",
       .aliases = {"llama3", "llama"},
       .stops = {"<|eot_id|>", "<|eom_id|>"},
       .calls = bare},
      {.name = "llama4_json",
       .description = "Llama 4 with JSON calls",
       .aliases = {},
       .stops = {"<|eot|>", "<|eom|>"},
       .calls = bare},
      {.name = "xlam",
       .description = "xLAM 2: a bare list",
       .aliases = {},
       .stops = {"<|eot_id|>", "<|im_end|>"},
       .calls = {.bare = true,
                 .spelling = {.before = "[",
                              .call = kObject,
                              .join = ", ",
                              .after = "]",
                              .result = "%r",
                              .result_role = "tool"}}},
      {.name = "phi4_mini",
       .description = "Phi-4-mini, Firefunction",
       .aliases = {"phi4_mini_json", "phi4", "firefunction"},
       .stops = {"<|end|>"},
       .calls = {.open = {"functools["},
                 .spelling = {.before = "functools[",
                              .call = kObject,
                              .join = ", ",
                              .after = "]",
                              .result = "%r",
                              .result_role = "tool"}}},
      {.name = "command_r7b",
       .description = "Command R7B and Command A",
       .aliases = {"cohere", "cohere2moe", "cohere_command3", "cohere_command4", "command_a"},
       .stops = {"<|END_OF_TURN_TOKEN|>"},
       .calls = {.think_open = {"<|START_THINKING|>"},
                 .think_close = {"<|END_THINKING|>"},
                 .noise = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>",
                           "<|END_TEXT|>", "<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"},
                 .open = {"<|START_ACTION|>"},
                 .close = {"<|END_ACTION|>"},
                 .name_keys = {"tool_name", "name"},
                 .spelling = {.before = "<|START_ACTION|>[\n    ",
                              .call = "{\"tool_call_id\": \"0\", \"tool_name\": %N, "
                                      "\"parameters\": %a}",
                              .join = ",\n    ",
                              .after = "\n]<|END_ACTION|>",
                              .result = "%r",
                              .result_role = "tool"}}},
      {.name = "command_r",
       .description = "Command R and R+",
       .aliases = {},
       .stops = {"<|END_OF_TURN_TOKEN|>"},
       .calls = {.open = {"Action: ```json", "Action:```json"},
                 .close = {"```"},
                 .name_keys = {"tool_name", "name"},
                 .spelling = {.before = "Action: ```json\n[",
                              .call = "{\"tool_name\": %N, \"parameters\": %a}",
                              .join = ", ",
                              .after = "]\n```",
                              .result = "<results>\n%r\n</results>",
                              .result_role = "system"}}},
      {.name = "apertus",
       .description = "Apertus: the name is the key",
       .aliases = {},
       .stops = {"<|assistant_end|>"},
       .calls = {.think_open = {"<|inner_prefix|>"},
                 .think_close = {"<|inner_suffix|>"},
                 .open = {"<|tools_prefix|>"},
                 .close = {"<|tools_suffix|>"},
                 .name_is_key = true,
                 .spelling = {.before = "<|tools_prefix|>[",
                              .call = "{%N: %a}",
                              .join = ", ",
                              .after = "]<|tools_suffix|>",
                              .result = "[%r]",
                              .result_role = "assistant"}}},
      {.name = "gigachat3",
       .description = "GigaChat 3 and 3.1",
       .aliases = {"gigachat_v3"},
       .stops = {"<|message_sep|>"},
       .calls = {.open = {"<|function_call|>", "function call<|role_sep|>"},
                 .spelling = {.call = "<|function_call|>{\"name\": %N, \"arguments\": %a}",
                              .result = "%r",
                              .result_role = "function result"}}},
  };
}

}  // namespace toolrack
