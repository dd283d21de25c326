// In-process tools for C++ programs, and the daemon's own: ToolServer owns the map,
// ToolServerHandle looks up and calls, ToolRegistrar registers. Whoever has only a handle cannot
// register.
#ifndef TOOLRACK_REGISTRY_TOOL_SERVER_H_
#define TOOLRACK_REGISTRY_TOOL_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/registry.h"
#include "registry/tool.h"

namespace toolrack {

class InProcessBackend;
class SessionHost;

// A cheap shared reference to the tools of one server. Thread-safe. May outlive the server, not the
// registry it was given. Names are canonical.
class ToolServerHandle {
 public:
  // The definition and the instance; nullopt when there is none.
  std::optional<std::pair<ToolMeta, std::shared_ptr<Tool>>> Get(absl::string_view name) const;
  // Validates, runs, answers through `done` (exactly once, on any thread). TOOL_NOT_FOUND,
  // ARGUMENTS_*; a tool that ran and failed is a result with is_error.
  void Call(absl::string_view name, std::string arguments_json, ToolDone done) const;
  // All definitions, sorted by name: the same set gives the same bytes.
  std::vector<ToolMeta> DefinitionsSorted() const;

 private:
  friend class ToolServer;
  friend class ToolRegistrar;
  struct Shared;
  explicit ToolServerHandle(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
};

// The right to register. Move-only; one for each ToolServer. Lock() ends it: registration is
// possible only while the set is mutable. Thread-safe.
class ToolRegistrar {
 public:
  ToolRegistrar(ToolRegistrar&&) noexcept;
  ~ToolRegistrar();
  // Calls the factory once, now. NAME_TAKEN (DuplicateName), NAME_INVALID, DEFINITION_INVALID. Not
  // on a gRPC thread: schemas are compiled.
  absl::Status Register(ToolFactory factory);
  // All or none; the status names every fault, one a line, and has them as field violations.
  absl::Status RegisterAll(std::vector<ToolFactory> factories);
  // TOOL_NOT_FOUND.
  absl::Status Unregister(absl::string_view name);
  // From now on every change is refused with FAILED_PRECONDITION.
  void Lock();

 private:
  friend class ToolServer;
  explicit ToolRegistrar(std::shared_ptr<ToolServerHandle::Shared> shared);
  std::shared_ptr<ToolServerHandle::Shared> shared_;
};

// Owns a set of in-process tools and publishes it to a registry under one namespace. Thread-safe.
class ToolServer {
 public:
  // A rack of its own.
  ToolServer();
  // Into this registry (outlives this), as backend `builtin:ID`, under namespace `ns` (empty:
  // canonical name = name).
  ToolServer(Registry* registry, std::string id, std::string ns);
  ~ToolServer();

  ToolServerHandle handle() const;
  // Once; a second call gives FAILED_PRECONDITION.
  absl::StatusOr<ToolRegistrar> TakeRegistrar();
  Registry& registry();
  // For SessionTable::AddHost: session-scoped tools get their instances by it. As long as this.
  SessionHost* session_host();

 private:
  std::shared_ptr<ToolServerHandle::Shared> shared_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TOOL_SERVER_H_
