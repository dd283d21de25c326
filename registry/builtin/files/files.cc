#include "registry/builtin/files/files.h"

#include "registry/base/status_macros.h"

namespace toolrack {

absl::StatusOr<std::vector<ToolFactory>> MakeFileTools(const v1::FileToolsConfig& config,
                                                       Executor* executor) {
  std::vector<ToolFactory> out;
  if (config.root().empty()) return out;
  FileTools tools;
  tools.executor = executor;
  TR_ASSIGN_OR_RETURN(tools.root, FileRoot::Open(config.root()));
  tools.max_file_bytes = config.max_file_bytes();
  tools.max_entries = config.max_entries();
  tools.writing = std::make_shared<absl::Mutex>();
  out = {MakeFileReadTool(tools), MakeFileListTool(tools), MakeFileSearchTool(tools)};
  if (config.write()) {
    out.push_back(MakeFileWriteTool(tools));
    out.push_back(MakeFileEditTool(tools));
  }
  return out;
}

}  // namespace toolrack
