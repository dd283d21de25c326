#include "registry/schema/engine.h"

#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>
#include <valijson/validation_visitor.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "registry/base/errors.h"
#include "registry/schema/evaluated.h"

namespace toolrack {
namespace {

struct TooManySteps : std::exception {
  const char* what() const noexcept override { return "too many steps"; }
};

// What one validation carries along.
struct Pass {
  size_t visits_left;
  StackBudget stack;
  const std::vector<const valijson::Subschema*>& subschemas;  // by node id
  // valijson wants a cache of regular expressions; no constraint of ours puts one there.
  std::unordered_map<std::string, std::regex> no_regexes;
};

// valijson's view of a value, and the value itself for our constraints. valijson makes views of
// elements and members only in its constraints for items and properties, which we replace; those
// would have no pass.
class ValueAdapter : public valijson::adapters::NlohmannJsonAdapter {
 public:
  ValueAdapter() = default;
  ValueAdapter(const Json& value, Pass& pass)
      : NlohmannJsonAdapter(value), value_(&value), pass_(&pass) {}
  ValueAdapter(const NlohmannJsonAdapter& other) : NlohmannJsonAdapter(other) {}  // NOLINT

  const Json& value() const { return *value_; }
  Pass& pass() const { return *pass_; }

 private:
  const Json* value_ = nullptr;
  Pass* pass_ = nullptr;
};

using Visitor = valijson::ValidationVisitor<ValueAdapter>;

bool Fits(const valijson::Subschema& subschema, const Json& value, Pass& pass) {
  Visitor visitor(ValueAdapter(value, pass), {}, true, nullptr, pass.no_regexes);
  return visitor.validateSchema(subschema);
}

bool Fits(const Node& node, const Json& value, Pass& pass) {
  return Fits(*pass.subschemas[node.id], value, pass);
}

bool ItemsFit(const ArrayRules& rules, const Json& array, Pass& pass) {
  uint64_t contained = 0;
  for (size_t i = 0; i < array.size(); ++i) {
    const Node* node = i < rules.prefix.size() ? rules.prefix[i] : rules.rest;
    if (node != nullptr && !Fits(*node, array[i], pass)) return false;
    if (rules.contains != nullptr && Fits(*rules.contains, array[i], pass)) ++contained;
  }
  return contained >= rules.min_contains && contained <= rules.max_contains;
}

bool MembersFit(const ObjectRules& rules, const Json& value, Pass& pass) {
  auto known = rules.properties.begin();
  for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
    // Both are sorted by name.
    while (known != rules.properties.end() && known->first < name) ++known;
    bool matched = false;
    if (known != rules.properties.end() && known->first == name) {
      matched = true;
      if (!Fits(*known->second, member, pass)) return false;
    }
    for (const auto& [pattern, node] : rules.patterns) {
      if (!pattern.Matches(name)) continue;
      matched = true;
      if (!Fits(*node, member, pass)) return false;
    }
    if (!matched && rules.additional != nullptr && !Fits(*rules.additional, member, pass)) {
      return false;
    }
    if (rules.names != nullptr && !Fits(*rules.names, Json(name), pass)) return false;
  }
  for (const auto& [name, node] : rules.dependent_schemas) {
    if (value.contains(name) && !Fits(*node, value, pass)) return false;
  }
  return true;
}

// A node's own rules and what it says about members and elements; valijson's own constraints do the
// rest. Holds a pointer only, so that valijson can copy it at will.
class NodeConstraint : public valijson::constraints::PolyConstraint {
 public:
  explicit NodeConstraint(const Node& node) : node_(&node) {}

  bool validate(const valijson::adapters::Adapter& target, const std::vector<std::string>&,
                valijson::ValidationResults*) const override {
    const auto& adapter = static_cast<const ValueAdapter&>(target);
    const Json& value = adapter.value();
    Pass& pass = adapter.pass();
    const size_t cost = CostOf(*node_, value);
    if (pass.visits_left < cost || pass.stack.spent()) throw TooManySteps();
    pass.visits_left -= cost;
    if (!FitsOwnRules(*node_, value)) return false;
    if (node_->array && value.is_array()) {
      return ItemsFit(*node_->array, value, pass) &&
             RestFits(node_->array->unevaluated, value, pass);
    }
    if (node_->object && value.is_object()) {
      return MembersFit(*node_->object, value, pass) &&
             RestFits(node_->object->unevaluated, value, pass);
    }
    return true;
  }

