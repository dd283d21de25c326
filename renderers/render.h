// Prompts: which tools are shown, where, and what is appended later. Disclosure over dialect.
//
// Pure functions of the tools that the caller may see, what was loaded, and a clock value; the same
// input gives the same bytes. Thread-safe.
#ifndef TOOLRACK_RENDERERS_RENDER_H_
#define TOOLRACK_RENDERERS_RENDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "renderers/catalog.h"
#include "renderers/declare.h"
#include "renderers/tokens.h"
#include "toolrack/v1/renderer_service.pb.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

// Whole definitions (TOOL_VIEW_FULL) sorted by canonical name, meta tools among them. Quarantined
// and disabled tools are the caller's to leave out.
using ToolSpan = absl::Span<const v1::Tool* const>;

struct RenderInput {
  ToolSpan tools;
  // Canonical names that were loaded before; unknown ones do not matter.
  std::vector<std::string> loaded;
  // Seconds since 1970; 0: no date is written.
  int64_t clock = 0;
  v1::RenderOptions options;
  const TokenCounter* tokens = nullptr;  // null: the estimate
};

// `revision` and `epoch` are left unset.
v1::RenderInitialResponse RenderInitial(const RendererSpec& spec, const RenderInput& input);

// What is appended once `names` are loaded. `call_id`: of the search or describe call that it
// answers.
v1::RenderToolLoadResponse RenderToolLoad(const RendererSpec& spec, const RenderInput& input,
                                          const std::vector<std::string>& names,
                                          absl::string_view call_id);

// What is appended to tell of tools that came or went since `known` (canonical names) was told.
v1::RenderChangesResponse RenderChanges(const RendererSpec& spec, const RenderInput& input,
                                        const std::vector<std::string>& known);

// The names of all tools for this renderer, sorted by canonical name.
std::vector<v1::WireName> WireNames(const RendererSpec& spec, ToolSpan tools);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_RENDER_H_
