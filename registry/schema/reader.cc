#include "registry/schema/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/schema/dynamic_scopes.h"
#include "registry/schema/exact.h"
#include "registry/schema/index.h"
#include "registry/schema/keywords.h"
#include "registry/schema/rules_reader.h"
#include "registry/schema/simplify.h"

namespace toolrack {
namespace {

// Schemas applied to one value through each other, `$ref` after `$ref`; a longer chain is refused,
// as each step takes stack while validating.
constexpr int kMaxChain = 128;
// A broken schema is mostly broken in one way all over; more findings would not help.
constexpr size_t kMaxFindings = 32;

class Reader {
 public:
  Reader(const Json& document, Dialect dialect, const SchemaOptions& options, ReadOutcome& out)
      : document_(document),
        dialect_(dialect),
        options_(options),
        index_(document, dialect, options),
        out_(out) {}

  void Run() {
    ReportNames();
    out_.nodes = std::make_unique<NodeSet>();
    NodeFor(document_, scopes_.Outermost());
    // No recursion: a chain of references may be as long as the document.
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_.size() > options_.limits.max_nodes) {
        Report("schema_too_large", "",
               absl::StrCat("dynamic references multiply the schema beyond ",
                            options_.limits.max_nodes, " subschemas (max_nodes)"));
        break;
      }
      const Waiting next = waiting_[i];
      Fill(*next.schema, *next.node, next.scope);
    }
    ReportNames();
    if (options_.object_root) DemandObject();
    if (!HasErrors()) CheckChains();
    if (HasErrors()) {
      out_.nodes.reset();
    } else {
      Simplify(*out_.nodes);
    }
  }

 private:
  struct Waiting {
    const Json* schema;
    Node* node;
    DynamicScopes::Id scope;
  };

  // Faults in `$id`, `$anchor` and the like; reading a reference may find more of them.
  void ReportNames() {
    for (const SchemaIndex::Fault& fault : index_.faults()) {
      Report("invalid_keyword", fault.pointer, fault.message);
    }
  }

  bool HasErrors() const {
    return std::any_of(out_.findings.begin(), out_.findings.end(), [](const v1::Finding& finding) {
      return finding.severity() == v1::FINDING_SEVERITY_ERROR;
    });
  }

  void Report(absl::string_view rule, absl::string_view pointer, absl::string_view message,
              v1::FindingSeverity severity = v1::FINDING_SEVERITY_ERROR) {
    if (out_.findings.size() >= kMaxFindings) return;
    // A subschema that is compiled twice has its faults twice.
    for (const v1::Finding& each : out_.findings) {
      if (each.rule() == rule && each.pointer() == pointer && each.message() == message) return;
    }
    v1::Finding& finding = out_.findings.emplace_back();
    finding.set_rule(std::string(rule));
    finding.set_pointer(std::string(pointer));
    finding.set_severity(severity);
    finding.set_message(std::string(message));
  }

  // `scope`: of the subschema that leads here.
  Node* NodeFor(const Json& schema, DynamicScopes::Id scope) {
    scope = scopes_.Enter(scope, index_.ResourceOf(&schema));
    const auto [at, fresh] = by_place_.try_emplace({&schema, scope}, nullptr);
    if (fresh) {
      auto node = std::make_unique<Node>();
      node->id = out_.nodes->nodes.size();
      at->second = node.get();
      out_.nodes->nodes.push_back(std::move(node));
      waiting_.push_back({&schema, at->second, scope});
    }
    return at->second;
  }

