#include "registry/checks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/random.h"
#include "registry/base/utf8.h"
#include "registry/name.h"
#include "registry/schema/lint.h"

namespace toolrack {

const char kDefaultInputSchema[] =
    R"({"type":"object","properties":{"input":{"type":"string","description":"The input as plain text."}},"required":["input"],"additionalProperties":false})";

namespace {

constexpr int kMaxCategories = 64;
constexpr int kMaxExamples = 1000;

// Collects the faults of one tool and mends what could not be listed.
class Check {
 public:
  Check(const v1::LimitsConfig& limits, CheckedTool& out) : limits_(limits), out_(out) {}

  void Add(absl::string_view rule, absl::string_view pointer, v1::FindingSeverity severity,
           std::string message) {
    *out_.tool.add_findings() = MakeFinding(rule, pointer, severity, std::move(message));
    out_.faulty |= severity == v1::FINDING_SEVERITY_ERROR;
  }
  void Error(absl::string_view rule, absl::string_view pointer, std::string message) {
    Add(rule, pointer, v1::FINDING_SEVERITY_ERROR, std::move(message));
  }

  void Text(std::string* text, absl::string_view pointer, absl::string_view limit, size_t max) {
    const size_t bad = FirstInvalidUtf8(*text);
    if (bad != text->size()) {
      Error("not_utf8", pointer,
            absl::StrCat("Not UTF-8 at byte ", bad, "; shown with the bytes replaced."));
      *text = ReplaceInvalidUtf8(*text);
    }
    if (text->size() > max) {
      Error(absl::StrCat(pointer.substr(1, pointer.find('/', 1) - 1), "_too_long"), pointer,
            absl::StrCat("Too long: ", limit, " allows ", max, " bytes, it has ", text->size(),
                         "; shown cut."));
      text->resize(Utf8Prefix(*text, max).size());
    }
  }

  // False: the text cannot be kept and was dropped, so there is nothing more to look at.
  bool JsonText(std::string* text, absl::string_view pointer) {
    const absl::string_view field = pointer.substr(1);
    const size_t bad = FirstInvalidUtf8(*text);
    if (text->size() > limits_.max_schema_bytes()) {
      Error(absl::StrCat(field, "_too_large"), pointer,
            absl::StrCat("Too large: limits.max_schema_bytes allows ", limits_.max_schema_bytes(),
                         " bytes, it has ", text->size(), "; not shown."));
    } else if (bad != text->size()) {
      Error("not_utf8", pointer, absl::StrCat("Not UTF-8 at byte ", bad, "; shown replaced."));
      *text = ReplaceInvalidUtf8(*text);
      return false;
    } else {
      return true;
    }
    text->clear();
    return false;
  }

