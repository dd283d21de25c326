#include "server/services/dispatch_unwrap.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/call/steps.h"
#include "registry/name.h"
#include "renderers/json_text.h"
#include "renderers/meta_tools.h"

namespace toolrack {
namespace {

// What the two forms say, with the JSON Pointers of where they say it.
struct Wrapped {
  const JsonText* name = nullptr;
  const JsonText* server = nullptr;
  const JsonText* tool = nullptr;
  const JsonText* arguments = nullptr;
};

std::vector<FieldFault> Read(const JsonText& object, Wrapped& out) {
  std::vector<FieldFault> faults;
  for (const JsonMember& member : object.members) {
    const JsonText** place = member.key == "name"                                ? &out.name
                             : member.key == "server"                            ? &out.server
                             : member.key == "tool"                              ? &out.tool
                             : member.key == "arguments" || member.key == "args" ? &out.arguments
                                                                                 : nullptr;
    const std::string pointer = absl::StrCat("/", ForMessage(member.key, 64));
    if (place == nullptr) {
      faults.push_back(
          {pointer, "is not taken here; the tool's own arguments go into `arguments`"});
    } else if (*place != nullptr) {
      faults.push_back({pointer, "is given twice"});
    } else if (place != &out.arguments && !member.value.is_string()) {
      faults.push_back({pointer, "must be a string"});
    } else {
      *place = &member.value;
    }
  }
  if (out.name == nullptr && out.tool == nullptr && faults.empty()) {
    faults.push_back({"/name", "is missing: the name of the tool to call"});
  } else if (out.name != nullptr && (out.tool != nullptr || out.server != nullptr)) {
    faults.push_back({"/tool", "stands beside `name`; give one of them"});
  }
  return faults;
}

std::string InnerName(const Registry& registry, const Wrapped& wrapped) {
  if (wrapped.name != nullptr) return wrapped.name->text;
  const std::string server = wrapped.server == nullptr ? "" : wrapped.server->text;
  std::string name = CanonicalName(server, wrapped.tool->text);
  // The tool may be named in full beside its server.
  if (!server.empty() && absl::StartsWith(wrapped.tool->text, server + "__") &&
      registry.Peek().Get(name) == nullptr) {
    return wrapped.tool->text;
  }
  return name;
}

bool IsWrapper(absl::string_view name) { return name == kToolCall || name == kCallMcp; }

}  // namespace

bool ToolCallUnwrapper::MayWrap(absl::string_view name) const { return IsWrapper(name); }

absl::Status ToolCallUnwrapper::Unwrap(absl::string_view principal,
                                       v1::CallToolRequest& request) const {
  if (!IsWrapper(request.name())) return absl::OkStatus();
  if (request.name() == kCallMcp && registry_.Peek().Get(kCallMcp) != nullptr) {
    return absl::OkStatus();
  }
  const ToolEntryPtr entry = registry_.Peek().Get(kToolCall);
  if (entry == nullptr) return absl::OkStatus();
  request.set_name(std::string(kToolCall));
  if (!policy_.Check(principal, *entry->definition).ok() || !CheckCallable(*entry, "").ok()) {
    return absl::OkStatus();
  }
  absl::StatusOr<ArgumentInput> input = TakeInput(kToolCall, request);
  if (!input.ok()) return input.status();
  if (input->form == ArgumentInput::Form::kText) {
    return RequestInvalid("input_text", input->text, "arguments_json for this tool");
  }
  const std::string text = std::move(input->text);
  if (text.size() > max_bytes_) {
    return ArgumentsTooLarge(kToolCall, "limits.max_arguments_bytes", max_bytes_, text.size());
  }
  const std::optional<JsonText> value = ParseJsonText(text);
  if (!value || !value->is_object()) {
    // The pipeline says what is wrong with it, and where.
    request.set_arguments_json(text);
    return absl::OkStatus();
  }
  Wrapped wrapped;
  std::vector<FieldFault> faults = Read(*value, wrapped);
  std::string inner = faults.empty() ? InnerName(registry_, wrapped) : "";
  if (faults.empty() && (IsReservedName(inner) || IsWrapper(inner))) {
    faults.push_back({wrapped.name != nullptr ? "/name" : "/tool",
                      absl::StrCat(ForMessage(inner),
                                   " is no tool to be called through this one: "
                                   "call it by itself")});
  }
  if (!faults.empty()) {
    return ArgumentsInvalid(kToolCall, entry->definition->tool.digest(), faults);
  }
  request.set_name(std::move(inner));
  if (wrapped.arguments != nullptr) {
    request.set_arguments_json(
        text.substr(wrapped.arguments->begin, wrapped.arguments->end - wrapped.arguments->begin));
  } else {
    request.set_arguments_json("{}");
  }
  return absl::OkStatus();
}

}  // namespace toolrack
