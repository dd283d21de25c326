#include "registry/schema/texts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/schema/exact.h"

namespace toolrack {
namespace {

constexpr size_t kMaxValueBytes = 60;
constexpr size_t kMaxAllowed = 20;
// Names longer than this are data, not misspellings.
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxNames = 500;
// Names further apart than this are different names.
constexpr size_t kMaxSteps = 4;

std::string WantedOf(const Node& node, int depth) {
  if (node.never) return "";
  if (node.values) {
    std::vector<const Json*> allowed;
    if (node.values->constant) {
      allowed.push_back(&*node.values->constant);
    } else {
      for (const Json& each : *node.values->allowed) allowed.push_back(&each);
    }
    if (!allowed.empty()) return AllowedText(allowed);
  }
  if (node.types != kAnyType) return TypesText(node.types);
  if (!node.combination || depth == 0) return "";
  for (const Node* each : node.combination->all_of) {
    std::string wanted = WantedOf(*each, depth - 1);
    if (!wanted.empty()) return wanted;
  }
  for (const auto* branches : {&node.combination->any_of, &node.combination->one_of}) {
    std::vector<std::string> parts;
    for (const Node* each : *branches) {
      std::string wanted = WantedOf(*each, depth - 1);
      if (wanted.empty()) return "";
      if (std::find(parts.begin(), parts.end(), wanted) == parts.end()) {
        parts.push_back(std::move(wanted));
      }
    }
    if (!parts.empty()) return ListText(parts, "or");
  }
  return "";
}

}  // namespace

std::string ListText(const std::vector<std::string>& items, absl::string_view last) {
  if (items.empty()) return "";
  if (items.size() == 1) return items[0];
  return absl::StrCat(absl::StrJoin(items.begin(), items.end() - 1, ", "), " ", last, " ",
                      items.back());
}

std::string TypesText(JsonTypes types) {
  if (types == kAnyType) return "";
  std::vector<std::string> names;
  if (types & kStringType) names.push_back("string");
  if (types & kFractionType) {
    names.push_back("number");
  } else if (types & kIntegerType) {
    names.push_back("integer");
  }
  if (types & kBooleanType) names.push_back("boolean");
  if (types & kArrayType) names.push_back("array");
  if (types & kObjectType) names.push_back("object");
  if (types & kNullType) names.push_back("null");
  return ListText(names, "or");
}

std::string NameText(absl::string_view name) { return ForMessage(JsonQuote(name), kMaxValueBytes); }

std::string ValueText(const Json& value) {
  if (value.is_string()) return NameText(value.get_ref<const std::string&>());
  return ForMessage(DumpExactly(value), kMaxValueBytes);
}

std::string GotText(const Json& value) {
  switch (TypeOf(value)) {
    case kBooleanType:
      return absl::StrCat(ValueText(value), " (a boolean)");
    case kIntegerType:
      return absl::StrCat(ValueText(value), " (an integer)");
    case kFractionType:
      return absl::StrCat(ValueText(value), " (a number)");
    case kStringType:
      return absl::StrCat(ValueText(value), " (a string)");
    case kArrayType:
      return "an array";
    case kObjectType:
      return "an object";
    default:
      return "null";
  }
}

std::string CountText(uint64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string AllowedText(const std::vector<const Json*>& allowed) {
  std::vector<std::string> texts;
  for (const Json* each : allowed) {
    if (texts.size() == kMaxAllowed) break;
    std::string text = ValueText(*each);
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  const size_t more = allowed.size() > kMaxAllowed ? allowed.size() - kMaxAllowed : 0;
  if (texts.size() == 1 && more == 0) return texts[0];
  return absl::StrCat("one of ", absl::StrJoin(texts, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string WantedText(const Node& node) { return WantedOf(node, 4); }

const std::string* FindNearest(absl::string_view name,
                               const std::vector<const std::string*>& known) {
  if (name.size() > kMaxNameBytes) return nullptr;
  const std::string* best = nullptr;
  size_t best_distance = std::min((name.size() + 2) / 3, kMaxSteps) + 1;
  for (size_t i = 0; i < known.size() && i < kMaxNames; ++i) {
    const std::string& each = *known[i];
    if (each.size() > kMaxNameBytes) continue;
    const size_t distance = EditDistance(name, each, best_distance - 1);
    if (distance < best_distance && distance < std::max(name.size(), each.size())) {
      best = &each;
      best_distance = distance;
      if (distance == 0) break;
    }
  }
  return best;
}

}  // namespace toolrack
