#include "renderers/schema_walk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace toolrack {

namespace {

constexpr size_t kMaxRefNodes = 20000;

// `$ref` written out below `schema`. `open` are the references being written.
class Expander {
 public:
  explicit Expander(const JsonText& root) : root_(root) {}
  void Expand(JsonText& schema, size_t depth) {
    if (++nodes_ > kMaxRefNodes || depth > kMaxSchemaDepth) {
      schema = JsonText::Object();
      return;
    }
    const std::string ref(schema.StringAt("$ref"));
    if (!ref.empty()) {
      const JsonText* target = ResolveLocal(root_, ref);
      schema.Erase("$ref");
      if (target == nullptr || !target->is_object() || !open_.insert(ref).second) return;
      JsonText merged = *target;
      for (JsonMember& member : schema.members) merged.Set(member.key, std::move(member.value));
      schema = std::move(merged);
      Below(schema, depth);
      open_.erase(ref);
      return;
    }
    Below(schema, depth);
  }

 private:
  void Below(JsonText& schema, size_t depth) {
    schema.Erase("$defs");
    schema.Erase("definitions");
    if (schema.Find("$ref") != nullptr) {
      Expand(schema, depth + 1);
      return;
    }
    EachSubschema(schema, "",
                  [this, depth](JsonText& sub, const std::string&) { Expand(sub, depth + 1); });
  }
  const JsonText& root_;
  std::set<std::string> open_;
  size_t nodes_ = 0;
};

}  // namespace

std::string Step(absl::string_view pointer, absl::string_view key) {
  if (key.find_first_of("~/") == absl::string_view::npos) return absl::StrCat(pointer, "/", key);
  return absl::StrCat(pointer, "/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
}

bool IsSchema(const JsonText& value) {
  return value.is_object() || value.kind == JsonText::Kind::kBool;
}

void EachSubschema(JsonText& schema, absl::string_view pointer,
                   const std::function<void(JsonText&, const std::string&)>& visit) {
  for (JsonMember& member : schema.members) {
    const absl::string_view key = member.key;
    if (!member.value.is_object() && !member.value.is_array() &&
        member.value.kind != JsonText::Kind::kBool) {
      continue;  // no schema, and most members are such
    }
    const std::string at = Step(pointer, key);
    if (key == "properties" || key == "patternProperties" || key == "$defs" ||
        key == "definitions" || key == "dependentSchemas") {
      for (JsonMember& sub : member.value.members) visit(sub.value, Step(at, sub.key));
    } else if (key == "anyOf" || key == "oneOf" || key == "allOf" || key == "prefixItems") {
      for (size_t i = 0; i < member.value.items.size(); ++i) {
        visit(member.value.items[i], absl::StrCat(at, "/", i));
      }
    } else if (key == "items" || key == "additionalProperties" || key == "not" || key == "if" ||
               key == "then" || key == "else" || key == "contains" || key == "propertyNames" ||
               key == "additionalItems" || key == "unevaluatedProperties" ||
               key == "unevaluatedItems") {
      if (member.value.is_array()) {
        for (size_t i = 0; i < member.value.items.size(); ++i) {
          visit(member.value.items[i], absl::StrCat(at, "/", i));
        }
      } else {
        visit(member.value, at);
      }
    }
  }
}

std::vector<std::string> StringsAt(const JsonText& schema, absl::string_view key) {
  std::vector<std::string> out;
  if (const JsonText* value = schema.Find(key); value != nullptr && value->is_array()) {
    for (const JsonText& item : value->items) {
      if (item.is_string()) out.push_back(item.text);
    }
  }
  return out;
}

JsonText Strings(const std::vector<std::string>& words) {
  JsonText out = JsonText::Array();
  for (const std::string& word : words) out.items.push_back(JsonText::String(word));
  return out;
}

bool Has(const std::vector<std::string>& words, absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const JsonText* ResolveLocal(const JsonText& root, absl::string_view ref) {
  if (ref == "#") return &root;
  if (!absl::StartsWith(ref, "#/")) return nullptr;
  const JsonText* at = &root;
  ref.remove_prefix(2);
  while (at != nullptr) {
    const size_t slash = ref.find('/');
    const std::string key =
        absl::StrReplaceAll(ref.substr(0, slash), {{"~1", "/"}, {"~0", "~"}, {"%24", "$"}});
    at = at->is_object() ? at->Find(key) : nullptr;
    if (slash == absl::string_view::npos) return at;
    ref.remove_prefix(slash + 1);
  }
  return nullptr;
}

void WriteOutRefs(JsonText& schema) {
  const JsonText root = schema;
  Expander(root).Expand(schema, 0);
}

}  // namespace toolrack
