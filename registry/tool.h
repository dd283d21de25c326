// The tool as the rack runs it: what a call carries, what executes it, and where it lives.
//
// v1::Tool is the definition (ToolMeta is its name in C++), v1::ToolResult the outcome: the protos
// are the value types, there is no second set.
#ifndef TOOLRACK_REGISTRY_TOOL_H_
#define TOOLRACK_REGISTRY_TOOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "registry/base/stop.h"
#include "toolrack/v1/result.pb.h"
#include "toolrack/v1/tool.pb.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

using ToolMeta = v1::Tool;
class ToolEntry;

// Who and what a call belongs to.
struct CallContext {
  std::string call_id;
  std::string batch_id;
  uint32_t call_index = 0;
  std::string session_id;
  std::string principal;
  std::string traceparent;  // W3C, may be empty
  uint32_t attempt = 1;
  // Time left when the call was handed over; InfiniteDuration: no limit. The pipeline enforces it,
  // tools may look.
  absl::Duration remaining = absl::InfiniteDuration();
};

// Takes what a running call tells. Thread-safe; calls after the end are dropped.
class CallReporter {
 public:
  virtual ~CallReporter() = default;
  virtual void OnProgress(v1::Progress progress) = 0;
  virtual void OnLog(v1::LogLine line) = 0;
  virtual void OnContent(v1::Content content) = 0;
};

// One call, on its way to a tool. Everything in it stays valid until `done` was called.
struct ToolCall {
  std::shared_ptr<const ToolEntry> tool;
  // A JSON object, validated; byte for byte as the caller wrote it.
  std::string arguments_json;
  // The same, parsed. Never null on the way to a tool.
  std::shared_ptr<const nlohmann::json> arguments;
  CallContext context;
  // Stops when the caller left, the time is up, or an administrator ended the call. The pipeline
  // answers the caller at once in any case; a tool that heeds it saves work.
  StopToken stop;
  std::shared_ptr<CallReporter> reporter;  // never null
};

// Ends a call: exactly once, from any thread, also before the starting function returned.
//
// A result, `is_error` included, means the tool ran. A status means that the rack could not run it
// to its end: errors.h BackendUnavailable (not executed, may be retried), OutcomeUnknown (lost in
// mid-air); any other status is the tool's own: INVALID_ARGUMENT becomes a result with
// TOOL_INVALID_ARGUMENT, INTERNAL one with TOOL_INTERNAL, the rest EXECUTION_FAILED.
using ToolDone = absl::AnyInvocable<void(absl::StatusOr<v1::ToolResult>)>;

// Executes; knows nothing of its name, description or schema. May hold state. Execute is called in
// parallel from several threads and must not block: a tool that blocks is wrapped by
// MakeBlockingTool (typed_tool.h). An exception out of Execute counts as TOOL_INTERNAL.
class Tool {
 public:
  virtual ~Tool() = default;
  virtual void Execute(ToolCall call, ToolDone done) = 0;
  // The inner state for hooks: a JSON text, or empty. Thread-safe.
  virtual std::string StateJson() const { return ""; }
};

// Gives definition and instance together, so that they cannot disagree. Called once, eagerly, at
// registration; for session-scoped tools also once for each session, when it opens.
using ToolFactory = std::function<std::pair<ToolMeta, std::shared_ptr<Tool>>()>;

// Where tools run: in process, on a worker's stream, later MCP, gRPC and command tools. They differ
// only here.
//
// Thread-safe. Lives as long as anybody holds it: entries and calls do.
class Backend {
 public:
  virtual ~Backend() = default;

  // `builtin`, `worker` …: ToolSource.kind.
  virtual const std::string& kind() const = 0;
  // Unique within kind and principal, stable over reconnects, e.g. the worker's name:
  // ToolSource.id.
  virtual const std::string& id() const = 0;
  // Whose it is.
  virtual const std::string& principal() const = 0;

  // Starts a call and returns at once, without blocking. `done` runs exactly once (see ToolDone),
  // possibly before Start returns. Returns a number for Cancel, or 0 when the call has ended
  // already.
  virtual uint64_t Start(ToolCall call, ToolDone done) = 0;
  // Tells the tool to stop. `done` still runs, with whatever comes of it; nobody waits for it.
  // Unknown numbers are ignored.
  virtual void Cancel(uint64_t number, StopReason reason) = 0;
  // Calls given to it and not yet answered: the least loaded of several replicas gets the next
  // call.
  virtual uint32_t in_flight() const = 0;
  // False: it takes no new calls just now (lost, draining); a replica is preferred, else
  // BackendUnavailable.
  virtual bool available() const = 0;
  // The inner state of the instance that a call of this tool in this session (empty: none) uses, as
  // far as it is known here: a JSON text, or empty. For hooks.
  virtual std::string StateJson(const ToolEntry&, const std::string& /*session_id*/) const {
    return "";
  }
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TOOL_H_
