// The tools for files under one folder: file_read, file_list, file_search, file_write, file_edit.
#ifndef TOOLRACK_REGISTRY_BUILTIN_FILES_FILES_H_
#define TOOLRACK_REGISTRY_BUILTIN_FILES_FILES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/executor.h"
#include "registry/builtin/files/root.h"
#include "registry/tool.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// What the tools share.
struct FileTools {
  Executor* executor;  // outlives their calls
  std::shared_ptr<const FileRoot> root;
  uint64_t max_file_bytes;
  uint32_t max_entries;
  // Held while a file is changed: two edits of one file do not undo each other.
  std::shared_ptr<absl::Mutex> writing;
};

// None without a `root`; those that write only with `write`. See FileRoot::Open for what can fail.
absl::StatusOr<std::vector<ToolFactory>> MakeFileTools(const v1::FileToolsConfig& config,
                                                       Executor* executor);

ToolFactory MakeFileReadTool(const FileTools& tools);
ToolFactory MakeFileListTool(const FileTools& tools);
ToolFactory MakeFileSearchTool(const FileTools& tools);
ToolFactory MakeFileWriteTool(const FileTools& tools);
ToolFactory MakeFileEditTool(const FileTools& tools);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_FILES_FILES_H_
