#include "renderers/families.h"

// Families whose call is a literal: Python's call, or Gemma's braces.
namespace toolrack {

std::vector<Family> LiteralFamilies() {
  const CallFormat python{.shape = CallShape::kPython,
                          .bare = true,
                          .spelling = {.before = "[",
                                       .call = "%n(%a)",
                                       .join = ", ",
                                       .after = "]",
                                       .result = "{\"output\": %R}",
                                       .result_role = "ipython"}};
  CallFormat llama4 = python;
  llama4.open = {"<|python_start|>", "<|python_tag|>"};
  llama4.close = {"<|python_end|>"};
  llama4.closer_optional = true;
  // Its template writes every value of the history in quotes.
  llama4.unquote = true;
  llama4.spelling.result = "%R";
  const CallFormat lfm{.shape = CallShape::kPython,
                       .think_open = {"<think>"},
                       .think_close = {"</think>"},
                       .open = {"<|tool_call_start|>"},
                       .close = {"<|tool_call_end|>"},
                       .bare = true,
                       .spelling = {.before = "<|tool_call_start|>[",
                                    .call = "%n(%a)",
                                    .join = ", ",
                                    .after = "]<|tool_call_end|>",
                                    .result = "<|tool_response_start|>%r<|tool_response_end|>",
                                    .result_role = "tool"}};
  return {
      {.name = "pythonic",
       .description = "Llama 3.2 pythonic, ToolACE, Gemma 3 by prompt",
       .aliases = {"llama3_2_pythonic", "llama3_pythonic", "toolace", "gemma3", "gemma3_pythonic"},
       .stops = {"<|eot_id|>", "<end_of_turn>"},
       .calls = python},
      {.name = "llama4_pythonic",
       .description = "Llama 4 pythonic",
       .aliases = {"llama4"},
       .stops = {"<|eot|>", "<|eom|>"},
       .calls = llama4},
      {.name = "lfm2",
       .description = "LFM2 and LFM2.5",
       .aliases = {"lfm25", "lfm2_5", "lfm2.5"},
       .stops = {"<|im_end|>"},
       .calls = lfm},
      {.name = "olmo3",
       .description = "Olmo 3",
       .aliases = {},
       .stops = {"<|im_end|>"},
       .calls = {.shape = CallShape::kPython,
                 .think_open = {"<think>"},
                 .think_close = {"</think>"},
                 .open = {"<function_calls>"},
                 .close = {"</function_calls>"},
                 .spelling = {.before = "<function_calls>",
                              .call = "%n(%a)",
                              .after = "</function_calls>",
                              .result = "%r",
                              .result_role = "environment"}}},
      {.name = "functiongemma",
       .description = "FunctionGemma",
       .aliases = {},
       .stops = {"<start_function_response>", "<end_of_turn>"},
       .calls = {.shape = CallShape::kBrace,
                 .open = {"<start_function_call>"},
                 .close = {"<end_function_call>"},
                 .quote = "<escape>",
                 .unquote = true,
                 .spelling = {.call = "<start_function_call>call:%n{%a}<end_function_call>",
                              .join = "",
                              .result = "<start_function_response>response:%n{value:%R}"
                                        "<end_function_response>",
                              .result_role = "developer"}}},
      {.name = "gemma4",
       .description = "Gemma 4",
       .aliases = {},
       .stops = {"<|tool_response>", "<turn|>"},
       .calls = {.shape = CallShape::kBrace,
                 .think_open = {"<|channel>thought\n", "<|channel>thought"},
                 .think_close = {"<channel|>"},
                 .open = {"<|tool_call>"},
                 .close = {"<tool_call|>"},
                 .quote = "<|\"|>",
                 .spelling = {.call = "<|tool_call>call:%n{%a}<tool_call|>",
                              .join = "",
                              .result = "<|tool_response>response:%n{value:<|\"|>%r<|\"|>}"
                                        "<tool_response|>",
                              .result_role = "tool"}}},
  };
}

}  // namespace toolrack
