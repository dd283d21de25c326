// The daemon's own tools, as the configuration wants them, and what they run on.
#ifndef TOOLRACK_SERVER_OWN_TOOLS_H_
#define TOOLRACK_SERVER_OWN_TOOLS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "registry/builtin/builtin.h"
#include "registry/tool.h"
#include "server/process/process_runner.h"
#include "server/tools/http_request.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// Outlives the tools' calls. For one thread.
class OwnTools {
 public:
  // Once. `config` is without mistakes and has its defaults; the parts outlive the tools' calls.
  // Errors: see FileRoot::Open.
  absl::StatusOr<std::vector<ToolFactory>> Make(const BuiltinParts& parts,
                                                const v1::BuiltinConfig& config);

 private:
  std::unique_ptr<HttpClient> http_;          // null: there is no http_request
  std::unique_ptr<ProcessRunner> processes_;  // null: there are no command tools
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_OWN_TOOLS_H_
