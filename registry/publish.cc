#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/base/status_macros.h"
#include "registry/name.h"
#include "registry/registry.h"
#include "registry/registry_state.h"

namespace toolrack {
namespace {

constexpr char kBuiltinKind[] = "builtin";

// "kind:id", for people and for errors.
std::string OwnerText(const Backend& backend) {
  return absl::StrCat(backend.kind(), ":", backend.id());
}

bool HasKey(const Backend& backend, const BackendKey& key) {
  return backend.id() == std::get<2>(key) && backend.principal() == std::get<1>(key) &&
         backend.kind() == std::get<0>(key);
}

// The in-process backend of the daemon itself: only its names may begin with `__`.
constexpr absl::string_view kOwnBackend = "toolrack";

// One tool of the set on its way in.
struct Incoming {
  CheckedTool checked;
  std::string taken_by;
  ToolEntryPtr existing;
  // Others have it too, so it stays what it is.
  bool replica = false;

  bool listed() const { return !checked.rejected; }
};

std::vector<Incoming> CheckAll(DefinitionChecker& checker, absl::string_view ns,
                               std::vector<v1::Tool> tools, bool own) {
  std::vector<Incoming> out;
  out.reserve(tools.size());
  absl::flat_hash_set<std::string> seen;
  for (v1::Tool& tool : tools) {
    Incoming& incoming = out.emplace_back();
    incoming.checked = checker.Check(ns, std::move(tool), own && ns.empty());
    if (!incoming.listed() || seen.insert(incoming.checked.bare_name).second) continue;
    incoming.checked.rejected = true;
    *incoming.checked.tool.add_findings() =
        MakeFinding("duplicate_name", "/name", v1::FINDING_SEVERITY_ERROR,
                    "The set has this name already; the first one counts.");
  }
  return out;
}

// Finds what is there under the same name, and whether it may be shared or replaced.
void Resolve(const Transaction& transaction, const BackendKey& key, absl::string_view ns,
             Incoming& incoming) {
  const v1::Tool& tool = incoming.checked.tool;
  incoming.existing = transaction.Find(tool.name());
  if (incoming.existing == nullptr) return;
  const ToolDefinition& there = *incoming.existing->definition;
  // `a__b` of no namespace and `b` of namespace `a` are one name and different tools.
  const bool same_place =
      there.tool.namespace_() == ns && there.bare_name == incoming.checked.bare_name;
  for (const auto& backend : incoming.existing->backends) {
    if (same_place && HasKey(*backend, key)) continue;
    if (same_place && backend->principal() == std::get<1>(key) &&
        there.tool.digest() == tool.digest()) {
      incoming.replica = true;
      continue;
    }
    incoming.checked.rejected = true;
    incoming.taken_by = OwnerText(*backend);
    *incoming.checked.tool.add_findings() = MakeFinding(
        "name_taken", "/name", v1::FINDING_SEVERITY_ERROR,
        absl::StrCat("The name ", tool.name(), " is taken by ", incoming.taken_by,
                     backend->principal() == std::get<1>(key) && same_place
                         ? " with another definition. Withdraw it there first, or rename this one."
                         : ". Choose another name or namespace."));
    return;
  }
}

PublishReport::Fault FaultOf(const Incoming& incoming) {
  PublishReport::Fault fault;
  fault.name = incoming.checked.bare_name;
  fault.owner = incoming.taken_by;
  for (const v1::Finding& finding : incoming.checked.tool.findings()) {
    if (finding.severity() == v1::FINDING_SEVERITY_ERROR) fault.findings.push_back(finding);
  }
  return fault;
}

PublishReport ReportOf(const std::vector<Incoming>& set, bool atomic) {
  PublishReport report;
  for (const Incoming& incoming : set) {
    if (!incoming.listed()) {
      report.rejected.push_back(FaultOf(incoming));
    } else if (incoming.checked.faulty) {
      (atomic ? report.rejected : report.quarantined).push_back(FaultOf(incoming));
    } else {
      report.accepted.push_back(incoming.checked.bare_name);
    }
  }
  if (atomic && !report.rejected.empty()) {
    report.refused = true;
    report.accepted.clear();
  }
  return report;
}

// Holds each sound definition against the one that its tool is known by.
void CheckPins(Pins& pins, std::vector<Incoming>& set, PublishReport& report) {
  for (Incoming& incoming : set) {
    CheckedTool& checked = incoming.checked;
    if (!incoming.listed() || checked.faulty) continue;
    std::string before;
    if (pins.Check(checked.tool.name(), checked.tool.digest(), &before) == Pins::Verdict::kFine) {
      continue;
    }
    const bool enforce = pins.mode() == PinMode::kEnforce;
    *checked.tool.add_findings() = MakeFinding(
        kPinRule, "", enforce ? v1::FINDING_SEVERITY_ERROR : v1::FINDING_SEVERITY_WARNING,
        absl::StrCat("The definition has changed since it was first seen: digest ",
                     checked.tool.digest().substr(0, 16), ", was ", before.substr(0, 16), ".",
                     enforce ? " It must be approved (ApproveTool) before it can be called." : ""));
    LogWarning(absl::StrCat("the definition of ", checked.tool.name(), " has changed: digest ",
                            checked.tool.digest(), ", was ", before,
                            enforce ? "; quarantined until approved" : ""));
    if (!enforce) continue;
    checked.faulty = true;
    report.quarantined.push_back(FaultOf(incoming));
    report.accepted.erase(
        std::remove(report.accepted.begin(), report.accepted.end(), checked.bare_name),
        report.accepted.end());
  }
}

// Whether `incoming` says just what `there` says. Fields that the registry fills in do not count,
// nor does a warning that it changed: it is given once.
bool SameDefinition(const v1::Tool& there, const v1::Tool& incoming) {
  if (there.digest() != incoming.digest()) return false;
  v1::Tool filled = incoming;
  for (const v1::Finding& finding : there.findings()) {
    if (finding.rule() != kPinRule || finding.severity() == v1::FINDING_SEVERITY_ERROR) continue;
    *filled.add_findings() = finding;
  }
  filled.set_revision(there.revision());
  filled.mutable_source()->set_kind(there.source().kind());
  filled.mutable_source()->set_id(there.source().id());
  // No maps in it, so equal messages have equal bytes.
  return filled.SerializeAsString() == there.SerializeAsString();
}

std::shared_ptr<const ToolDefinition> MakeDefinition(CheckedTool checked, const Backend& backend,
                                                     uint64_t revision) {
  auto definition = std::make_shared<ToolDefinition>();
  definition->bare_name = std::move(checked.bare_name);
  definition->owner_principal = backend.principal();
  definition->owner_id = OwnerText(backend);
  definition->quarantined = checked.faulty;
  definition->openapi = checked.openapi;
  definition->settings = checked.settings;
  definition->tool = std::move(checked.tool);
  definition->tool.set_revision(revision);
  definition->tool.mutable_source()->set_kind(backend.kind());
  definition->tool.mutable_source()->set_id(backend.id());
  return definition;
}

// Puts `backend` in the place of `old_object` (an earlier object of the same key, or null).
void Route(ToolEntry& entry, const std::shared_ptr<Backend>& backend, const Backend* old_object) {
  for (auto& there : entry.backends) {
    if (there.get() == old_object || there == backend) {
      there = backend;
      return;
    }
  }
  entry.backends.push_back(backend);
}

}  // namespace

absl::StatusOr<PublishReport> Registry::Publish(const std::shared_ptr<Backend>& backend,
                                                absl::string_view ns, std::vector<v1::Tool> tools,
                                                v1::PublishMode mode) {
  if (!ns.empty()) TR_RETURN_IF_ERROR(CheckNamespace(ns));
  State& state = *state_;
  const BackendKey key = KeyOf(*backend);
  const std::string ns_key(ns);
  // What the number alone refuses is refused before the costly checks.
  const bool counted = backend->kind() != kBuiltinKind;
  if (counted && state.may_register) {
    TR_RETURN_IF_ERROR(state.may_register(backend->principal(), ns));
  }
  if (counted && tools.size() > state.limits.max_tools_per_worker()) {
    return TooManyTools("limits.max_tools_per_worker", state.limits.max_tools_per_worker(),
                        tools.size());
  }
  if (tools.size() > state.limits.max_tools()) {
    return TooManyTools("limits.max_tools", state.limits.max_tools(), tools.size());
  }
  std::vector<Incoming> set =
      CheckAll(state.checker, ns, std::move(tools), !counted && backend->id() == kOwnBackend);

  Transaction transaction(&state);
  const auto owner = state.namespaces.find(ns_key);
  if (owner != state.namespaces.end() && owner->second.principal != backend->principal()) {
    return NameTaken(absl::StrCat("namespace ", ns.empty() ? "(none)" : ns),
                     absl::StrCat(owner->second.first, " of ", owner->second.principal));
  }
  for (Incoming& incoming : set) {
    if (incoming.listed()) Resolve(transaction, key, ns, incoming);
  }
  PublishReport report = ReportOf(set, mode != v1::PUBLISH_MODE_BEST_EFFORT);
  report.revision = transaction.base().revision();
  if (report.refused) return report;
  if (counted && state.pins != nullptr) CheckPins(*state.pins, set, report);

  // The set as it was and as it will be.
  const auto sets = state.sets.find(key);
  State::Set old_set;
  size_t tools_of_backend = 0;
  if (sets != state.sets.end()) {
    for (const auto& [name, other] : sets->second) tools_of_backend += other.names.size();
    const auto found = sets->second.find(ns_key);
    if (found != sets->second.end()) old_set = found->second;
  }
  State::Set new_set{backend, {}};
  size_t added = 0;
  for (const Incoming& incoming : set) {
    if (!incoming.listed()) continue;
    new_set.names.insert(incoming.checked.tool.name());
    if (incoming.existing == nullptr) ++added;
  }
  std::vector<std::string> gone;
  size_t removed = 0;
  for (const std::string& name : old_set.names) {
    if (new_set.names.contains(name)) continue;
    gone.push_back(name);
    const ToolEntryPtr entry = transaction.Find(name);
    if (entry != nullptr && entry->backends.size() == 1) ++removed;
  }

  const size_t of_backend = tools_of_backend - old_set.names.size() + new_set.names.size();
  if (counted && of_backend > state.limits.max_tools_per_worker() &&
      new_set.names.size() > old_set.names.size()) {
    return TooManyTools("limits.max_tools_per_worker", state.limits.max_tools_per_worker(),
                        of_backend);
  }
  const size_t total = transaction.base().size() + added - removed;
  if (total > state.limits.max_tools() && added > removed) {
    return TooManyTools("limits.max_tools", state.limits.max_tools(), total);
  }

  for (const std::string& name : gone) transaction.Withdraw(name, old_set.backend.get());
  for (Incoming& incoming : set) {
    if (!incoming.listed()) continue;
    const ToolEntryPtr& there = incoming.existing;
    const bool keep =
        there != nullptr &&
        (incoming.replica || SameDefinition(there->definition->tool, incoming.checked.tool));
    std::shared_ptr<ToolEntry> entry;
    if (keep) {
      entry = std::make_shared<ToolEntry>(*there);
    } else {
      entry = std::make_shared<ToolEntry>();
      entry->definition =
          MakeDefinition(std::move(incoming.checked), *backend, transaction.next_revision());
      if (!entry->definition->quarantined) {
        entry->schemas = std::make_shared<SchemaCache>(state.schemas, entry->definition);
      }
    }
    Route(*entry, backend, old_set.backend.get());
    if (keep && entry->backends == there->backends) {
      transaction.Refresh(entry->name());
    } else {
      transaction.Put(std::move(entry));
    }
  }

  transaction.KeepUntilUnlocked(old_set.backend);
  if (old_set.backend == nullptr && !new_set.names.empty()) {
    State::NamespaceOwner& claimed = state.namespaces[ns_key];
    if (claimed.sets++ == 0) {
      claimed.principal = backend->principal();
      claimed.first = OwnerText(*backend);
    }
  }
  if (new_set.names.empty()) {
    if (old_set.backend != nullptr) state.ForgetSet(key, ns_key);
  } else {
    state.sets[key].insert_or_assign(ns_key, std::move(new_set));
  }
  report.revision = transaction.Commit();
  return report;
}

void Registry::State::ForgetSet(const BackendKey& key, const std::string& ns) {
  const auto of_backend = sets.find(key);
  of_backend->second.erase(ns);
  if (of_backend->second.empty()) sets.erase(of_backend);
  const auto owner = namespaces.find(ns);
  if (--owner->second.sets == 0) namespaces.erase(owner);
}

void Registry::Remove(const std::shared_ptr<Backend>& backend) {
  Transaction transaction(state_.get());
  const BackendKey key = KeyOf(*backend);
  const auto found = state_->sets.find(key);
  if (found == state_->sets.end()) return;
  std::vector<std::string> namespaces;
  for (const auto& [ns, set] : found->second) {
    if (set.backend != backend) continue;
    namespaces.push_back(ns);
    for (const std::string& name : set.names) transaction.Withdraw(name, backend.get());
  }
  for (const std::string& ns : namespaces) state_->ForgetSet(key, ns);
  transaction.Commit();
}

void Registry::RefreshState(const std::shared_ptr<Backend>& backend) {
  Transaction transaction(state_.get());
  const auto found = state_->sets.find(KeyOf(*backend));
  if (found == state_->sets.end()) return;
  for (const auto& [ns, set] : found->second) {
    if (set.backend != backend) continue;
    for (const std::string& name : set.names) transaction.Refresh(name);
  }
  transaction.Commit();
}

}  // namespace toolrack
