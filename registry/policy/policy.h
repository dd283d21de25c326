// Who may call which tool: rules by principal, name, category, namespace and risk.
#ifndef TOOLRACK_REGISTRY_POLICY_POLICY_H_
#define TOOLRACK_REGISTRY_POLICY_POLICY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "registry/snapshot.h"
#include "registry/tool_filter.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

enum class PolicyAction { kAllow, kDeny, kAsk };

struct PolicyDecision {
  PolicyAction action = PolicyAction::kAllow;
  absl::string_view rule = "";  // its name; lives as long as the Policy
};

// The first rule that fits decides; else the default. A rule fits when each of its lists is empty
// or has a member that fits. Reserved tools (`__…`) are met only by rules that name them so, and
// are allowed otherwise: without them nobody could read a result to its end.
//
// A denied tool is not there for whom it is denied: VisibilityOf hides it from lists, searches,
// watches and near names. Immutable, thread-safe. Linear in the number of rules.
class Policy {
 public:
  explicit Policy(const v1::PolicyConfig& config);  // checked (server/config.h)

  // Everything is allowed to everybody.
  bool open() const { return rules_.empty() && default_.action == PolicyAction::kAllow; }
  PolicyDecision Decide(absl::string_view principal, const ToolDefinition& definition) const;
  // POLICY_DENIED when the tool is denied.
  absl::Status Check(absl::string_view principal, const ToolDefinition& definition) const;
  // Which tools this principal may know of; the empty function when all. Refers to this.
  ToolVisibility VisibilityOf(absl::string_view principal) const;

 private:
  struct Rule {
    std::string name;
    std::vector<std::string> principals, tools, categories, namespaces;
    std::vector<v1::RiskLevel> risks;
    PolicyAction action = PolicyAction::kDeny;
    bool reserved = false;  // one of `tools` begins with `__`

    bool Fits(absl::string_view principal, const ToolDefinition& definition) const;
  };

  std::vector<Rule> rules_;
  PolicyDecision default_;
  bool hides_ = false;  // something may be denied to somebody
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_POLICY_POLICY_H_
