// The tools that the daemon brings along.
#ifndef TOOLRACK_SERVER_BUILTINS_H_
#define TOOLRACK_SERVER_BUILTINS_H_

#include "absl/status/status.h"
#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/base/timers.h"
#include "registry/tool_server.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

struct BuiltinParts {  // all outlive the tools
  Timers* timers;
  Clock* clock;
  Executor* blocking;
};

// Registers those that `config` names (all when it names none) and publishes them.
absl::Status RegisterBuiltins(ToolServer& server, const v1::BuiltinConfig& config,
                              BuiltinParts parts);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BUILTINS_H_
