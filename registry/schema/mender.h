// Mends a value where the schema leaves no doubt what was meant.
#ifndef TOOLRACK_REGISTRY_SCHEMA_MENDER_H_
#define TOOLRACK_REGISTRY_SCHEMA_MENDER_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "registry/schema/node.h"
#include "registry/schema/schema.h"

namespace toolrack {

// The contract of Schema::Mend, without its last check: whether the mended value fits. `text` must
// be the JSON of `value`. Pure, thread-safe, does not throw.
std::optional<Mended> MendText(const NodeSet& nodes, absl::string_view text, const Json& value,
                               size_t max_visits);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_MENDER_H_
