#include "renderers/meta_tools.h"

#include <string>

#include "absl/strings/match.h"

namespace toolrack {
namespace {

const v1::Tool* Make(absl::string_view name, absl::string_view description,
                     absl::string_view schema) {
  auto* tool = new v1::Tool;
  tool->set_name(std::string(name));
  tool->set_description(std::string(description));
  tool->set_input_schema(std::string(schema));
  return tool;
}

}  // namespace

bool IsMetaTool(absl::string_view name) { return absl::StartsWith(name, "__"); }

const v1::Tool& ToolSearchDefinition() {
  static const v1::Tool* kTool = Make(
      kToolSearch,
      "Finds tools that are not shown here and loads their definitions, so that they can be "
      "called. "
      "Search before you say that something cannot be done.",
      R"({"type":"object","properties":{"query":{"type":"string","description":"What is to be done, in a few words; or select:NAME,NAME for exact names"},"limit":{"type":"integer","description":"At most so many tools","minimum":1,"maximum":20,"default":5}},"required":["query"]})");
  return *kTool;
}

const v1::Tool& ToolDescribeDefinition() {
  static const v1::Tool* kTool = Make(
      kToolDescribe, "Gives the definitions of tools whose names are known.",
      R"({"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"description":"Names of tools"}},"required":["names"]})");
  return *kTool;
}

const v1::Tool& ToolCallDefinition() {
  static const v1::Tool* kTool = Make(
      kToolCall,
      "Calls a tool by its name. The arguments are checked against the tool's schema; what is "
      "wrong "
      "with them is answered.",
      R"({"type":"object","properties":{"name":{"type":"string","description":"The tool's name"},"arguments":{"type":"object","description":"Its arguments"}},"required":["name"]})");
  return *kTool;
}

const v1::Tool& ResultReadDefinition() {
  static const v1::Tool* kTool = Make(
      kResultRead,
      "Reads more of a tool's result that was cut because it is long: a range of its text, "
      "from the handle that the cut result gave.",
      R"({"type":"object","properties":{"handle":{"type":"string","description":"The handle that the cut result gave"},"offset":{"type":"integer","description":"The first byte to read","minimum":0,"default":0},"length":{"type":"integer","description":"At most so many bytes","minimum":4}},"required":["handle"]})");
  return *kTool;
}

const v1::Tool& CallMcpDefinition() {
  static const v1::Tool* kTool = Make(
      kCallMcp,
      "Calls a tool of a server. The arguments are checked against the tool's schema; what is "
      "wrong "
      "with them is answered.",
      R"({"type":"object","properties":{"server":{"type":"string","description":"The server; empty for built-in tools"},"tool":{"type":"string","description":"The tool's name on that server"},"args":{"type":"object"}},"required":["server","tool"]})");
  return *kTool;
}

}  // namespace toolrack
