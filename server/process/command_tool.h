// Programs as tools.
#ifndef TOOLRACK_SERVER_PROCESS_COMMAND_TOOL_H_
#define TOOLRACK_SERVER_PROCESS_COMMAND_TOOL_H_

#include <string>
#include <utility>
#include <vector>

#include "registry/tool.h"
#include "server/process/process_runner.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// What is wrong with one tool's settings: the setting below it (`argv[1]`, or empty for the tool)
// and a message each. Only what does not depend on other settings; nothing is looked up on disk.
std::vector<std::pair<std::string, std::string>> CommandMistakes(
    const v1::CommandToolConfig& config);

// A tool that runs the program. The settings are without mistakes and have their defaults;
// `runner` outlives the tool's calls.
//
// A program that ends with 0 gives its standard output, as text, or as bytes when that is not
// UTF-8. Any other end is a tool error with the end of its standard error (else output). The
// timeout is TIMEOUT and a stop CANCELLED, as with every tool.
ToolFactory MakeCommandTool(const v1::CommandToolConfig& config, ProcessRunner* runner);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_COMMAND_TOOL_H_
