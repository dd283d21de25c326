// All that is appended behind one output of a model: results of its calls, what loading adds, and
// what it is told besides.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_REPLY_H_
#define TOOLRACK_RENDERERS_REPLY_H_

#include <string>
#include <vector>

#include "renderers/catalog.h"
#include "renderers/declare.h"
#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/renderer_service.pb.h"

namespace toolrack {

// What answers one call.
struct Reply {
  v1::TurnResult outcome;
  // Of RenderToolLoad for this call; none: it loaded nothing.
  std::vector<v1::Fragment> loaded;
  // There is no call that a result could name: it is told as a user's message.
  bool note = false;
};

// In the order of `replies`, as far as the family lets results and other messages be mixed: notes
// come behind all results. Families that want the results of one output in one message get that.
std::vector<v1::OutMessage> RenderReplies(const RendererSpec& spec,
                                          const std::vector<Reply>& replies,
                                          const v1::RenderOptions& options,
                                          RenderWarnings& warnings);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_REPLY_H_
