#include "registry/schema/evaluated.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace toolrack {
namespace {

class Marker {
 public:
  Marker(const Json& value, FitsFunction fits)
      : value_(value), fits_(fits), marked_(value.size(), false) {}

  // `outermost`: the node whose own `unevaluated…` asks.
  void Mark(const Node& node, bool outermost) {
    if (node.object && value_.is_object()) MarkMembers(*node.object, outermost);
    if (node.array && value_.is_array()) MarkItems(*node.array, outermost);
    const Combination* in = node.combination.get();
    if (in == nullptr) return;
    for (const Node* each : in->all_of) Mark(*each, false);
    for (const auto* branches : {&in->any_of, &in->one_of}) {
      for (const Node* each : *branches) {
        if (fits_(*each, value_)) Mark(*each, false);
      }
    }
    if (in->condition == nullptr) return;
    const bool holds = fits_(*in->condition, value_);
    if (holds) Mark(*in->condition, false);
    const Node* branch = holds ? in->then_schema : in->else_schema;
    if (branch != nullptr) Mark(*branch, false);
  }

  std::vector<size_t> Unmarked() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < marked_.size(); ++i) {
      if (!marked_[i]) out.push_back(i);
    }
    return out;
  }

 private:
  void MarkAll() { std::fill(marked_.begin(), marked_.end(), true); }

  void MarkMembers(const ObjectRules& rules, bool outermost) {
    if (rules.additional != nullptr || (rules.unevaluated != nullptr && !outermost)) MarkAll();
    size_t i = 0;
    for (const auto& [name, member] : value_.items()) {
      if (!marked_[i]) {
        marked_[i] =
            rules.FindProperty(name) != nullptr ||
            std::any_of(rules.patterns.begin(), rules.patterns.end(),
                        [&name = name](const auto& each) { return each.first.Matches(name); });
      }
      ++i;
    }
    for (const auto& [name, node] : rules.dependent_schemas) {
      if (value_.contains(name)) Mark(*node, false);
    }
  }

  void MarkItems(const ArrayRules& rules, bool outermost) {
    if (rules.rest != nullptr || (rules.unevaluated != nullptr && !outermost)) MarkAll();
    for (size_t i = 0; i < marked_.size(); ++i) {
      if (marked_[i]) continue;
      marked_[i] =
          i < rules.prefix.size() || (rules.contains != nullptr && rules.contains_evaluates &&
                                      fits_(*rules.contains, value_[i]));
    }
  }

  const Json& value_;
  FitsFunction fits_;
  std::vector<bool> marked_;
};

}  // namespace

std::vector<size_t> FindUnevaluated(const Node& node, const Json& value, FitsFunction fits) {
  Marker marker(value, fits);
  marker.Mark(node, true);
  return marker.Unmarked();
}

}  // namespace toolrack
