#include "server/own_tools.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "registry/base/status_macros.h"
#include "registry/builtin/files/files.h"
#include "registry/builtin/memory.h"
#include "server/process/command_tool.h"

namespace toolrack {

absl::StatusOr<std::vector<ToolFactory>> OwnTools::Make(const BuiltinParts& parts,
                                                        const v1::BuiltinConfig& config) {
  if (config.disable_all()) return std::vector<ToolFactory>();
  std::vector<ToolFactory> tools = BuiltinTools(parts, config);
  const auto add = [&tools](std::vector<ToolFactory> more) {
    std::move(more.begin(), more.end(), std::back_inserter(tools));
  };
  if (!config.http().allow().empty()) {
    http_ = std::make_unique<HttpClient>(HttpToolClientOptions(config.http()));
    tools.push_back(MakeHttpRequestTool(http_.get(), config.http()));
  }
  TR_ASSIGN_OR_RETURN(std::vector<ToolFactory> files,
                      MakeFileTools(config.files(), parts.executor));
  add(std::move(files));
  add(MakeMemoryTools(config.memory(), parts.clock, parts.executor));
  if (!config.commands().empty()) processes_ = std::make_unique<ProcessRunner>();
  for (const v1::CommandToolConfig& command : config.commands()) {
    tools.push_back(MakeCommandTool(command, processes_.get()));
  }
  return tools;
}

}  // namespace toolrack
