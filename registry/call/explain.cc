#include "registry/call/explain.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/call/steps.h"

namespace toolrack {
namespace {

class Story {
 public:
  void Pass(const char* name, std::string detail) {
    Add(name, v1::EXPLAIN_OUTCOME_PASS, std::move(detail));
  }
  void Skip(const char* name, std::string detail) {
    Add(name, v1::EXPLAIN_OUTCOME_SKIP, std::move(detail));
  }
  v1::ExplainCallResponse Refuse(const char* name, const absl::Status& status) {
    const std::string message(status.message());
    Add(name, v1::EXPLAIN_OUTCOME_REFUSE, message.substr(0, message.find('\n')));
    v1::CallVerdict& verdict = *response_.mutable_verdict();
    verdict.set_code(static_cast<int32_t>(status.code()));
    verdict.set_reason(std::string(ReasonName(ReasonOf(status))));
    verdict.set_message(message);
    for (const FieldFault& fault : FaultsOf(status)) {
      v1::ArgumentFault& out = *verdict.add_faults();
      out.set_pointer(fault.field);
      out.set_message(fault.description);
    }
    return std::move(response_);
  }
  v1::ExplainCallResponse Run() {
    response_.mutable_verdict()->set_would_run(true);
    return std::move(response_);
  }

 private:
  void Add(const char* name, v1::ExplainOutcome outcome, std::string detail) {
    v1::ExplainStep& step = *response_.add_steps();
    step.set_name(name);
    step.set_outcome(outcome);
    step.set_detail(std::move(detail));
  }

  v1::ExplainCallResponse response_;
};

std::string BackendName(const Backend& backend) {
  return absl::StrCat(backend.kind(), ":", backend.id());
}

std::string FitText(const Arguments& arguments) {
  std::string text = "the arguments fit the input schema";
  for (size_t i = 0; i < arguments.repairs.size(); ++i) {
    const v1::Repair& repair = arguments.repairs[i];
    absl::StrAppend(&text, i == 0 ? ", once mended: " : ", ", repair.pointer(), " ", repair.kind());
  }
  return text;
}

absl::Status CheckGate(const CallLimits& limits, const GateSpec& gate) {
  if (!gate.limits()) return absl::OkStatus();
  const Gates::Load load = limits.gates()->Look(gate.key);
  const bool full = load.inside >= gate.allowed && load.waiting >= gate.max_waiting;
  return full ? QueueFull("limits.max_queue_per_tool", gate.max_waiting, gate.scope)
              : absl::OkStatus();
}

std::string LoadOf(const CallLimits& limits, const GateSpec& gate) {
  if (!gate.limits()) return "no limit of its own";
  const Gates::Load load = limits.gates()->Look(gate.key);
  return absl::StrCat(load.inside, " of ", gate.allowed, " running, ", load.waiting, " waiting",
                      load.inside >= gate.allowed ? ": it would wait" : "");
}

// As CallPipeline::State::Route, without becoming a breaker's probe.
absl::StatusOr<std::shared_ptr<Backend>> ChooseClosedBackend(const CallLimits& limits,
                                                             const ToolEntry& entry,
                                                             std::vector<const Backend*>& tried) {
  while (true) {
    absl::StatusOr<std::shared_ptr<Backend>> backend = ChooseBackend(entry, tried);
    if (!backend.ok()) return backend;
    const absl::Status open = limits.CheckBackend(entry.name(), **backend);
    if (open.ok()) return backend;
    tried.push_back(backend->get());
    if (!HasFresh(entry, tried)) return open;
  }
}

}  // namespace

v1::ExplainCallResponse ExplainSteps(const ExplainParts& parts, v1::CallToolRequest request,
                                     absl::string_view principal) {
  Story story;
  absl::Status fault = parts.table.Check(principal);
  if (fault.ok()) fault = parts.limits.CheckRate(principal);
  if (!fault.ok()) return story.Refuse("limits", fault);
  story.Pass("limits", absl::StrCat(parts.table.in_flight(), " calls in flight"));

  const Registry& registry = parts.registry;
  fault = CheckRequest(request);
  if (fault.ok() && !request.session_id().empty()) {
    fault = parts.limits.CheckSession(request.session_id());
  }
  if (!fault.ok()) return story.Refuse("lookup", fault);
  const FoundTool found = FindTool(registry, request.name());
  if (found.entry == nullptr) {
    return story.Refuse("lookup", NotFoundWithNearest(registry, request.name()));
  }
  const ToolEntry& entry = *found.entry;
  const v1::Tool& tool = entry.definition->tool;
  fault = CheckCallable(entry, request.expected_digest());
  if (!fault.ok()) return story.Refuse("lookup", fault);
  story.Pass("lookup", absl::StrCat("revision ", found.revision, ", digest ", tool.digest()));
  story.Skip("permission", "no rules in this build: every caller may call every tool");

  absl::StatusOr<ArgumentInput> input = TakeInput(entry.name(), request);
  if (!input.ok()) return story.Refuse("arguments", input.status());
  const bool coerce = request.has_coerce() ? request.coerce() : parts.coerce;
  absl::StatusOr<Arguments> arguments =
      ReadArguments(tool, *std::move(input), parts.argument_limits, coerce);
  if (!arguments.ok()) return story.Refuse("arguments", arguments.status());
  story.Pass("arguments", absl::StrCat("one JSON object of ", arguments->text.size(), " bytes"));

  fault = ValidateArguments(entry, coerce, *arguments);
  if (!fault.ok()) return story.Refuse("validation", fault);
  story.Pass("validation", FitText(*arguments));
  story.Skip("hooks", "none attached");
  story.Skip("approval", "none asked for");

  fault = parts.limits.CheckTool(entry.name());
  if (fault.ok()) fault = CheckGate(parts.limits, parts.limits.GateOf(tool));
  if (!fault.ok()) return story.Refuse("capacity", fault);
  story.Pass("capacity", LoadOf(parts.limits, parts.limits.GateOf(tool)));

  std::vector<const Backend*> tried;
  const absl::StatusOr<std::shared_ptr<Backend>> backend =
      ChooseClosedBackend(parts.limits, entry, tried);
  if (!backend.ok()) return story.Refuse("route", backend.status());
  const GateSpec gate = parts.limits.GateOf(**backend);
  fault = CheckGate(parts.limits, gate);
  if (!fault.ok()) return story.Refuse("route", fault);
  story.Pass("route", absl::StrCat(BackendName(**backend), ", one of ", entry.backends.size(),
                                   " that serve it, ", (*backend)->in_flight(), " in flight"));
  return story.Run();
}

}  // namespace toolrack
