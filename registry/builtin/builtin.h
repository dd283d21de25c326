// The tools that the daemon brings along: echo, counter, current_time, calculator, sleep.
#ifndef TOOLRACK_REGISTRY_BUILTIN_BUILTIN_H_
#define TOOLRACK_REGISTRY_BUILTIN_BUILTIN_H_

#include <string>
#include <vector>

#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/base/timers.h"
#include "registry/tool.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// All outlive the tools and their calls.
struct BuiltinParts {
  Clock* clock;
  Timers* timers;
  Executor* executor;  // for current_time, which reads time zone files
};

// All names, in the order of their registration.
std::vector<std::string> BuiltinToolNames();
// Those that the configuration enables. Names that it gives and that do not exist must have been
// refused before (BuiltinToolNames); they are skipped.
std::vector<ToolFactory> BuiltinTools(const BuiltinParts& parts, const v1::BuiltinConfig& config);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_BUILTIN_H_
