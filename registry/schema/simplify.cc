#include "registry/schema/simplify.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"

namespace toolrack {
namespace {

using Visit = absl::FunctionRef<void(const Node*& child)>;

// Every place in `node` that names another, never a null one.
void VisitChildren(Node& node, Visit visit) {
  const auto one = [visit](const Node*& child) {
    if (child != nullptr) visit(child);
  };
  const auto all = [&one](std::vector<const Node*>& children) {
    for (const Node*& each : children) one(each);
  };
  if (Combination* in = node.combination.get()) {
    all(in->all_of);
    all(in->any_of);
    all(in->one_of);
    one(in->negated);
    one(in->condition);
    one(in->then_schema);
    one(in->else_schema);
  }
  if (ArrayRules* rules = node.array.get()) {
    all(rules->prefix);
    one(rules->rest);
    one(rules->contains);
    one(rules->unevaluated);
  }
  if (ObjectRules* rules = node.object.get()) {
    for (auto& [name, child] : rules->properties) one(child);
    for (auto& [pattern, child] : rules->patterns) one(child);
    for (auto& [name, child] : rules->dependent_schemas) one(child);
    one(rules->additional);
    one(rules->names);
    one(rules->unevaluated);
  }
}

// What the node stands for when it says nothing of its own; else itself.
const Node* Meant(const Node* node) {
  while (!node->never && node->types == kAnyType && !node->values && !node->number &&
         !node->string && !node->array && !node->object && node->combination) {
    const Combination& in = *node->combination;
    if (in.all_of.size() != 1 || !in.any_of.empty() || !in.one_of.empty() ||
        in.negated != nullptr || in.condition != nullptr) {
      break;
    }
    node = in.all_of.front();
  }
  return node;
}

void DropRepeated(std::vector<const Node*>& nodes) {
  auto end = nodes.begin();
  for (auto at = nodes.begin(); at != nodes.end(); ++at) {
    if (std::find(nodes.begin(), end, *at) == end) *end++ = *at;
  }
  nodes.erase(end, nodes.end());
}

// Node 0 stays in its place, whatever it is: it is the root.
void DropUnreachable(NodeSet& nodes) {
  std::vector<bool> reached(nodes.nodes.size(), false);
  std::vector<Node*> open = {nodes.nodes.front().get()};
  reached[0] = true;
  while (!open.empty()) {
    Node& node = *open.back();
    open.pop_back();
    VisitChildren(node, [&](const Node*& child) {
      if (reached[child->id]) return;
      reached[child->id] = true;
      open.push_back(nodes.nodes[child->id].get());
    });
  }
  size_t kept = 0;
  for (size_t i = 0; i < nodes.nodes.size(); ++i) {
    if (!reached[i]) continue;
    if (kept != i) nodes.nodes[kept] = std::move(nodes.nodes[i]);
    ++kept;
  }
  nodes.nodes.resize(kept);
  for (size_t i = 0; i < kept; ++i) nodes.nodes[i]->id = i;
}

}  // namespace

void Simplify(NodeSet& nodes) {
  // A node whose `allOf` shrinks to one schema may give way itself: innermost first would do it in
  // one round, two are enough in practice, and more only costs.
  for (int round = 0; round < 2; ++round) {
    for (const auto& node : nodes.nodes) {
      VisitChildren(*node, [](const Node*& child) { child = Meant(child); });
      if (node->combination) DropRepeated(node->combination->all_of);
    }
  }
  DropUnreachable(nodes);
}

}  // namespace toolrack
