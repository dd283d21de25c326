#include "renderers/output.h"

#include "absl/strings/str_cat.h"
#include "renderers/meta_tools.h"

namespace toolrack {

void OutputCollector::Text(absl::string_view text) {
  const int last = out_.events_size() - 1;
  v1::OutputEvent& event =
      last >= 0 && out_.events(last).has_text() ? *out_.mutable_events(last) : *out_.add_events();
  absl::StrAppend(event.mutable_text(), text);
}

void OutputCollector::Reasoning(absl::string_view text) {
  const int last = out_.events_size() - 1;
  v1::OutputEvent& event = last >= 0 && out_.events(last).has_reasoning()
                               ? *out_.mutable_events(last)
                               : *out_.add_events();
  absl::StrAppend(event.mutable_reasoning(), text);
}

void OutputCollector::CallBegin(const v1::OutputCallBegin& begin) {
  v1::OutputCall& call = *out_.add_events()->mutable_call();
  call.set_call_id(begin.call_id());
  call.set_name(begin.name());
  call.set_wire_name(begin.wire_name());
  call.set_namespace_(begin.namespace_());
}

void OutputCollector::Arguments(absl::string_view piece) {
  absl::StrAppend(
      out_.mutable_events(out_.events_size() - 1)->mutable_call()->mutable_arguments_json(), piece);
}

void OutputCollector::CallEnd(const v1::OutputCallEnd& end) {
  out_.mutable_events(out_.events_size() - 1)->mutable_call()->set_complete(end.complete());
}

void OutputCollector::Malformed(const v1::OutputMalformed& malformed) {
  const int last = out_.events_size() - 1;
  const bool of_last = last >= 0 && out_.events(last).has_call() &&
                       !out_.events(last).call().complete() &&
                       out_.events(last).call().call_id() == malformed.call_id();
  *(of_last ? out_.mutable_events(last) : out_.add_events())->mutable_malformed() = malformed;
}

void OutputCollector::Repair(const v1::OutputRepair& repair) { *out_.add_repairs() = repair; }

OfferedTools::OfferedTools(const RendererSpec& spec, ToolSpan tools) : dialect_(spec.dialect) {
  by_wire_.reserve(tools.size() + 8);
  for (const v1::Tool* tool : {&ToolSearchDefinition(), &ToolDescribeDefinition(),
                               &ToolCallDefinition(), &ResultReadDefinition()}) {
    by_wire_[tool->name()] = tool;
  }
  // First the true names, so that a wire name, which counts more, replaces one of them.
  for (const v1::Tool* tool : tools) by_wire_[tool->name()] = tool;
  for (const v1::Tool* tool : tools) by_wire_[WireNameFor(*dialect_, tool->name())] = tool;
  by_wire_.try_emplace(std::string(kCallMcp), &ToolCallDefinition());
}

const v1::Tool* OfferedTools::Find(absl::string_view wire_name) const {
  const auto at = by_wire_.find(wire_name);
  return at == by_wire_.end() ? nullptr : at->second;
}

}  // namespace toolrack
