#include "registry/schema/explainer.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/schema/evaluated.h"
#include "registry/schema/index.h"
#include "registry/schema/texts.h"

namespace toolrack {
namespace {

// Faults looked at inside one branch of `anyOf`: enough to tell the branches apart.
constexpr size_t kMaxInBranch = 16;
constexpr size_t kMaxNamesShown = 10;

enum class FaultKind { kType, kValue, kOther };

struct Fault {
  std::string field;
  std::string text;
  FaultKind kind = FaultKind::kOther;
  JsonTypes wanted_types = 0;        // of kType
  std::vector<const Json*> allowed;  // of kValue
  const Json* got = nullptr;         // of kValue
};

struct Faults {
  size_t max;
  std::vector<Fault> list = {};

  bool full() const { return list.size() >= max; }
  void Add(Fault fault) {
    if (full()) return;
    for (const Fault& each : list) {
      if (each.field == fault.field && each.text == fault.text) return;
    }
    list.push_back(std::move(fault));
  }
  void Add(std::string field, std::string text) {
    Add(Fault{std::move(field), std::move(text), FaultKind::kOther, 0, {}, nullptr});
  }
};

std::string ExpectedText(const std::vector<const Json*>& allowed, const Json& got) {
  if (allowed.empty()) return "no value is allowed here";
  std::vector<const std::string*> names;
  for (const Json* each : allowed) {
    if (each->is_string()) names.push_back(&each->get_ref<const std::string&>());
  }
  if (!got.is_string() || names.size() < allowed.size()) {
    return absl::StrCat("expected ", AllowedText(allowed), "; got ", GotText(got));
  }
  const std::string* nearest = FindNearest(got.get_ref<const std::string&>(), names);
  return absl::StrCat("expected ", AllowedText(allowed), "; got ", ValueText(got),
                      nearest != nullptr && names.size() > 1
                          ? absl::StrCat(" (nearest: ", NameText(*nearest), ")")
                          : "");
}

class Explainer {
 public:
  explicit Explainer(size_t max_visits) : visits_left_(max_visits) {}

  // `optional`: the value is a member that may be left out.
  void Check(const Node& node, const Json& value, bool optional, Faults& out) {
    if (exhausted_ || out.full()) return;
    if (!Spend(CostOf(node, value))) return;
    if (node.never) return out.Add(path_, "is not allowed");
    if (!CheckValue(node, value, optional, out)) return;
    if (node.number && (TypeOf(value) & kNumberType) != 0) CheckNumber(*node.number, value, out);
    if (node.string && value.is_string()) {
      CheckString(*node.string, value.get_ref<const std::string&>(), out);
    }
    if (node.array && value.is_array()) CheckArray(*node.array, value, out);
    if (node.object && value.is_object()) CheckObject(*node.object, value, out);
    if (node.combination) CheckCombination(*node.combination, value, optional, out);
    if (node.array && value.is_array()) CheckRest(node, node.array->unevaluated, value, out);
    if (node.object && value.is_object()) CheckRest(node, node.object->unevaluated, value, out);
  }

  bool exhausted() const { return exhausted_; }

 private:
  bool Spend(size_t visits) {
    if (visits_left_ < visits || stack_.spent()) exhausted_ = true;
    if (!exhausted_) visits_left_ -= visits;
    return !exhausted_;
  }

  bool Fits(const Node& node, const Json& value) {
    Faults faults{1};
    Check(node, value, false, faults);
    return faults.list.empty();
  }

  // With one more step on the path.
  void CheckAt(absl::string_view step, const Node& node, const Json& value, bool optional,
               Faults& out) {
    const size_t length = path_.size();
    path_ += PointerStep(step);
    Check(node, value, optional, out);
    path_.resize(length);
  }

  // `type`, `const`, `enum`. False when one failed: then nothing else is worth saying.
  bool CheckValue(const Node& node, const Json& value, bool optional, Faults& out) {
    if (node.values && !FitsValues(*node.values, value)) {
      Fault fault;
      fault.field = path_;
      fault.kind = FaultKind::kValue;
      fault.got = &value;
      if (node.values->constant && !SameJson(*node.values->constant, value)) {
        fault.allowed.push_back(&*node.values->constant);
      } else {
        for (const Json& each : *node.values->allowed) fault.allowed.push_back(&each);
      }
      // Looking for the nearest of many takes its time.
      Spend(fault.allowed.size() / 4);
      fault.text = ExpectedText(fault.allowed, value) + NullHint(value, optional);
      out.Add(std::move(fault));
      return false;
    }
    if ((node.types & TypeOf(value)) != 0) return true;
    Fault fault;
    fault.field = path_;
    fault.kind = FaultKind::kType;
    fault.wanted_types = node.types;
    fault.got = &value;
    fault.text = absl::StrCat("expected ", TypesText(node.types), ", got ", GotText(value),
                              NullHint(value, optional));
    out.Add(std::move(fault));
    return false;
  }

