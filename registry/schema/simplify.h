// Makes the nodes of a schema fewer without changing what they say.
#ifndef TOOLRACK_REGISTRY_SCHEMA_SIMPLIFY_H_
#define TOOLRACK_REGISTRY_SCHEMA_SIMPLIFY_H_

#include "registry/schema/node.h"

namespace toolrack {

// A node that only refers to another gives way to it; the same schema twice in an `allOf` counts
// once; what the root does not reach goes. Ids are given anew. `nodes` must be free of in-place
// cycles and of missing children.
void Simplify(NodeSet& nodes);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_SIMPLIFY_H_