 private:
  const v1::LimitsConfig& limits_;
  CheckedTool& out_;
};

void CheckSchema(Check& check, VerdictCache& verdicts, std::string* text, absl::string_view pointer,
                 bool object_root, bool openapi) {
  if (!check.JsonText(text, pointer)) return;
  const VerdictCache::Findings findings = verdicts.Check(*text, object_root, openapi);
  for (const v1::Finding& finding : *findings) {
    check.Add(finding.rule(), absl::StrCat(pointer, finding.pointer()), finding.severity(),
              finding.message());
  }
}

void CheckTexts(Check& check, const v1::LimitsConfig& limits, v1::Tool& tool) {
  const size_t max = limits.max_description_bytes();
  check.Text(tool.mutable_title(), "/title", "limits.max_description_bytes", max);
  check.Text(tool.mutable_description(), "/description", "limits.max_description_bytes", max);
  if (tool.description().empty()) {
    check.Add("missing_description", "/description", v1::FINDING_SEVERITY_WARNING,
              "Models choose a tool by its description: say what it does.");
  }
  size_t room = max;
  for (int i = 0; i < tool.examples_size(); ++i) {
    check.Text(tool.mutable_examples(i), absl::StrCat("/examples/", i),
               "limits.max_description_bytes (all examples together)", room);
    room -= tool.examples(i).size();
  }
  if (tool.examples_size() > kMaxExamples) {
    check.Error("too_many_examples", "/examples",
                absl::StrCat("At most ", kMaxExamples, " examples are taken, there are ",
                             tool.examples_size(), "; the rest is not shown."));
    tool.mutable_examples()->DeleteSubrange(kMaxExamples, tool.examples_size() - kMaxExamples);
  }
  if (tool.has_source()) {
    check.Text(tool.mutable_source()->mutable_original_name(), "/source/original_name",
               "limits.max_description_bytes", max);
  }
}

void CheckCategories(Check& check, v1::Tool& tool) {
  if (tool.categories_size() > kMaxCategories) {
    check.Error("too_many_categories", "/categories",
                absl::StrCat("At most ", kMaxCategories, " categories are taken, there are ",
                             tool.categories_size(), "; the rest is not shown."));
    tool.mutable_categories()->DeleteSubrange(kMaxCategories,
                                              tool.categories_size() - kMaxCategories);
  }
  for (int i = 0; i < tool.categories_size(); ++i) {
    const absl::Status status = CheckCategory(tool.categories(i));
    if (status.ok()) continue;
    check.Error("category_invalid", absl::StrCat("/categories/", i), std::string(status.message()));
    tool.set_categories(i, ForMessage(tool.categories(i)));
  }
  if (tool.categories_size() == 0) tool.add_categories("basic");
}

void CheckMeta(Check& check, const v1::LimitsConfig& limits, v1::Tool& tool) {
  if (tool.meta_json().empty() || !check.JsonText(tool.mutable_meta_json(), "/meta_json")) return;
  Json value;
  JsonLimits json_limits;
  json_limits.max_bytes = limits.max_schema_bytes();
  json_limits.max_depth = limits.max_json_depth();
  const auto fault = ParseJson(tool.meta_json(), json_limits, value);
  if (const JsonFault* why = std::get_if<JsonFault>(&fault)) {
    check.Error("meta_not_json", "/meta_json",
                absl::StrCat("Not a JSON text at byte ", why->offset, ": ", why->message));
  } else if (!value.is_object()) {
    check.Error("meta_not_object", "/meta_json", "It must be a JSON object.");
  }
}

void CheckTimeout(Check& check, v1::Tool& tool) {
  if (!tool.has_timeout()) return;
  // As google.protobuf.Duration is defined.
  constexpr int64_t kMaxSeconds = 315576000000;
  const auto& timeout = tool.timeout();
  const bool legal = timeout.seconds() >= 0 && timeout.seconds() <= kMaxSeconds &&
                     timeout.nanos() >= 0 && timeout.nanos() < 1000000000 &&
                     (timeout.seconds() > 0 || timeout.nanos() > 0);
  if (legal) return;
  check.Error("timeout_invalid", "/timeout", "A timeout must be more than zero and well formed.");
  tool.clear_timeout();
}

// A number too small for its meaning would fail proto readers that check enums; nobody else sets
// it.
void CheckScope(Check& check, v1::Tool& tool) {
  if (v1::ToolScope_IsValid(tool.scope())) return;
  check.Error("scope_invalid", "/scope",
              absl::StrCat("No such scope: ", static_cast<int>(tool.scope()), "."));
  tool.clear_scope();
}

}  // namespace

v1::Finding MakeFinding(absl::string_view rule, absl::string_view pointer,
                        v1::FindingSeverity severity, std::string message) {
  v1::Finding finding;
  finding.set_rule(std::string(rule));
  finding.set_pointer(std::string(pointer));
  finding.set_severity(severity);
  finding.set_message(std::move(message));
  return finding;
}

v1::LimitsConfig WithDefaults(v1::LimitsConfig limits) {
  if (limits.max_json_depth() == 0) limits.set_max_json_depth(64);
  if (limits.max_schema_bytes() == 0) limits.set_max_schema_bytes(256 << 10);
  if (limits.max_schema_nodes() == 0) limits.set_max_schema_nodes(10000);
  if (limits.max_schema_visits() == 0) limits.set_max_schema_visits(SchemaLimits().max_visits);
  if (limits.max_description_bytes() == 0) limits.set_max_description_bytes(64 << 10);
  if (limits.max_tools() == 0) limits.set_max_tools(100000);
  if (limits.max_tools_per_worker() == 0) limits.set_max_tools_per_worker(10000);
  if (limits.watch_history() == 0) limits.set_watch_history(16384);
  return limits;
}

SchemaOptions SchemaOptionsOf(const v1::LimitsConfig& limits,
                              const v1::ValidationConfig& validation) {
  SchemaOptions out;
  out.limits.max_bytes = limits.max_schema_bytes();
  out.limits.max_nodes = limits.max_schema_nodes();
  out.limits.max_depth = limits.max_json_depth();
  out.limits.max_visits = limits.max_schema_visits();
  out.assert_format = validation.assert_format();
  return out;
}

VerdictCache::Findings VerdictCache::Check(absl::string_view schema, bool object_root,
                                           bool openapi) {
  const std::string key =
      absl::StrCat(object_root ? "o" : "a", openapi ? "p" : "", Sha256Hex(schema));
  {
    absl::MutexLock lock(&mutex_);
    auto found = young_.find(key);
    if (found != young_.end()) return found->second;
    found = old_.find(key);
    if (found != old_.end()) {
      Findings findings = found->second;
      young_.emplace(key, findings);
      return findings;
    }
  }
  SchemaOptions options = options_;
  options.object_root = object_root;
  options.openapi = openapi;
  auto findings =
      std::make_shared<const std::vector<v1::Finding>>(Schema::Compile(schema, options).findings);
  absl::MutexLock lock(&mutex_);
  if (young_.size() >= kMaxKept) {
    old_ = std::move(young_);
    young_.clear();
  }
  young_.emplace(key, findings);
  return findings;
}

DefinitionChecker::DefinitionChecker(v1::LimitsConfig limits,
                                     const v1::ValidationConfig& validation,
                                     std::vector<v1::ToolConfig> settings)
    : limits_(WithDefaults(std::move(limits))),
      settings_(std::move(settings)),
      verdicts_(SchemaOptionsOf(limits_, validation)) {}

CheckedTool DefinitionChecker::Check(absl::string_view ns, v1::Tool given, bool reserved) {
  CheckedTool out;
  out.tool = std::move(given);
  v1::Tool& tool = out.tool;
  tool.clear_findings();
  tool.clear_revision();
  tool.clear_state();
  tool.clear_risk();
  tool.clear_digest();
  toolrack::Check check(limits_, out);

  reserved = reserved && IsReservedName(tool.name());
  const absl::Status name = CheckToolName(absl::string_view(tool.name()).substr(reserved ? 2 : 0));
  if (!name.ok()) {
    out.rejected = true;
    out.bare_name = ForMessage(tool.name(), 128);
    check.Error("name_invalid", "/name", std::string(name.message()));
    return out;
  }
  out.bare_name = tool.name();
  if (!reserved && !IsLowerSnakeCase(tool.name())) {
    check.Add("name_not_snake_case", "/name", v1::FINDING_SEVERITY_INFO,
              "Some providers and people expect lower_snake_case.");
  }
  tool.set_name(CanonicalName(ns, out.bare_name));
  tool.set_namespace_(std::string(ns));

  CheckTexts(check, limits_, tool);
  if (tool.input_schema().empty()) {
    tool.set_input_schema(kDefaultInputSchema);
    tool.set_raw_input(true);
  }
  out.openapi = OpenApiByConfig(tool.name());
  CheckSchema(check, verdicts_, tool.mutable_input_schema(), "/input_schema", true, out.openapi);
  if (!tool.output_schema().empty()) {
    CheckSchema(check, verdicts_, tool.mutable_output_schema(), "/output_schema", false,
                out.openapi);
  }
  CheckCategories(check, tool);
  CheckMeta(check, limits_, tool);
  CheckTimeout(check, tool);
  CheckScope(check, tool);
  tool.set_digest(DefinitionDigest(tool));
  Configure(out);
  return out;
}

void DefinitionChecker::Configure(CheckedTool& checked) const {
  v1::Tool& tool = checked.tool;
  const v1::ToolAnnotations& hints = tool.annotations();
  tool.set_risk(hints.has_destructive() && hints.destructive() ? v1::RISK_LEVEL_DANGEROUS
                : hints.has_read_only() && hints.read_only()   ? v1::RISK_LEVEL_SAFE
                                                               : v1::RISK_LEVEL_CAUTION);
  for (const v1::ToolConfig& setting : settings_) {
    if (!MatchesGlob(setting.name(), tool.name())) continue;
    if (setting.risk() != v1::RISK_LEVEL_UNSPECIFIED) tool.set_risk(setting.risk());
    if (setting.has_timeout()) *tool.mutable_timeout() = setting.timeout();
    if (setting.max_concurrency() != 0) tool.set_max_concurrency(setting.max_concurrency());
    if (setting.result_cap_bytes() != 0) {
      checked.settings.result_cap_bytes = setting.result_cap_bytes();
    }
    if (setting.has_cache_ttl()) {
      checked.settings.cache_ttl = absl::Seconds(setting.cache_ttl().seconds()) +
                                   absl::Nanoseconds(setting.cache_ttl().nanos());
    }
  }
}

bool DefinitionChecker::DisabledByConfig(absl::string_view canonical) const {
  bool disabled = false;
  for (const v1::ToolConfig& setting : settings_) {
    if (MatchesGlob(setting.name(), canonical)) disabled = setting.disabled();
  }
  return disabled;
}

bool DefinitionChecker::OpenApiByConfig(absl::string_view canonical) const {
  bool openapi = false;
  for (const v1::ToolConfig& setting : settings_) {
    if (MatchesGlob(setting.name(), canonical)) openapi = setting.openapi();
  }
  return openapi;
}

void AddTargetFindings(v1::Tool& tool) {
  for (v1::Finding& each : LintForTargets(tool.name(), tool.input_schema())) {
    *tool.add_findings() = std::move(each);
  }
}

std::string DefinitionDigest(const v1::Tool& tool) {
  std::string framed = "toolrack.definition.v1\n";
  const auto part = [&framed](absl::string_view text) {
    absl::StrAppend(&framed, text.size(), ":", text, ",");
  };
  part(tool.name());
  part(tool.description());
  part(tool.title());
  part(tool.input_schema());
  part(tool.output_schema());
  absl::StrAppend(&framed, tool.categories_size(), ";");
  for (const std::string& category : tool.categories()) part(category);
  const v1::ToolAnnotations& hints = tool.annotations();
  // Absent is not false.
  const auto hint = [&framed](bool has, bool value) { framed += !has ? '-' : value ? 't' : 'f'; };
  hint(hints.has_read_only(), hints.read_only());
  hint(hints.has_destructive(), hints.destructive());
  hint(hints.has_idempotent(), hints.idempotent());
  hint(hints.has_open_world(), hints.open_world());
  return Sha256Hex(framed);
}

bool MatchesGlob(absl::string_view pattern, absl::string_view name) {
  size_t p = 0, n = 0;
  size_t star = absl::string_view::npos, after_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace toolrack