  static const char* NullHint(const Json& value, bool optional) {
    return value.is_null() && optional ? "; omit it, it is optional" : "";
  }

  void CheckNumber(const NumberRules& rules, const Json& value, Faults& out) {
    const auto fault = [&](absl::string_view rule, const Json& bound) {
      out.Add(path_,
              absl::StrCat("must be ", rule, " ", ValueText(bound), ", got ", ValueText(value)));
    };
    if (rules.minimum && CompareJson(value, *rules.minimum) < 0) fault("at least", *rules.minimum);
    if (rules.above && CompareJson(value, *rules.above) <= 0) fault("more than", *rules.above);
    if (rules.maximum && CompareJson(value, *rules.maximum) > 0) fault("at most", *rules.maximum);
    if (rules.below && CompareJson(value, *rules.below) >= 0) fault("less than", *rules.below);
    if (rules.multiple_of && !IsMultipleOf(value, rules.divisor)) {
      fault("a multiple of", *rules.multiple_of);
    }
  }

  void CheckCount(uint64_t count, uint64_t min, uint64_t max, const char* one, const char* many,
                  Faults& out) {
    if (count < min) {
      out.Add(path_,
              absl::StrCat("must have at least ", CountText(min, one, many), ", got ", count));
    } else if (count > max) {
      out.Add(path_,
              absl::StrCat("must have at most ", CountText(max, one, many), ", got ", count));
    }
  }

  void CheckString(const StringRules& rules, const std::string& text, Faults& out) {
    CheckCount(CountCodePoints(text), rules.min_length, rules.max_length, "character", "characters",
               out);
    if (rules.pattern && !rules.pattern->Matches(text)) {
      out.Add(path_,
              absl::StrCat("must match the pattern ", ForMessage(rules.pattern->source(), 80),
                           ", got ", NameText(text)));
    }
    if (rules.format != nullptr && !rules.format->fits(text)) {
      out.Add(path_, absl::StrCat("must be ", rules.format->wanted, ", got ", NameText(text)));
    }
  }

  void CheckArray(const ArrayRules& rules, const Json& array, Faults& out) {
    CheckCount(array.size(), rules.min_items, rules.max_items, "item", "items", out);
    if (rules.unique) {
      if (const auto twice = FindDuplicate(array)) {
        out.Add(path_, absl::StrCat("must not have equal items; items ", twice->first, " and ",
                                    twice->second, " are equal"));
      }
    }
    uint64_t contained = 0;
    for (size_t i = 0; i < array.size() && !out.full() && !exhausted_; ++i) {
      const Node* node = i < rules.prefix.size() ? rules.prefix[i] : rules.rest;
      if (node != nullptr && node->never) {
        out.Add(path_, absl::StrCat("must have at most ", CountText(i, "item", "items"), ", got ",
                                    array.size()));
        break;
      }
      if (node != nullptr) CheckAt(absl::StrCat(i), *node, array[i], false, out);
      if (rules.contains != nullptr && Fits(*rules.contains, array[i])) ++contained;
    }
    if (rules.contains == nullptr || out.full() || exhausted_) return;
    const std::string wanted = WantedText(*rules.contains);
    const std::string fit = wanted.empty() ? "of the right form" : absl::StrCat("(", wanted, ")");
    if (contained < rules.min_contains) {
      out.Add(path_,
              absl::StrCat("must contain at least ", CountText(rules.min_contains, "item", "items"),
                           " ", fit, ", got ", contained));
    } else if (contained > rules.max_contains) {
      out.Add(path_,
              absl::StrCat("must contain at most ", CountText(rules.max_contains, "item", "items"),
                           " ", fit, ", got ", contained));
    }
  }

