// From the text of a schema to its nodes, or to every fault in it.
#ifndef TOOLRACK_REGISTRY_SCHEMA_READER_H_
#define TOOLRACK_REGISTRY_SCHEMA_READER_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/schema/node.h"
#include "registry/schema/schema.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

struct ReadOutcome {
  std::unique_ptr<NodeSet> nodes;  // null when a finding is an ERROR
  std::vector<v1::Finding> findings;
};

// The contract of Schema::Compile. Does not throw. Pure, thread-safe.
ReadOutcome ReadSchema(absl::string_view text, const SchemaOptions& options);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_READER_H_
