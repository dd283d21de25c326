// What goes back to the model: results, and earlier turns, in a family's spelling.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_HISTORY_H_
#define TOOLRACK_RENDERERS_HISTORY_H_

#include <string>
#include <vector>

#include "renderers/catalog.h"
#include "renderers/declare.h"
#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/renderer_service.pb.h"

namespace toolrack {

// One outcome. For Anthropic and Gemini the message's JSON is the content block or part: all
// results of parallel calls belong into one message. A status becomes a text that the model can act
// on.
v1::OutMessage FormatResult(const RendererSpec& spec, const v1::TurnResult& outcome,
                            const v1::RenderOptions& options, RenderWarnings& warnings);

// Earlier turns in order. Ids are rewritten where the family has a rule; arguments that are no JSON
// are shown as far as the family can; a call that would break out of its place becomes a note.
// Harmony: once the last answer is final, the reasoning before the first final one is dropped, as
// the reference does.
std::vector<v1::OutMessage> RenderHistory(const RendererSpec& spec,
                                          const std::vector<v1::Turn>& turns,
                                          const v1::RenderOptions& options,
                                          RenderWarnings& warnings);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_HISTORY_H_