  void CheckObject(const ObjectRules& rules, const Json& value, Faults& out) {
    for (const std::string& name : rules.required) {
      if (out.full()) return;
      if (value.contains(name)) continue;
      const Node* node = rules.FindProperty(name);
      const std::string wanted = node == nullptr ? "" : WantedText(*node);
      out.Add(path_ + PointerStep(name),
              absl::StrCat("is required but missing",
                           wanted.empty() ? "" : absl::StrCat(" (expected ", wanted, ")"),
                           MistakenText(rules, name, value)));
    }
    for (const auto& [name, others] : rules.dependent_required) {
      if (!value.contains(name)) continue;
      for (const std::string& other : others) {
        if (value.contains(other)) continue;
        out.Add(path_ + PointerStep(other),
                absl::StrCat("is required but missing, because ", NameText(name), " is given"));
      }
    }
    CheckCount(value.size(), rules.min_properties, rules.max_properties, "property", "properties",
               out);
    for (const auto& [name, member] : value.items()) {
      if (out.full() || exhausted_) return;
      CheckMember(rules, name, member, out);
    }
    for (const auto& [name, node] : rules.dependent_schemas) {
      if (value.contains(name)) Check(*node, value, false, out);
    }
  }

  void CheckMember(const ObjectRules& rules, const std::string& name, const Json& member,
                   Faults& out) {
    const bool optional = !rules.Requires(name);
    bool matched = false;
    if (const Node* node = rules.FindProperty(name)) {
      matched = true;
      CheckAt(name, *node, member, optional, out);
    }
    for (const auto& [pattern, node] : rules.patterns) {
      if (!pattern.Matches(name)) continue;
      matched = true;
      CheckAt(name, *node, member, optional, out);
    }
    if (!matched && rules.additional != nullptr) {
      if (rules.additional->never) {
        Spend(rules.properties.size() / 4);
        out.Add(path_ + PointerStep(name), UnknownText(rules, name));
      } else {
        CheckAt(name, *rules.additional, member, optional, out);
      }
    }
    if (rules.names == nullptr) return;
    const Json as_value(name);
    Faults faults{1};
    const std::string path = std::exchange(path_, path_ + PointerStep(name));
    Check(*rules.names, as_value, false, faults);
    if (!faults.list.empty()) {
      out.Add(path_, absl::StrCat("the property name ", NameText(name),
                                  " is not allowed: ", faults.list[0].text));
    }
    path_ = path;
  }

  // `unevaluatedProperties` and `unevaluatedItems`.
  void CheckRest(const Node& node, const Node* unevaluated, const Json& value, Faults& out) {
    if (unevaluated == nullptr || out.full() || exhausted_) return;
    const auto fits = [this](const Node& each, const Json& part) { return Fits(each, part); };
    for (const size_t i : FindUnevaluated(node, value, fits)) {
      const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(i));
      const std::string step = value.is_object() ? at.key() : absl::StrCat(i);
      if (!unevaluated->never) {
        CheckAt(step, *unevaluated, *at, value.is_object(), out);
      } else if (value.is_object()) {
        out.Add(path_ + PointerStep(step), absl::StrCat("unknown property ", NameText(step)));
      } else {
        out.Add(path_ + PointerStep(step), "no item is allowed here");
      }
    }
  }

  // A member that nobody knows and that is named much like the missing one. Where unknown members
  // are refused, that fault says it.
  std::string MistakenText(const ObjectRules& rules, const std::string& missing,
                           const Json& value) {
    if (rules.additional != nullptr && rules.additional->never) return "";
    Spend(value.size() / 4);
    std::vector<const std::string*> unknown;
    for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
      if (rules.FindProperty(name) == nullptr) unknown.push_back(&name);
    }
    const std::string* nearest = FindNearest(missing, unknown);
    return nearest == nullptr ? "" : absl::StrCat("; did you mean it by ", NameText(*nearest), "?");
  }

  static std::string UnknownText(const ObjectRules& rules, const std::string& name) {
    std::vector<const std::string*> known;
    for (const auto& [each, node] : rules.properties) known.push_back(&each);
    std::string text = absl::StrCat("unknown property ", NameText(name));
    if (const std::string* nearest = FindNearest(name, known)) {
      return absl::StrCat(text, "; did you mean ", NameText(*nearest), "?");
    }
    if (known.empty()) return absl::StrCat(text, "; no properties are allowed here");
    std::vector<std::string> names;
    for (size_t i = 0; i < known.size() && i < kMaxNamesShown; ++i) {
      names.push_back(NameText(*known[i]));
    }
    return absl::StrCat(text, "; the known ones are ", absl::StrJoin(names, ", "),
                        known.size() > kMaxNamesShown
                            ? absl::StrCat(" and ", known.size() - kMaxNamesShown, " more")
                            : "");
  }