  void Fill(const Json& schema, Node& node, DynamicScopes::Id scope) {
    const std::string pointer = index_.PointerOf(&schema);
    if (schema.is_boolean()) {
      node.never = !schema.get<bool>();
      return;
    }
    RuleReader rules(
        dialect_, options_, node,
        [this, scope](const Json& child) { return NodeFor(child, scope); },
        [this, &pointer](absl::string_view rule, absl::string_view keyword,
                         absl::string_view message) {
          Report(rule, absl::StrCat(pointer, keyword.empty() ? "" : "/", keyword), message);
        });
    if (dialect_ < Dialect::k2019_09 && schema.contains("$ref")) {
      Refer(schema, "$ref", pointer, node, scope);
      WarnOfSiblings(schema, pointer);
      return;
    }
    for (const char* name : {"$ref", "$dynamicRef", "$recursiveRef"}) {
      if (schema.contains(name)) Refer(schema, name, pointer, node, scope);
    }
    for (const auto& [name, value] : schema.items()) {
      const Keyword* keyword = FindKeyword(name);
      if (keyword == nullptr) {
        rules.ReadAnnotation(name, value);
        continue;
      }
      if (name == "$schema") {
        CheckDialect(schema, value, pointer);
        continue;
      }
      rules.Read(*keyword, value, schema);
    }
    if (options_.openapi) {
      rules.ReadNullable(schema);
    } else if (schema.contains("nullable") && schema["nullable"] == true) {
      Report("ignored_keyword", absl::StrCat(pointer, "/nullable"),
             "`nullable` belongs to OpenAPI and has no effect, so null is refused; use"
             " `\"type\": [\"…\", \"null\"]`, or import the tool as OpenAPI (tools.openapi)",
             v1::FINDING_SEVERITY_WARNING);
    }
    rules.Finish();
  }

  void Refer(const Json& schema, const char* name, const std::string& pointer, Node& node,
             DynamicScopes::Id scope) {
    const std::string at = absl::StrCat(pointer, "/", name);
    if ((FindKeyword(name)->dialects & static_cast<uint8_t>(dialect_)) == 0) return;  // see Read
    const Json& reference = schema[name];
    if (!reference.is_string()) {
      return Report("invalid_keyword", at, absl::StrCat("`", name, "` must be a string"));
    }
    const auto& text = reference.get_ref<const std::string&>();
    const absl::StatusOr<const Json*> target = Target(schema, name, text, scope);
    if (!target.ok()) return Report("unresolved_reference", at, target.status().message());
    if (!node.combination) node.combination = std::make_unique<Combination>();
    node.combination->all_of.push_back(NodeFor(**target, scope));
  }

  absl::StatusOr<const Json*> Target(const Json& schema, absl::string_view name,
                                     const std::string& reference, DynamicScopes::Id scope) {
    if (name == "$ref") return index_.Resolve(&schema, reference);
    const absl::StatusOr<SchemaIndex::DynamicTarget> target =
        name == "$dynamicRef" ? index_.ResolveDynamic(&schema, reference)
                              : index_.ResolveRecursive(&schema, reference);
    if (!target.ok()) return target.status();
    const Json* outermost = target->anchor ? scopes_.Find(scope, *target->anchor) : nullptr;
    return outermost != nullptr ? outermost : target->target;
  }

  void WarnOfSiblings(const Json& schema, const std::string& pointer) {
    for (const auto& [name, value] : schema.items()) {
      const Keyword* keyword = FindKeyword(name);
      if (keyword == nullptr || name[0] == '$' || name == "definitions" || name == "id") continue;
      Report("ignored_keyword", absl::StrCat(pointer, "/", name),
             absl::StrCat("in ", DialectName(dialect_), " `", name,
                          "` beside `$ref` has no effect; put both into an `allOf`"),
             v1::FINDING_SEVERITY_WARNING);
    }
  }

  void CheckDialect(const Json& schema, const Json& value, const std::string& pointer) {
    if (&schema == &document_) return;
    if (!value.is_string() || DialectOf(value.get_ref<const std::string&>()) != dialect_) {
      Report("unknown_dialect", pointer + "/$schema",
             absl::StrCat("a part of the schema declares another dialect than the ",
                          DialectName(dialect_), " of its root"));
    }
  }

  void DemandObject() {
    Node& root = *out_.nodes->nodes.front();
    const auto type = document_.is_object() ? document_.find("type") : document_.end();
    const bool typed = document_.is_object() && type != document_.end();
    const bool implied = document_.is_object() && !typed && document_.contains("properties");
    if (!implied && !(typed && root.types == kObjectType)) {
      return Report("root_not_object", typed ? "/type" : "",
                    typed ? "the root must have `\"type\": \"object\"`: arguments are an object"
                          : "the root says nothing about an object; give it `\"type\": \"object\"`"
                            " and `properties`");
    }
    root.types = kObjectType;
  }

