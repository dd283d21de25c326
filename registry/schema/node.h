// A schema in its checked, compiled form: what the reader makes of the text, what the engine
// enforces and what the explainer explains. Immutable once read; owned by one NodeSet.
#ifndef TOOLRACK_REGISTRY_SCHEMA_NODE_H_
#define TOOLRACK_REGISTRY_SCHEMA_NODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/schema/formats.h"
#include "registry/schema/pattern.h"
#include "registry/schema/values.h"

namespace toolrack {

struct Node;

struct ValueRules {
  std::optional<Json> constant;
  std::optional<std::vector<Json>> allowed;  // `enum`, in the schema's order
  std::vector<size_t> order;                 // of `allowed`, sorted by value
  size_t weight = 0;                         // JSON values in the largest of all these
};

struct NumberRules {
  std::optional<Json> minimum, maximum, above, below;  // the last two exclude the bound
  std::optional<Json> multiple_of;
  Decimal divisor;  // of multiple_of
};

struct StringRules {
  uint64_t min_length = 0;
  uint64_t max_length = UINT64_MAX;
  std::optional<Pattern> pattern;
  const Format* format = nullptr;  // asserted
};

struct ArrayRules {
  uint64_t min_items = 0;
  uint64_t max_items = UINT64_MAX;
  bool unique = false;
  std::vector<const Node*> prefix;  // by position
  const Node* rest = nullptr;       // for items after the prefix
  const Node* contains = nullptr;
  uint64_t min_contains = 1;
  uint64_t max_contains = UINT64_MAX;
  bool contains_evaluates = false;  // for unevaluatedItems: from 2020-12 on
  const Node* unevaluated = nullptr;
};

struct ObjectRules {
  uint64_t min_properties = 0;
  uint64_t max_properties = UINT64_MAX;
  std::vector<std::string> required;
  std::vector<std::pair<std::string, const Node*>> properties;  // sorted by name
  std::vector<std::pair<Pattern, const Node*>> patterns;
  const Node* additional = nullptr;
  const Node* names = nullptr;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  std::vector<std::pair<std::string, const Node*>> dependent_schemas;
  const Node* unevaluated = nullptr;

  bool Requires(const std::string& name) const {
    for (const std::string& each : required) {
      if (each == name) return true;
    }
    return false;
  }
  const Node* FindProperty(const std::string& name) const;
};

// What applies further schemas to the same value.
struct Combination {
  std::vector<const Node*> all_of;  // `$ref` first
  std::vector<const Node*> any_of;
  std::vector<const Node*> one_of;
  const Node* negated = nullptr;
  const Node* condition = nullptr;
  const Node* then_schema = nullptr;
  const Node* else_schema = nullptr;
};

// One subschema. A null rule set has nothing to say.
struct Node {
  size_t id = 0;  // its place in the NodeSet
  bool never = false;
  JsonTypes types = kAnyType;
  std::unique_ptr<ValueRules> values;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<StringRules> string;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<Combination> combination;
};

// Node 0 is the root.
struct NodeSet {
  std::vector<std::unique_ptr<Node>> nodes;
  const Node& root() const { return *nodes.front(); }
};

// The checks of one node that need no further schema. Only those for the value's own type apply.
bool FitsOwnRules(const Node& node, const Json& value);
// Checks of single rules, shared with the explainer.
bool FitsValues(const ValueRules& rules, const Json& value);
// What FitsOwnRules costs, in visits: 1 for nearly everything; more where the work grows with the
// value or the schema, so that a bound on visits bounds the time.
size_t CostOf(const Node& node, const Json& value);

// Bounds recursion by the stack that it has really taken since the budget was made.
class StackBudget {
 public:
  StackBudget() : start_(Here()) {}
  bool spent() const {
    const uintptr_t here = Here();
    return (start_ > here ? start_ - here : here - start_) > kBytes;
  }

 private:
  static constexpr uintptr_t kBytes = 1 << 20;  // threads have 8 MiB
  static uintptr_t Here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }
  uintptr_t start_;
};

// All nodes that a node applies to the same value.
std::vector<const Node*> NodesInPlace(const Node& node);

// Rough heap size.
size_t ApproximateBytesOf(const NodeSet& nodes);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_NODE_H_