 private:
  // What nothing else in the node has evaluated.
  bool RestFits(const Node* unevaluated, const Json& value, Pass& pass) const {
    if (unevaluated == nullptr) return true;
    const auto fits = [&pass](const Node& node, const Json& part) {
      return Fits(node, part, pass);
    };
    for (const size_t i : FindUnevaluated(*node_, value, fits)) {
      const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(i));
      if (!Fits(*unevaluated, *at, pass)) return false;
    }
    return true;
  }

  Constraint* cloneInto(void* memory) const override { return new (memory) NodeConstraint(*this); }
  size_t sizeOf() const override { return sizeof(*this); }

  const Node* node_;
};

template <typename Constraint>
void AddBranches(valijson::Schema& schema, const valijson::Subschema* to,
                 const std::vector<const Node*>& branches,
                 const std::vector<const valijson::Subschema*>& subschemas) {
  if (branches.empty()) return;
  Constraint constraint;
  for (const Node* branch : branches) constraint.addSubschema(subschemas[branch->id]);
  schema.addConstraintToSubschema(constraint, to);
}

}  // namespace

struct Engine::Rep {
  valijson::Schema schema;
  std::vector<const valijson::Subschema*> subschemas;
  size_t max_visits = 0;

  void Build(const NodeSet& nodes) {
    subschemas.reserve(nodes.nodes.size());
    for (size_t i = 0; i < nodes.nodes.size(); ++i) subschemas.push_back(schema.createSubschema());
    for (const auto& node : nodes.nodes) Add(*node);
  }

  void Add(const Node& node) {
    const valijson::Subschema* to = subschemas[node.id];
    if (node.never) return schema.setAlwaysInvalid(to, true);
    schema.addConstraintToSubschema(NodeConstraint(node), to);
    const Combination* in = node.combination.get();
    if (in == nullptr) return;
    using valijson::constraints::AllOfConstraint;
    using valijson::constraints::AnyOfConstraint;
    using valijson::constraints::ConditionalConstraint;
    using valijson::constraints::NotConstraint;
    using valijson::constraints::OneOfConstraint;
    AddBranches<AllOfConstraint>(schema, to, in->all_of, subschemas);
    AddBranches<AnyOfConstraint>(schema, to, in->any_of, subschemas);
    AddBranches<OneOfConstraint>(schema, to, in->one_of, subschemas);
    if (in->negated != nullptr) {
      NotConstraint constraint;
      constraint.setSubschema(subschemas[in->negated->id]);
      schema.addConstraintToSubschema(constraint, to);
    }
    if (in->condition != nullptr) {
      ConditionalConstraint constraint;
      constraint.setIfSubschema(subschemas[in->condition->id]);
      if (in->then_schema) constraint.setThenSubschema(subschemas[in->then_schema->id]);
      if (in->else_schema) constraint.setElseSubschema(subschemas[in->else_schema->id]);
      schema.addConstraintToSubschema(constraint, to);
    }
  }
};

Engine::Engine(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Engine::~Engine() = default;

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(const NodeSet& nodes, size_t max_visits) {
  auto rep = std::make_unique<Rep>();
  rep->max_visits = max_visits;
  try {
    rep->Build(nodes);
  } catch (const std::exception& error) {
    return InternalError("schema", error.what());
  }
  return std::unique_ptr<Engine>(new Engine(std::move(rep)));
}

Verdict Engine::Validate(const Json& value) const {
  Pass pass{rep_->max_visits, StackBudget(), rep_->subschemas, {}};
  try {
    return Fits(*rep_->subschemas.front(), value, pass) ? Verdict::kFits : Verdict::kDoesNotFit;
  } catch (const std::exception&) {
    return Verdict::kTooManySteps;
  }
}

size_t Engine::ApproximateBytes() const {
  return rep_->subschemas.size() * (sizeof(valijson::Subschema) + 2 * sizeof(NodeConstraint) + 96);
}

}  // namespace toolrack