  // Refuses schemas that apply themselves to the same value for ever, or through too many steps.
  void CheckChains() {
    struct Frame {
      const Node* node;
      std::vector<const Node*> children;
      size_t next = 0;
      int longest = 0;
    };
    constexpr int kOpen = -1;
    absl::flat_hash_map<const Node*, int> done;  // the longest chain from there, or kOpen
    for (const Waiting& each : waiting_) {
      const Node* start = each.node;
      if (done.contains(start)) continue;
      std::vector<Frame> stack;
      stack.push_back({start, NodesInPlace(*start)});
      done[start] = kOpen;
      while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next == top.children.size()) {
          const int length = top.longest + 1;
          done[top.node] = length;
          const Node* node = top.node;
          stack.pop_back();
          if (!stack.empty()) stack.back().longest = std::max(stack.back().longest, length);
          if (length > kMaxChain) {
            return Report("schema_too_large", PointerOfNode(node),
                          absl::StrCat("more than ", kMaxChain,
                                       " schemas apply to one value through each other"));
          }
          continue;
        }
        const Node* child = top.children[top.next++];
        const auto at = done.find(child);
        if (at == done.end()) {
          done[child] = kOpen;
          stack.push_back({child, NodesInPlace(*child)});
        } else if (at->second == kOpen) {
          return Report("reference_cycle", PointerOfNode(child),
                        "the schema refers to itself without going deeper into the value, so it"
                        " would never come to an end");
        } else {
          top.longest = std::max(top.longest, at->second);
        }
      }
    }
  }

  std::string PointerOfNode(const Node* node) const {
    return index_.PointerOf(waiting_[node->id].schema);
  }

  const Json& document_;
  const Dialect dialect_;
  const SchemaOptions& options_;
  SchemaIndex index_;
  DynamicScopes scopes_{index_};
  ReadOutcome& out_;
  absl::flat_hash_map<std::pair<const Json*, DynamicScopes::Id>, Node*> by_place_;
  std::vector<Waiting> waiting_;  // by node id
};

ReadOutcome Refusal(absl::string_view rule, absl::string_view pointer, std::string message) {
  ReadOutcome out;
  v1::Finding& finding = out.findings.emplace_back();
  finding.set_rule(std::string(rule));
  finding.set_pointer(std::string(pointer));
  finding.set_severity(v1::FINDING_SEVERITY_ERROR);
  finding.set_message(std::move(message));
  return out;
}

}  // namespace

ReadOutcome ReadSchema(absl::string_view text, const SchemaOptions& options) {
  const SchemaLimits& limits = options.limits;
  Json document;
  const auto parsed =
      ParseJson(text, {limits.max_bytes, limits.max_depth, limits.max_nodes}, document);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    if (!fault->limit.empty()) {
      return Refusal("schema_too_large", "",
                     absl::StrCat("the schema is ", fault->message, " (", fault->limit, ")"));
    }
    return Refusal("not_json", "",
                   absl::StrCat("not JSON: ", fault->message, " (byte ", fault->offset, ")"));
  }
  if (MayHaveLongNumbers(text)) document = ReadExactly(text);
  if (!document.is_object() && !document.is_boolean()) {
    return Refusal("not_a_schema", "", "a schema is a JSON object or a boolean");
  }
  // OpenAPI 3.0 is draft-04 with a few changes.
  Dialect dialect = options.openapi ? Dialect::kDraft4 : Dialect::k2020_12;
  if (document.is_object() && document.contains("$schema")) {
    const Json& declared = document["$schema"];
    const std::optional<Dialect> known =
        declared.is_string() ? DialectOf(declared.get_ref<const std::string&>()) : std::nullopt;
    if (!known) {
      return Refusal("unknown_dialect", "/$schema",
                     absl::StrCat("the dialect ", ForMessage(DumpJson(declared)),
                                  " is not supported; use draft-04, draft-06, draft-07, 2019-09 or"
                                  " 2020-12 (https://json-schema.org/draft/2020-12/schema)"));
    }
    dialect = *known;
  }
  ReadOutcome out;
  Reader(document, dialect, options, out).Run();
  return out;
}

}  // namespace toolrack
