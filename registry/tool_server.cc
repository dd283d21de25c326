#include "registry/tool_server.h"

#include <exception>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "registry/arguments.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/in_process_backend.h"
#include "registry/name.h"
#include "registry/outcome.h"

namespace toolrack {

struct ToolServerHandle::Shared {
  std::unique_ptr<Registry> own;
  Registry* registry = nullptr;
  std::string ns;
  std::shared_ptr<InProcessBackend> backend;

  // Held over a publish, so that sets reach the registry in the order of the changes. Nothing that
  // the registry calls comes back here.
  absl::Mutex mu;
  std::map<std::string, ToolMeta> definitions ABSL_GUARDED_BY(mu);  // by bare name
  bool locked ABSL_GUARDED_BY(mu) = false;
  bool registrar_taken ABSL_GUARDED_BY(mu) = false;

  absl::StatusOr<PublishReport> Publish(const std::map<std::string, ToolMeta>& set) {
    std::vector<v1::Tool> tools;
    tools.reserve(set.size());
    for (const auto& [name, tool] : set) tools.push_back(tool);
    return registry->Publish(backend, ns, std::move(tools), v1::PUBLISH_MODE_ATOMIC);
  }
};

namespace {

using Made = std::pair<ToolMeta, std::shared_ptr<Tool>>;

absl::Status LockedError() {
  return absl::FailedPreconditionError(
      "The tool server is locked: no tool can be registered or unregistered any more. Register "
      "before Lock().");
}

absl::StatusOr<Made> Make(const ToolFactory& factory) {
  if (!factory) return DefinitionInvalid("(no name)", "", "no_factory", "the factory is empty");
  Made made;
  try {
    made = factory();
  } catch (const std::exception& error) {
    return DefinitionInvalid("(no name)", "", "factory_threw",
                             absl::StrCat("the factory threw: ", ForMessage(error.what())));
  }
  if (made.second == nullptr) {
    return DefinitionInvalid(made.first.name(), "", "no_instance",
                             "the factory gave a definition without an instance");
  }
  return made;
}

// One more instance, whose definition must be the one that is registered: other arguments would
// reach a tool that was made for these.
InstanceMaker MakerOf(ToolFactory factory, const ToolMeta& registered) {
  return [factory = std::move(factory), name = registered.name(),
          schema = registered.input_schema()]() -> absl::StatusOr<std::shared_ptr<Tool>> {
    Made made = factory();
    if (made.first.name() != name || made.first.input_schema() != schema) {
      return absl::InternalError("it gave another definition than at registration");
    }
    return std::move(made.second);
  };
}

void AddFault(const PublishReport::Fault& fault, std::vector<absl::Status>& out) {
  for (const v1::Finding& finding : fault.findings) {
    if (finding.rule() == "name_taken") {
      out.push_back(NameTaken(fault.name, fault.owner));
    } else if (finding.pointer() == "/name") {
      out.push_back(NameInvalid(fault.name, finding.message()));
    } else {
      out.push_back(
          DefinitionInvalid(fault.name, finding.pointer(), finding.rule(), finding.message()));
    }
  }
}

// One fault is itself; several are one status that names them all.
absl::Status Together(const std::vector<absl::Status>& faults) {
  if (faults.size() == 1) return faults.front();
  std::string message = absl::StrCat("Nothing was registered, ", faults.size(), " faults:");
  std::vector<FieldFault> fields;
  for (const absl::Status& fault : faults) {
    absl::StrAppend(&message, "\n", fault.message());
    const ErrorMetadata metadata = MetadataOf(fault);
    auto name = metadata.find("tool");
    if (name == metadata.end()) name = metadata.find("name");
    fields.push_back({name == metadata.end() ? "" : name->second, std::string(fault.message())});
  }
  absl::Status status = MakeError(faults.front().code(), ReasonOf(faults.front()), message,
                                  MetadataOf(faults.front()));
  AttachFaults(status, fields);
  return status;
}

}  // namespace

ToolServerHandle::ToolServerHandle(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

std::optional<std::pair<ToolMeta, std::shared_ptr<Tool>>> ToolServerHandle::Get(
    absl::string_view name) const {
  const ToolEntryPtr entry = shared_->registry->Peek().Get(name);
  if (entry == nullptr || entry->definition->tool.namespace_() != shared_->ns) return std::nullopt;
  std::shared_ptr<Tool> tool = shared_->backend->Find(entry->definition->bare_name);
  if (tool == nullptr) return std::nullopt;
  return std::make_pair(entry->definition->tool, std::move(tool));
}

void ToolServerHandle::Call(absl::string_view name, std::string arguments_json,
                            ToolDone done) const {
  ToolEntryPtr entry = shared_->registry->Peek().Get(name);
  if (entry == nullptr || entry->definition->tool.namespace_() != shared_->ns ||
      shared_->backend->Find(entry->definition->bare_name) == nullptr) {
    done(ToolNotFound(name, shared_->registry->Nearest(name)));
    return;
  }
  if (entry->state == v1::TOOL_STATE_DISABLED) {
    done(ToolDisabled(name));
    return;
  }
  ArgumentInput input;
  input.text = std::move(arguments_json);
  absl::StatusOr<Arguments> arguments =
      ReadArguments(entry->definition->tool, std::move(input), ArgumentLimits(), false);
  absl::Status fault =
      arguments.ok() ? ValidateArguments(*entry, false, *arguments) : arguments.status();
  if (!fault.ok()) {
    done(std::move(fault));
    return;
  }
  ToolCall call;
  call.tool = std::move(entry);
  call.arguments_json = std::move(arguments->text);
  call.arguments = std::move(arguments->value);
  call.context.call_id = QuickId();
  call.context.principal = shared_->backend->principal();
  call.reporter = SilentReporter();
  shared_->backend->Start(std::move(call),
                          [done = std::move(done)](absl::StatusOr<v1::ToolResult> outcome) mutable {
                            if (!outcome.ok() && !IsBackendFailure(outcome.status())) {
                              outcome = ResultFromStatus(outcome.status());
                            }
                            done(std::move(outcome));
                          });
}

std::vector<ToolMeta> ToolServerHandle::DefinitionsSorted() const {
  std::vector<ToolMeta> out;
  absl::MutexLock lock(&shared_->mu);
  const Snapshot& snapshot = shared_->registry->Peek();
  for (const auto& [bare_name, definition] : shared_->definitions) {
    const ToolEntry* entry = snapshot.Find(CanonicalName(shared_->ns, bare_name));
    if (entry != nullptr) out.push_back(entry->definition->tool);
  }
  return out;
}

ToolRegistrar::ToolRegistrar(std::shared_ptr<ToolServerHandle::Shared> shared)
    : shared_(std::move(shared)) {}
ToolRegistrar::ToolRegistrar(ToolRegistrar&&) noexcept = default;
ToolRegistrar::~ToolRegistrar() = default;

absl::Status ToolRegistrar::Register(ToolFactory factory) {
  std::vector<ToolFactory> one;
  one.push_back(std::move(factory));
  return RegisterAll(std::move(one));
}

absl::Status ToolRegistrar::RegisterAll(std::vector<ToolFactory> factories) {
  ToolServerHandle::Shared& shared = *shared_;
  std::vector<absl::Status> faults;
  std::vector<Made> made;
  std::vector<InstanceMaker> makers;  // beside `made`; empty for shared tools
  for (ToolFactory& factory : factories) {
    absl::StatusOr<Made> one = Make(factory);
    if (one.ok()) {
      const bool per_session = one->first.scope() == v1::TOOL_SCOPE_SESSION;
      makers.push_back(per_session ? MakerOf(std::move(factory), one->first) : nullptr);
      made.push_back(*std::move(one));
    } else {
      faults.push_back(one.status());
    }
  }

  absl::MutexLock lock(&shared.mu);
  if (shared.locked) return LockedError();
  std::map<std::string, ToolMeta> set = shared.definitions;
  for (const Made& one : made) {
    if (!set.emplace(one.first.name(), one.first).second) {
      faults.push_back(NameTaken(CanonicalName(shared.ns, one.first.name()),
                                 absl::StrCat("builtin:", shared.backend->id())));
    }
  }
  // The instances first: a tool can be called from the moment it is published.
  std::vector<std::string> added;
  for (size_t i = 0; i < made.size(); ++i) {
    const std::string& name = made[i].first.name();
    if (shared.backend->Add(name, made[i].second, std::move(makers[i]))) added.push_back(name);
  }
  absl::StatusOr<PublishReport> report = shared.Publish(set);
  if (!report.ok()) {
    faults.push_back(report.status());
  } else {
    for (const PublishReport::Fault& fault : report->rejected) AddFault(fault, faults);
  }
  if (faults.empty()) {
    shared.definitions = std::move(set);
    return absl::OkStatus();
  }
  for (const std::string& name : added) shared.backend->Remove(name);
  return Together(faults);
}

absl::Status ToolRegistrar::Unregister(absl::string_view name) {
  ToolServerHandle::Shared& shared = *shared_;
  absl::MutexLock lock(&shared.mu);
  if (shared.locked) return LockedError();
  std::map<std::string, ToolMeta> set = shared.definitions;
  for (auto at = set.begin(); at != set.end(); ++at) {
    if (CanonicalName(shared.ns, at->first) != name) continue;
    const std::string bare_name = at->first;
    set.erase(at);
    const absl::StatusOr<PublishReport> report = shared.Publish(set);
    if (!report.ok()) return report.status();
    shared.definitions = std::move(set);
    shared.backend->Remove(bare_name);
    return absl::OkStatus();
  }
  return ToolNotFound(name, shared.registry->Nearest(name));
}

void ToolRegistrar::Lock() {
  absl::MutexLock lock(&shared_->mu);
  shared_->locked = true;
}

ToolServer::ToolServer() : ToolServer(nullptr, "local", "") {}

ToolServer::ToolServer(Registry* registry, std::string id, std::string ns)
    : shared_(std::make_shared<ToolServerHandle::Shared>()) {
  if (registry == nullptr) {
    shared_->own = std::make_unique<Registry>(RegistryOptions());
    registry = shared_->own.get();
  }
  shared_->registry = registry;
  shared_->ns = std::move(ns);
  shared_->backend = InProcessBackend::Make(std::move(id), "toolrack", shared_->ns);
}

ToolServer::~ToolServer() {
  // A rack of its own lives on with its handles.
  if (shared_->own == nullptr) shared_->registry->Remove(shared_->backend);
}

ToolServerHandle ToolServer::handle() const { return ToolServerHandle(shared_); }

absl::StatusOr<ToolRegistrar> ToolServer::TakeRegistrar() {
  absl::MutexLock lock(&shared_->mu);
  if (shared_->registrar_taken) {
    return absl::FailedPreconditionError(
        "The registrar of this tool server was taken already; there is only one.");
  }
  shared_->registrar_taken = true;
  return ToolRegistrar(shared_);
}

Registry& ToolServer::registry() { return *shared_->registry; }
SessionHost* ToolServer::session_host() { return shared_->backend.get(); }

}  // namespace toolrack
