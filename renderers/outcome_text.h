// What a model reads of an outcome.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_OUTCOME_TEXT_H_
#define TOOLRACK_RENDERERS_OUTCOME_TEXT_H_

#include <string>

#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/result.pb.h"

namespace toolrack {

// One part; what is no text is told of by kind and size.
std::string PartText(const v1::Content& part);

// The text of an outcome for a model, and whether it is an error.
std::string OutcomeText(const v1::TurnResult& outcome, bool& is_error);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_OUTCOME_TEXT_H_
