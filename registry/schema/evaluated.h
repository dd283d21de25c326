// `unevaluatedProperties` and `unevaluatedItems`: which members or items of a value the schemas
// that apply to it have already looked at (JSON Schema 2020-12 core, section 11).
#ifndef TOOLRACK_REGISTRY_SCHEMA_EVALUATED_H_
#define TOOLRACK_REGISTRY_SCHEMA_EVALUATED_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "registry/schema/node.h"

namespace toolrack {

// Whether a node accepts a value. May throw; then FindUnevaluated throws the same.
using FitsFunction = absl::FunctionRef<bool(const Node& node, const Json& value)>;

// The positions, in the order of iteration, of the members or items of `value` that neither `node`
// nor what it applies in place evaluates, its own `unevaluated…` aside. Right only when everything
// else in `node` accepts the value; otherwise the verdict is settled anyhow.
std::vector<size_t> FindUnevaluated(const Node& node, const Json& value, FitsFunction fits);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_EVALUATED_H_
