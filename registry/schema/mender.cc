#include "registry/schema/mender.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/schema/index.h"

namespace toolrack {
namespace {

using NodeList = std::vector<const Node*>;

constexpr size_t kMaxRepairs = 100;
constexpr size_t kMaxShownBytes = 60;
constexpr size_t kMaxDepth = 64;  // texts within texts included

// Where one value of a text ends: `text` is JSON and starts with it.
size_t ValueEnd(absl::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
        break;
      case '{':
      case '[':
        ++depth;
        continue;
      case '}':
      case ']':
        if (depth == 0) return i;
        --depth;
        break;
      case ',':
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        if (depth == 0) return i;
        continue;
      default:
        continue;
    }
    if (depth == 0) return i + 1;
  }
  return text.size();
}

size_t SpaceEnd(absl::string_view text, size_t at) {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) {
    ++at;
  }
  return at;
}

bool Reads(absl::string_view text, Json& value) {
  JsonLimits limits;
  limits.max_bytes = SIZE_MAX;
  return std::holds_alternative<std::monostate>(ParseJson(text, limits, value));
}

class Mender {
 public:
  explicit Mender(size_t max_visits) : visits_left_(max_visits) {}

  // `text` is the JSON of `value`, without space around it.
  std::string Mend(const NodeList& given, absl::string_view text, const Json& value) {
    if (stopped_ || depth_ >= kMaxDepth) return std::string(text);
    ++depth_;
    std::string out = MendHere(given, text, value);
    --depth_;
    return out;
  }

  // False: it was too much work, and nothing of it counts.
  bool finished() const { return !stopped_; }
  std::vector<SchemaRepair> TakeRepairs() { return std::move(repairs_); }

 private:
  void Spend(size_t visits) {
    stopped_ |= visits_left_ < visits || repairs_.size() > kMaxRepairs || stack_.spent();
    visits_left_ -= std::min(visits, visits_left_);
  }

  std::string MendHere(const NodeList& given, absl::string_view text, const Json& value) {
    const NodeList nodes = Meant(given, value);
    if (value.is_string()) {
      const JsonTypes types = TypesOf(nodes);
      if ((types & kStringType) != 0) return std::string(text);
      return MendString(given, types, text, value);
    }
    if (value.is_object()) return MendObject(nodes, text, value);
    if (value.is_array()) return MendArray(nodes, text, value);
    return std::string(text);
  }

  // The types that `node` may accept: never too few.
  JsonTypes TypesOf(const Node& node, int depth = 8) {
    Spend(1);
    if (stopped_) return kAnyType;
    if (node.never) return 0;
    JsonTypes types = node.types;
    if (node.values) {
      JsonTypes listed = 0;
      if (node.values->constant) listed |= TypeOf(*node.values->constant);
      if (node.values->allowed) {
        for (const Json& each : *node.values->allowed) listed |= TypeOf(each);
      }
      types &= listed;
    }
    if (!node.combination || depth == 0) return types;
    for (const Node* each : node.combination->all_of) types &= TypesOf(*each, depth - 1);
    for (const auto* branches : {&node.combination->any_of, &node.combination->one_of}) {
      if (branches->empty()) continue;
      JsonTypes either = 0;
      for (const Node* each : *branches) either |= TypesOf(*each, depth - 1);
      types &= either;
    }
    return types;
  }
  JsonTypes TypesOf(const NodeList& nodes) {
    JsonTypes types = kAnyType;
    for (const Node* node : nodes) types &= TypesOf(*node);
    return types;
  }

  // The nodes that surely apply to the value: through `allOf`, and through the one branch of an
  // `anyOf` or `oneOf` that can be meant.
  NodeList Meant(const NodeList& given, const Json& value) {
    NodeList out = given;
    for (size_t i = 0; i < out.size(); ++i) {
      Spend(1);
      if (stopped_) return {};
      const Combination* in = out[i]->combination.get();
      if (in == nullptr) continue;
      out.insert(out.end(), in->all_of.begin(), in->all_of.end());
      for (const auto* branches : {&in->any_of, &in->one_of}) {
        const Node* only = nullptr;
        size_t possible = 0;
        for (const Node* each : *branches) {
          if (!MayMean(*each, value)) continue;
          ++possible;
          only = each;
        }
        if (possible == 1) out.push_back(only);
      }
    }
    return out;
  }

  bool MayMean(const Node& branch, const Json& value) {
    const JsonTypes types = TypesOf(branch);
    // A string may stand for anything but a string that the branch wants.
    if (value.is_string()) return types != kNullType && types != 0;
    if ((types & TypeOf(value)) == 0) return false;
    if (!branch.object || !value.is_object()) return true;
    // A tag that names another branch.
    for (const auto& [name, node] : branch.object->properties) {
      Spend(1);
      const auto member = value.find(name);
      if (node->values && member != value.end() && !FitsValues(*node->values, *member))
        return false;
    }
    return true;
  }

  void Report(const char* kind, absl::string_view before, absl::string_view after) {
    repairs_.push_back(
        {path_, kind, ForMessage(before, kMaxShownBytes), ForMessage(after, kMaxShownBytes)});
  }

