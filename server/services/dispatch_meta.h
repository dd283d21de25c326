// The meta tools that look for other tools, as the daemon answers them.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_META_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_META_H_

#include <string>
#include <vector>

#include "registry/base/executor.h"
#include "registry/policy/policy.h"
#include "registry/registry.h"
#include "registry/search/search.h"
#include "registry/session_table.h"
#include "registry/tool.h"
#include "server/services/prompts.h"
#include "toolrack/v1/result.pb.h"

namespace toolrack {

struct MetaToolParts {  // all outlive the tools
  Registry* registry;
  Searcher* searcher;
  SessionTable* sessions;
  const Policy* policy;
  Executor* executor;
  Prompts* prompts;
};

// `__tool_search`, `__tool_describe` and `__tool_call`, with the definitions of
// renderers/meta_tools.h. What the caller may not know of is neither found nor described. In a
// session whose renderer defers tools, what was found or described is loaded into it.
//
// Calls of `__tool_call` become calls of the inner tool before they get here (dispatch_unwrap.h).
std::vector<ToolFactory> MetaTools(const MetaToolParts& parts);

// The canonical names that a result of `__tool_search` or `__tool_describe` says were loaded:
// newly, and those that were loaded already. Empty for any other result.
struct LoadedByMeta {
  std::vector<std::string> newly;
  std::vector<std::string> already;
};
LoadedByMeta LoadedBy(const v1::ToolResult& result);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_META_H_
