#include "registry/policy/policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/checks.h"

namespace toolrack {
namespace {

constexpr char kDefaultRule[] = "policy.default_action";
constexpr char kReserved[] = "__";

PolicyAction ActionOf(absl::string_view name) {
  if (name == "deny") return PolicyAction::kDeny;
  return name == "ask" ? PolicyAction::kAsk : PolicyAction::kAllow;
}

v1::RiskLevel RiskOf(absl::string_view name) {
  if (name == "safe") return v1::RISK_LEVEL_SAFE;
  return name == "dangerous" ? v1::RISK_LEVEL_DANGEROUS : v1::RISK_LEVEL_CAUTION;
}

bool AnyGlob(const std::vector<std::string>& globs, absl::string_view text) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [text](const std::string& glob) {
           return MatchesGlob(glob, text);
         });
}

template <typename Strings>
std::vector<std::string> ToVector(const Strings& strings) {
  return {strings.begin(), strings.end()};
}

}  // namespace

Policy::Policy(const v1::PolicyConfig& config) { Reload(config); }

void Policy::Reload(const v1::PolicyConfig& config) {
  auto table = std::make_unique<const Table>(config);
  absl::MutexLock lock(&mu_);
  table_.store(table.get(), std::memory_order_release);
  tables_.push_back(std::move(table));
  version_.fetch_add(1, std::memory_order_acq_rel);
}

Policy::Table::Table(const v1::PolicyConfig& config) {
  fallback = {ActionOf(config.default_action()), kDefaultRule};
  hides = fallback.action == PolicyAction::kDeny;
  for (const v1::PolicyRule& from : config.rules()) {
    Rule rule;
    rule.name =
        from.name().empty() ? absl::StrCat("policy.rules[", rules.size(), "]") : from.name();
    rule.principals = ToVector(from.principals());
    rule.tools = ToVector(from.tools());
    rule.categories = ToVector(from.categories());
    rule.namespaces = ToVector(from.namespaces());
    for (const std::string& risk : from.risks()) rule.risks.push_back(RiskOf(risk));
    rule.action = ActionOf(from.action());
    rule.reserved = std::any_of(rule.tools.begin(), rule.tools.end(), [](const std::string& glob) {
      return absl::StartsWith(glob, kReserved);
    });
    hides |= rule.action == PolicyAction::kDeny;
    rules.push_back(std::move(rule));
  }
}

bool Policy::Rule::Fits(absl::string_view principal, const ToolDefinition& definition) const {
  const v1::Tool& tool = definition.tool;
  if (!AnyGlob(principals, principal) || !AnyGlob(tools, tool.name())) return false;
  if (!AnyGlob(namespaces, tool.namespace_())) return false;
  if (!risks.empty() && std::find(risks.begin(), risks.end(), tool.risk()) == risks.end()) {
    return false;
  }
  return categories.empty() || std::any_of(tool.categories().begin(), tool.categories().end(),
                                           [this](const std::string& category) {
                                             return std::find(categories.begin(), categories.end(),
                                                              category) != categories.end();
                                           });
}

PolicyDecision Policy::Decide(absl::string_view principal, const ToolDefinition& definition) const {
  const bool reserved = absl::StartsWith(definition.tool.name(), kReserved);
  const Table& table = *table_.load(std::memory_order_acquire);
  for (const Rule& rule : table.rules) {
    if (reserved && !rule.reserved) continue;
    if (rule.Fits(principal, definition)) return {rule.action, rule.name};
  }
  return reserved ? PolicyDecision() : table.fallback;
}

absl::Status Policy::Check(absl::string_view principal, const ToolDefinition& definition) const {
  if (open()) return absl::OkStatus();
  const PolicyDecision decision = Decide(principal, definition);
  return decision.action == PolicyAction::kDeny
             ? PolicyDenied(definition.tool.name(), decision.rule)
             : absl::OkStatus();
}

ToolVisibility Policy::VisibilityOf(absl::string_view principal) const {
  if (!table_.load(std::memory_order_acquire)->hides) return {};
  return [this, principal = std::string(principal)](const ToolDefinition& definition) {
    return Decide(principal, definition).action != PolicyAction::kDeny;
  };
}

}  // namespace toolrack
