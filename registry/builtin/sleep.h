// The tool `sleep`: waits without a thread, tells how far it is, and heeds the stop.
#ifndef TOOLRACK_REGISTRY_BUILTIN_SLEEP_H_
#define TOOLRACK_REGISTRY_BUILTIN_SLEEP_H_

#include "registry/base/timers.h"
#include "registry/tool.h"

namespace toolrack {

// `timers` outlives the tool's calls.
ToolFactory MakeSleepTool(Timers* timers);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_SLEEP_H_
