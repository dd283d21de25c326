// Typed C++ tools (registry/typed_tool.h) on a worker:
//
//   AddTypedTool(worker, "files", MakeTool(ToolSpec("stat", "Looks at a file."),
//                                          [](const StatArgs& args) -> absl::StatusOr<Stat> { …
//                                          }));
//
// Whoever uses it links the registry, too.
#ifndef TOOLRACK_CLIENT_TYPED_WORKER_H_
#define TOOLRACK_CLIENT_TYPED_WORKER_H_

#include "absl/strings/string_view.h"
#include "client/worker.h"
#include "registry/typed_tool.h"

namespace toolrack {

// Calls the factory once, now, and for a session-scoped tool once more for each session, when it is
// opened (before Worker::Start, then). The state that the tool offers goes to hooks. The tool runs
// on a gRPC thread: one that blocks is made with MakeBlockingTool. `ToolCall::tool` is null here: a
// worker has no registry.
void AddTypedTool(Worker& worker, absl::string_view ns, const ToolFactory& factory);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_TYPED_WORKER_H_
