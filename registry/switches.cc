// What an administrator says of single tools: enabled, disabled, approved.
#include <algorithm>
#include <utility>

#include "registry/base/errors.h"
#include "registry/registry.h"
#include "registry/registry_state.h"

namespace toolrack {

absl::StatusOr<ToolEntryPtr> Registry::ApproveTool(absl::string_view name,
                                                   absl::string_view digest) {
  {
    Transaction transaction(state_.get());
    if (const ToolEntryPtr there = transaction.Find(name)) {
      const v1::Tool& tool = there->definition->tool;
      if (tool.digest() != digest) return DefinitionChanged(name, digest, tool.digest());
      if (state_->pins != nullptr) state_->pins->Approve(name, digest);
      auto definition = std::make_shared<ToolDefinition>();
      definition->tool = tool;
      definition->bare_name = there->definition->bare_name;
      definition->owner_principal = there->definition->owner_principal;
      definition->owner_id = there->definition->owner_id;
      definition->settings = there->definition->settings;
      auto& findings = *definition->tool.mutable_findings();
      findings.erase(std::remove_if(findings.begin(), findings.end(),
                                    [](const v1::Finding& f) { return f.rule() == kPinRule; }),
                     findings.end());
      if (findings.size() == tool.findings_size()) return there;
      definition->quarantined =
          std::any_of(findings.begin(), findings.end(), [](const v1::Finding& finding) {
            return finding.severity() == v1::FINDING_SEVERITY_ERROR;
          });
      definition->tool.set_revision(transaction.next_revision());
      auto entry = std::make_shared<ToolEntry>(*there);
      entry->definition = definition;
      if (!definition->quarantined && entry->schemas == nullptr) {
        entry->schemas = std::make_shared<SchemaCache>(state_->schemas, entry->definition);
      }
      transaction.Put(std::move(entry));
      ToolEntryPtr approved = transaction.Find(name);
      transaction.Commit();
      return approved;
    }
  }
  return ToolNotFound(name, Nearest(name));
}

void Registry::ForgetHistory() {
  Transaction transaction(state_.get());
  transaction.BeginAnew();
}

absl::StatusOr<std::vector<ToolEntryPtr>> Registry::SetToolEnabled(absl::string_view name,
                                                                   bool enabled) {
  {
    Transaction transaction(state_.get());
    if (transaction.Find(name) != nullptr) {
      state_->name_switches.insert_or_assign(std::string(name), enabled);
      std::vector<ToolEntryPtr> changed;
      if (ToolEntryPtr entry = transaction.Refresh(name)) changed.push_back(std::move(entry));
      transaction.Commit();
      return changed;
    }
  }
  return ToolNotFound(name, Nearest(name));
}

std::vector<ToolEntryPtr> Registry::SetCategoryEnabled(absl::string_view category, bool enabled) {
  Transaction transaction(state_.get());
  if (enabled) {
    state_->categories_off.erase(std::string(category));
  } else {
    state_->categories_off.insert(std::string(category));
  }
  std::vector<ToolEntryPtr> carriers;
  transaction.base().ForEach("", [&](const ToolEntryPtr& entry) {
    const auto& categories = entry->definition->tool.categories();
    if (std::find(categories.begin(), categories.end(), category) != categories.end()) {
      carriers.push_back(entry);
    }
    return true;
  });
  std::vector<ToolEntryPtr> changed;
  for (const ToolEntryPtr& entry : carriers) {
    if (!enabled) {
      const auto named = state_->name_switches.find(entry->name());
      if (named != state_->name_switches.end() && named->second) {
        state_->name_switches.erase(named);
      }
    }
    if (ToolEntryPtr now = transaction.Refresh(entry->name())) changed.push_back(std::move(now));
  }
  transaction.Commit();
  return changed;
}

}  // namespace toolrack
