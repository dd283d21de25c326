// Why a value does not fit, in words for the model that sent it. The wording is stable and tested.
#ifndef TOOLRACK_REGISTRY_SCHEMA_EXPLAINER_H_
#define TOOLRACK_REGISTRY_SCHEMA_EXPLAINER_H_

#include <cstddef>
#include <vector>

#include "registry/base/errors.h"
#include "registry/schema/node.h"

namespace toolrack {

// At most `max` faults, in the order of the schema; empty when the value fits. A verdict of its
// own, apart from the Engine's. Pure, thread-safe, does not throw.
std::vector<FieldFault> ExplainFaults(const NodeSet& nodes, const Json& value, size_t max,
                                      size_t max_visits);

// What the explainer says when a value takes more visits or more stack than allowed.
FieldFault TooManyStepsFault();

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_EXPLAINER_H_
