#include "registry/schema/node.h"

#include <algorithm>

namespace toolrack {
namespace {

bool FitsNumber(const NumberRules& rules, const Json& value) {
  if (rules.minimum && CompareJson(value, *rules.minimum) < 0) return false;
  if (rules.maximum && CompareJson(value, *rules.maximum) > 0) return false;
  if (rules.above && CompareJson(value, *rules.above) <= 0) return false;
  if (rules.below && CompareJson(value, *rules.below) >= 0) return false;
  return !rules.multiple_of || IsMultipleOf(value, rules.divisor);
}

bool FitsString(const StringRules& rules, const std::string& text) {
  if (rules.min_length > 0 || rules.max_length != UINT64_MAX) {
    const uint64_t length = CountCodePoints(text);
    if (length < rules.min_length || length > rules.max_length) return false;
  }
  if (rules.pattern && !rules.pattern->Matches(text)) return false;
  return rules.format == nullptr || rules.format->fits(text);
}

bool FitsArray(const ArrayRules& rules, const Json& array) {
  if (array.size() < rules.min_items || array.size() > rules.max_items) return false;
  return !rules.unique || !FindDuplicate(array).has_value();
}

bool FitsObject(const ObjectRules& rules, const Json::object_t& object) {
  if (object.size() < rules.min_properties || object.size() > rules.max_properties) return false;
  for (const std::string& name : rules.required) {
    if (object.find(name) == object.end()) return false;
  }
  for (const auto& [name, others] : rules.dependent_required) {
    if (object.find(name) == object.end()) continue;
    for (const std::string& other : others) {
      if (object.find(other) == object.end()) return false;
    }
  }
  return true;
}

}  // namespace

const Node* ObjectRules::FindProperty(const std::string& name) const {
  const auto at = std::lower_bound(properties.begin(), properties.end(), name,
                                   [](const std::pair<std::string, const Node*>& a,
                                      const std::string& b) { return a.first < b; });
  return at != properties.end() && at->first == name ? at->second : nullptr;
}

bool FitsValues(const ValueRules& rules, const Json& value) {
  if (rules.constant && !SameJson(*rules.constant, value)) return false;
  if (!rules.allowed) return true;
  const std::vector<Json>& allowed = *rules.allowed;
  const auto at = std::lower_bound(
      rules.order.begin(), rules.order.end(), value,
      [&allowed](size_t i, const Json& wanted) { return CompareJson(allowed[i], wanted) < 0; });
  return at != rules.order.end() && SameJson(allowed[*at], value);
}

size_t CostOf(const Node& node, const Json& value) {
  size_t cost = 1;
  if (node.values) cost += node.values->weight / 16;
  if (node.string && (node.string->pattern || node.string->format) && value.is_string()) {
    cost += value.get_ref<const std::string&>().size() / 256;
  }
  if (node.array && node.array->unique && value.is_array()) cost += value.size() / 4;
  if (node.object && value.is_object()) cost += node.object->patterns.size() * value.size() / 4;
  return cost;
}

bool FitsOwnRules(const Node& node, const Json& value) {
  if (node.never) return false;
  const JsonTypes type = TypeOf(value);
  if ((node.types & type) == 0) return false;
  if (node.values && !FitsValues(*node.values, value)) return false;
  switch (type) {
    case kIntegerType:
    case kFractionType:
      return !node.number || FitsNumber(*node.number, value);
    case kStringType:
      return !node.string || FitsString(*node.string, value.get_ref<const std::string&>());
    case kArrayType:
      return !node.array || FitsArray(*node.array, value);
    case kObjectType:
      return !node.object || FitsObject(*node.object, value.get_ref<const Json::object_t&>());
    default:
      return true;
  }
}

std::vector<const Node*> NodesInPlace(const Node& node) {
  std::vector<const Node*> out;
  const auto add = [&out](const Node* each) {
    if (each != nullptr) out.push_back(each);
  };
  if (const Combination* in = node.combination.get()) {
    for (const Node* each : in->all_of) add(each);
    for (const Node* each : in->any_of) add(each);
    for (const Node* each : in->one_of) add(each);
    add(in->negated);
    add(in->condition);
    add(in->then_schema);
    add(in->else_schema);
  }
  if (node.object) {
    for (const auto& [name, each] : node.object->dependent_schemas) add(each);
  }
  return out;
}

size_t ApproximateBytesOf(const NodeSet& nodes) {
  constexpr size_t kRegexBytes = 4 << 10;  // a small compiled expression
  size_t bytes = 0;
  for (const auto& node : nodes.nodes) {
    bytes += sizeof(Node) + 2 * sizeof(void*);
    if (node->values) {
      bytes += sizeof(ValueRules);
      if (node->values->allowed) bytes += node->values->allowed->size() * 48;
    }
    if (node->number) bytes += sizeof(NumberRules);
    if (node->string) bytes += sizeof(StringRules) + (node->string->pattern ? kRegexBytes : 0);
    if (node->array) bytes += sizeof(ArrayRules) + node->array->prefix.size() * sizeof(void*);
    if (node->object) {
      bytes += sizeof(ObjectRules) + node->object->properties.size() * 56 +
               node->object->required.size() * 40 + node->object->patterns.size() * kRegexBytes;
    }
    if (node->combination) {
      bytes += sizeof(Combination) +
               (node->combination->all_of.size() + node->combination->any_of.size() +
                node->combination->one_of.size()) *
                   sizeof(void*);
    }
  }
  return bytes;
}

}  // namespace toolrack
