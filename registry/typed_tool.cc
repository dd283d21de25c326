#include "registry/typed_tool.h"

#include "absl/strings/str_cat.h"
#include "registry/outcome.h"
#include "registry/snapshot.h"

namespace toolrack {

ToolSpec::ToolSpec(absl::string_view name, absl::string_view description) {
  meta_.set_name(std::string(name));
  meta_.set_description(description.empty() ? absl::StrCat("Tool: ", name)
                                            : std::string(description));
}

ToolSpec& ToolSpec::Title(absl::string_view title) {
  meta_.set_title(std::string(title));
  return *this;
}

ToolSpec& ToolSpec::Category(absl::string_view category) {
  meta_.add_categories(std::string(category));
  return *this;
}

ToolSpec& ToolSpec::ReadOnly(bool value) {
  meta_.mutable_annotations()->set_read_only(value);
  return *this;
}

ToolSpec& ToolSpec::Destructive(bool value) {
  meta_.mutable_annotations()->set_destructive(value);
  return *this;
}

ToolSpec& ToolSpec::Idempotent(bool value) {
  meta_.mutable_annotations()->set_idempotent(value);
  return *this;
}

ToolSpec& ToolSpec::OpenWorld(bool value) {
  meta_.mutable_annotations()->set_open_world(value);
  return *this;
}

ToolSpec& ToolSpec::Timeout(absl::Duration timeout) {
  const int64_t seconds = absl::IDivDuration(timeout, absl::Seconds(1), &timeout);
  meta_.mutable_timeout()->set_seconds(seconds);
  meta_.mutable_timeout()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(timeout)));
  return *this;
}

ToolSpec& ToolSpec::MaxConcurrency(uint32_t calls) {
  meta_.set_max_concurrency(calls);
  return *this;
}

ToolSpec& ToolSpec::Example(absl::string_view example) {
  meta_.add_examples(std::string(example));
  return *this;
}

ToolSpec& ToolSpec::AlwaysLoad() {
  meta_.set_always_load(true);
  return *this;
}

ToolSpec& ToolSpec::PerSession() {
  meta_.set_scope(v1::TOOL_SCOPE_SESSION);
  return *this;
}

v1::ToolResult ResultOfText(std::string text) {
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(std::move(text));
  return result;
}

v1::ToolResult ResultOfJson(std::string json) {
  v1::ToolResult result = TextResult(json);
  result.set_structured_json(std::move(json));
  return result;
}

namespace typed_internal {

absl::Status DecodeError(const ToolCall& call, const DecodeFault& fault) {
  return absl::InvalidArgumentError(
      absl::StrCat("The arguments of ", call.tool == nullptr ? "the tool" : call.tool->name(),
                   " could not be read at ", fault.pointer.empty() ? "the root" : fault.pointer,
                   ": ", fault.message, "."));
}

absl::Status DecodeText(const ToolCall& call, std::string& out) {
  const std::optional<JsonView> input = JsonView(call.arguments.get()).Find("input");
  const std::optional<absl::string_view> text =
      input.has_value() ? input->AsString() : std::nullopt;
  if (!text.has_value()) {
    return DecodeError(call, {"/input", input.has_value() ? "expected a string" : "it is missing"});
  }
  out.assign(text->data(), text->size());
  return absl::OkStatus();
}

}  // namespace typed_internal
}  // namespace toolrack
