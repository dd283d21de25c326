// Who may call which tool: rules by principal, name, category, namespace and risk.
#ifndef TOOLRACK_REGISTRY_POLICY_POLICY_H_
#define TOOLRACK_REGISTRY_POLICY_POLICY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
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
// watches and near names. Thread-safe. Linear in the number of rules.
class Policy {
 public:
  explicit Policy(const v1::PolicyConfig& config);  // checked (server/config.h)

  // These rules instead, for whatever is asked from now on. The earlier ones are kept: decisions
  // refer to them, and reloads are rare.
  void Reload(const v1::PolicyConfig& config);
  // Grows by each Reload: for what was made for a principal and is kept.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // Everything is allowed to everybody.
  bool open() const {
    const Table& table = *table_.load(std::memory_order_acquire);
    return table.rules.empty() && table.fallback.action == PolicyAction::kAllow;
  }
  PolicyDecision Decide(absl::string_view principal, const ToolDefinition& definition) const;
  // POLICY_DENIED when the tool is denied.
  absl::Status Check(absl::string_view principal, const ToolDefinition& definition) const;
  // Which tools this principal may know of; the empty function when all. Refers to this, and
  // follows a Reload, unless it is empty.
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

  struct Table {
    explicit Table(const v1::PolicyConfig& config);
    std::vector<Rule> rules;
    PolicyDecision fallback;
    bool hides = false;  // something may be denied to somebody
  };

  std::atomic<const Table*> table_;
  std::atomic<uint64_t> version_{0};
  absl::Mutex mu_;
  std::vector<std::unique_ptr<const Table>> tables_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_POLICY_POLICY_H_
