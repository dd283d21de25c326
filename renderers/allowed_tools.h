// Which tools may be called for now, said beside the prompt's prefix and not in it.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_ALLOWED_TOOLS_H_
#define TOOLRACK_RENDERERS_ALLOWED_TOOLS_H_

#include <string>
#include <vector>

#include "renderers/declare.h"

namespace toolrack {

// The value of the provider's `tool_choice` for `options.allowed_tools`, of which only those among
// `declared` can be named; the others are warned of. None left: `none`. Empty, with a warning: the
// dialect has no way to say it.
std::string AllowedTools(const Dialect& dialect, const v1::RenderOptions& options,
                         const std::vector<const DeclaredTool*>& declared,
                         RenderWarnings& warnings);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_ALLOWED_TOOLS_H_
