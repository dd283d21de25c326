// The settings of the built-in tools: what the table of fields cannot say.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/builtin/builtin.h"
#include "server/config.h"
#include "server/config_fields.h"
#include "server/process/command_tool.h"

namespace toolrack {

void CheckBuiltin(const v1::BuiltinConfig& config, std::vector<ConfigMistake>& mistakes) {
  const std::string& root = config.files().root();
  if (!root.empty() && root.front() != '/') {
    mistakes.push_back({0, 0, "builtin.files.root",
                        absl::StrCat("must be an absolute path; got ", ForMessage(root, 60))});
  }
  const std::vector<std::string> others = BuiltinToolNames();
  std::set<std::string> names(others.begin(), others.end());
  names.insert({"file_read", "file_list", "file_search", "file_write", "file_edit", "http_request",
                "memory_store", "memory_recall"});
  for (int i = 0; i < config.commands_size(); ++i) {
    const std::string path = absl::StrCat("builtin.commands[", i, "]");
    for (const auto& [setting, message] : CommandMistakes(config.commands(i))) {
      mistakes.push_back(
          {0, 0, setting.empty() ? path : absl::StrCat(path, ".", setting), message});
    }
    const std::string& name = config.commands(i).name();
    if (!name.empty() && !names.insert(name).second) {
      mistakes.push_back({0, 0, path + ".name",
                          absl::StrCat(ForMessage(name, 60),
                                       " is another built-in tool's name already; give another")});
    }
  }
}

}  // namespace toolrack