  // No string is wanted here. What it holds is taken when it is the JSON of something that is.
  std::string MendString(const NodeList& given, JsonTypes types, absl::string_view text,
                         const Json& value) {
    const auto& inner = value.get_ref<const std::string&>();
    Json meant;
    Spend(1 + inner.size() / 256);
    if (stopped_ || inner.empty() || !Reads(inner, meant)) return std::string(text);
    const JsonTypes type = TypeOf(meant);
    if ((types & type) == 0 || meant.is_null() || meant.is_string()) return std::string(text);
    const size_t start = SpaceEnd(inner, 0);
    const absl::string_view bare = absl::string_view(inner).substr(start);
    const absl::string_view plain = bare.substr(0, ValueEnd(bare));
    // Blanks around a number or a word are not ours to judge.
    if (!meant.is_structured() && plain.size() != inner.size()) return std::string(text);
    const char* kind = meant.is_object()                                      ? "string_to_object"
                       : meant.is_array()                                     ? "string_to_array"
                       : meant.is_boolean()                                   ? "string_to_boolean"
                       : type == kIntegerType && (types & kFractionType) == 0 ? "string_to_integer"
                                                                              : "string_to_number";
    Report(kind, text, plain);
    return meant.is_structured() ? Mend(given, plain, meant) : std::string(plain);
  }

  // What applies to a member; nothing known about it: empty.
  static NodeList NodesOfMember(const NodeList& nodes, const std::string& name) {
    NodeList out;
    for (const Node* node : nodes) {
      if (!node->object) continue;
      const Node* property = node->object->FindProperty(name);
      bool matched = property != nullptr;
      if (matched) out.push_back(property);
      for (const auto& [pattern, each] : node->object->patterns) {
        if (!pattern.Matches(name)) continue;
        matched = true;
        out.push_back(each);
      }
      if (!matched && node->object->additional != nullptr) out.push_back(node->object->additional);
    }
    return out;
  }

  static bool IsRequired(const NodeList& nodes, const std::string& name) {
    return std::any_of(nodes.begin(), nodes.end(), [&name](const Node* node) {
      return node->object && node->object->Requires(name);
    });
  }

  // A null where none is taken, of a property that is known and may be left out.
  bool IsToDrop(const NodeList& nodes, const NodeList& member, const std::string& name,
                const Json& value) {
    if (!value.is_null() || member.empty() || IsRequired(nodes, name)) return false;
    const JsonTypes types = TypesOf(member);
    return (types & kNullType) == 0 && types != 0;
  }

  std::string MendObject(const NodeList& nodes, absl::string_view text, const Json& value) {
    std::string out = "{";
    size_t at = 1;     // where the space before a member starts
    size_t until = 0;  // where the member before it ends
    bool any_kept = false, last_kept = false;
    const size_t length = path_.size();
    while (true) {
      const size_t start = SpaceEnd(text, at);
      if (start >= text.size() || text[start] != '"') return std::string(text);  // no members
      const size_t key_end = start + ValueEnd(text.substr(start));
      Json key;
      if (!Reads(text.substr(start, key_end - start), key)) return std::string(text);
      const size_t from = SpaceEnd(text, SpaceEnd(text, key_end) + 1);  // behind the colon
      const auto& name = key.get_ref<const std::string&>();
      const Json& member = value.at(name);
      const NodeList wanted = NodesOfMember(nodes, name);
      // As it stands between two members that stay; else with one comma, or none before the first.
      const absl::string_view before =
          any_kept && last_kept ? text.substr(until, start - until) : text.substr(at, start - at);
      const bool comma = any_kept && !last_kept;
      until = from + ValueEnd(text.substr(from));
      path_ += PointerStep(name);
      last_kept = !IsToDrop(nodes, wanted, name, member);
      if (last_kept) {
        absl::StrAppend(&out, comma ? "," : "", before, text.substr(start, from - start),
                        Mend(wanted, text.substr(from, until - from), member));
        any_kept = true;
      } else {
        Report("dropped_null", "null", "");
      }
      path_.resize(length);
      at = SpaceEnd(text, until);
      if (at >= text.size() || text[at] != ',') return absl::StrCat(out, text.substr(until));
      ++at;
    }
  }

  std::string MendArray(const NodeList& nodes, absl::string_view text, const Json& value) {
    std::string out;
    size_t at = 1, copied = 0;
    const size_t length = path_.size();
    for (size_t i = 0; i < value.size(); ++i) {
      const size_t from = SpaceEnd(text, at);
      const size_t until = from + ValueEnd(text.substr(from));
      NodeList wanted;
      for (const Node* node : nodes) {
        if (!node->array) continue;
        const ArrayRules& rules = *node->array;
        const Node* item = i < rules.prefix.size() ? rules.prefix[i] : rules.rest;
        if (item != nullptr) wanted.push_back(item);
      }
      absl::StrAppend(&path_, "/", i);
      absl::StrAppend(&out, text.substr(copied, from - copied),
                      Mend(wanted, text.substr(from, until - from), value[i]));
      path_.resize(length);
      copied = until;
      at = SpaceEnd(text, until) + 1;  // behind the comma
    }
    absl::StrAppend(&out, text.substr(copied));
    return out;
  }

  std::string path_;
  std::vector<SchemaRepair> repairs_;
  size_t depth_ = 0;
  size_t visits_left_;
  bool stopped_ = false;
  StackBudget stack_;
};

}  // namespace

std::optional<Mended> MendText(const NodeSet& nodes, absl::string_view text, const Json& value,
                               size_t max_visits) {
  const size_t start = SpaceEnd(text, 0);
  const size_t end = start + ValueEnd(text.substr(start));
  Mender mender(max_visits);
  std::string mended = absl::StrCat(
      text.substr(0, start), mender.Mend({&nodes.root()}, text.substr(start, end - start), value),
      text.substr(end));
  Mended out{std::move(mended), mender.TakeRepairs()};
  if (!mender.finished() || out.repairs.empty()) return std::nullopt;
  return out;
}

}  // namespace toolrack