  void CheckCombination(const Combination& in, const Json& value, bool optional, Faults& out) {
    for (const Node* each : in.all_of) Check(*each, value, optional, out);
    if (!in.any_of.empty()) CheckBranches(in.any_of, value, optional, false, out);
    if (!in.one_of.empty()) CheckBranches(in.one_of, value, optional, true, out);
    if (in.negated != nullptr && Fits(*in.negated, value)) {
      const std::string wanted = WantedText(*in.negated);
      out.Add(path_, wanted.empty() ? absl::StrCat("has a form that is not allowed here")
                                    : absl::StrCat("must not be ", wanted));
    }
    if (in.condition != nullptr) {
      const Node* branch = Fits(*in.condition, value) ? in.then_schema : in.else_schema;
      if (branch != nullptr) Check(*branch, value, optional, out);
    }
  }

  void CheckBranches(const std::vector<const Node*>& branches, const Json& value, bool optional,
                     bool exactly_one, Faults& out) {
    std::vector<Faults> found;
    std::vector<std::string> fitting;
    for (size_t i = 0; i < branches.size(); ++i) {
      Faults faults{kMaxInBranch};
      Check(*branches[i], value, optional, faults);
      if (exhausted_) return;
      if (faults.list.empty()) {
        if (!exactly_one) return;
        fitting.push_back(absl::StrCat(i + 1));
      } else {
        found.push_back(std::move(faults));
      }
    }
    if (fitting.size() == 1) return;
    if (!fitting.empty()) {
      return out.Add(
          path_, absl::StrCat("must fit exactly one of ", branches.size(), " forms, but fits ",
                              fitting.size(), " of them (numbers ", ListText(fitting, "and"), ")"));
    }
    AddBest(found, value, optional, out);
  }

  // The faults of the branch that the value was most likely meant for.
  void AddBest(const std::vector<Faults>& branches, const Json& value, bool optional, Faults& out) {
    std::vector<const Faults*> candidates;
    JsonTypes types = 0;
    for (const Faults& each : branches) {
      const Fault& first = each.list.front();
      if (first.kind == FaultKind::kType && first.field == path_) {
        types |= first.wanted_types;
      } else {
        candidates.push_back(&each);
      }
    }
    if (candidates.empty()) {
      Fault fault;
      fault.field = path_;
      fault.kind = FaultKind::kType;
      fault.wanted_types = types;
      fault.got = &value;
      fault.text = absl::StrCat("expected ", TypesText(types), ", got ", GotText(value),
                                NullHint(value, optional));
      return out.Add(std::move(fault));
    }
    if (AddMergedValues(candidates, out)) return;
    const auto wrong_values = [](const Faults* each) {
      return std::count_if(each->list.begin(), each->list.end(),
                           [](const Fault& fault) { return fault.kind == FaultKind::kValue; });
    };
    const Faults* best = *std::min_element(
        candidates.begin(), candidates.end(), [&](const Faults* a, const Faults* b) {
          const auto a_values = wrong_values(a), b_values = wrong_values(b);
          return a_values != b_values ? a_values < b_values : a->list.size() < b->list.size();
        });
    for (const Fault& each : best->list) out.Add(each);
  }

  // When all branches want another value in one place, as tagged unions do, the sum of those values
  // is the answer.
  static bool AddMergedValues(const std::vector<const Faults*>& candidates, Faults& out) {
    if (candidates.size() < 2) return false;
    for (const Fault& each : candidates.front()->list) {
      if (each.kind != FaultKind::kValue) continue;
      Fault merged = each;
      merged.allowed.clear();
      bool everywhere = true;
      for (const Faults* branch : candidates) {
        const auto at =
            std::find_if(branch->list.begin(), branch->list.end(), [&each](const Fault& other) {
              return other.kind == FaultKind::kValue && other.field == each.field;
            });
        everywhere = everywhere && at != branch->list.end();
        if (!everywhere) break;
        merged.allowed.insert(merged.allowed.end(), at->allowed.begin(), at->allowed.end());
      }
      if (!everywhere) continue;
      merged.text = ExpectedText(merged.allowed, *merged.got);
      out.Add(std::move(merged));
      return true;
    }
    return false;
  }

  std::string path_;
  size_t visits_left_;
  bool exhausted_ = false;
  StackBudget stack_;
};

}  // namespace

FieldFault TooManyStepsFault() {
  return {"", "is too large or too deep to be checked against this schema; send less"};
}

std::vector<FieldFault> ExplainFaults(const NodeSet& nodes, const Json& value, size_t max,
                                      size_t max_visits) {
  Faults faults{std::max<size_t>(max, 1)};
  Explainer explainer(max_visits);
  explainer.Check(nodes.root(), value, false, faults);
  std::vector<FieldFault> out;
  for (Fault& each : faults.list) out.push_back({std::move(each.field), std::move(each.text)});
  if (out.empty() && explainer.exhausted()) out.push_back(TooManyStepsFault());
  return out;
}

}  // namespace toolrack
