#include "registry/arguments.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

// Room for `{"input":` and `}` around a text that was itself within the limit.
constexpr absl::string_view kWrapHead = "{\"input\":";
constexpr absl::string_view kWrapTail = "}";

std::string Wrap(absl::string_view json_string) {
  return absl::StrCat(kWrapHead, json_string, kWrapTail);
}

absl::string_view KindName(const Json& value) {
  switch (value.type()) {
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    default:
      return "a number";
  }
}

absl::Status NoObject(const v1::Tool& tool, const Json& value) {
  std::string text = absl::StrCat("expected one JSON object that holds the arguments by name, got ",
                                  KindName(value));
  if (value.is_string()) {
    absl::StrAppend(&text, "; send the object itself, not a string with the object in it");
  }
  return ArgumentsInvalid(tool.name(), tool.digest(), {{"", std::move(text)}});
}

absl::Status TooLong(const v1::Tool& tool, const ArgumentLimits& limits, size_t actual) {
  return ArgumentsTooLarge(tool.name(), "limits.max_arguments_bytes", limits.max_bytes, actual);
}

void AddRepair(SchemaRepair from, Arguments& to) {
  v1::Repair& repair = to.repairs.emplace_back();
  repair.set_pointer(std::move(from.pointer));
  repair.set_kind(std::move(from.kind));
  repair.set_before(std::move(from.before));
  repair.set_after(std::move(from.after));
}

// Puts the object that the string `value` holds, if it holds one, in its place.
void UnwrapObject(const ArgumentLimits& limits, Json& value, Arguments& arguments) {
  const std::string inner = value.get<std::string>();
  Json object;
  const auto outcome = ParseJson(inner, {limits.max_bytes, limits.max_depth}, object);
  if (!std::holds_alternative<std::monostate>(outcome) || !object.is_object()) return;
  AddRepair({"", "string_to_object", ForMessage(arguments.text, 60), ForMessage(inner, 60)},
            arguments);
  arguments.text = inner;
  value = std::move(object);
}

}  // namespace

bool TakesRawInput(const v1::Tool& tool) { return tool.raw_input() || tool.input_schema().empty(); }

absl::StatusOr<Arguments> ReadArguments(const v1::Tool& tool, ArgumentInput input,
                                        const ArgumentLimits& limits, bool coerce) {
  if (input.text.size() > limits.max_bytes) return TooLong(tool, limits, input.text.size());
  Arguments arguments;
  JsonLimits json_limits;
  json_limits.max_bytes = limits.max_bytes;
  json_limits.max_depth = limits.max_depth;
  size_t shift = 0;  // what stands before the caller's own text
  if (input.form == ArgumentInput::Form::kText) {
    if (!TakesRawInput(tool)) {
      return RequestInvalid(
          "input_text", input.text,
          absl::StrCat("the tool ", tool.name(), " takes named arguments; send arguments_json"));
    }
    const size_t bad = FirstInvalidUtf8(input.text);
    if (bad != input.text.size()) {
      return ArgumentsNotJson(tool.name(), bad, "input_text is not UTF-8");
    }
    arguments.text = Wrap(JsonQuote(input.text));
    // Quoting may lengthen the text up to six-fold; the limit is on what was sent.
    json_limits.max_bytes = arguments.text.size();
  } else {
    const absl::string_view stripped = absl::StripAsciiWhitespace(input.text);
    if (stripped.empty() || stripped == "null") {
      arguments.text = "{}";
    } else if (stripped.front() == '"' && TakesRawInput(tool)) {
      arguments.text = Wrap(input.text);
      shift = kWrapHead.size();
      json_limits.max_bytes += kWrapHead.size() + kWrapTail.size();
    } else {
      arguments.text = std::move(input.text);
    }
  }

  auto value = std::make_shared<Json>();
  const auto outcome = ParseJson(arguments.text, json_limits, *value);
  if (const auto* fault = std::get_if<JsonFault>(&outcome)) {
    if (fault->limit.empty()) {
      const size_t offset = fault->offset > shift ? fault->offset - shift : 0;
      return ArgumentsNotJson(tool.name(), offset, fault->message);
    }
    return ArgumentsTooLarge(tool.name(),
                             fault->limit == "max_depth" ? "limits.max_json_depth" : fault->limit,
                             fault->allowed, fault->actual);
  }
  if (coerce && value->is_string()) UnwrapObject(limits, *value, arguments);
  if (!value->is_object()) return NoObject(tool, *value);
  arguments.value = std::move(value);
  return arguments;
}

absl::Status ValidateArguments(const ToolEntry& entry, bool coerce, Arguments& arguments) {
  const std::shared_ptr<const Schema> schema = entry.InputSchema();
  if (schema == nullptr) {
    return InternalError("validation", absl::StrCat("no compiled schema for ", entry.name()));
  }
  if (schema->AcceptsText(arguments.text, *arguments.value)) return absl::OkStatus();
  if (coerce) {
    if (std::optional<Mended> mended = schema->Mend(arguments.text, *arguments.value)) {
      for (SchemaRepair& each : mended->repairs) AddRepair(std::move(each), arguments);
      arguments.text = std::move(mended->text);
      arguments.value = std::move(mended->value);
      return absl::OkStatus();
    }
  }
  return ArgumentsInvalid(entry.name(), entry.definition->tool.digest(),
                          schema->ExplainText(arguments.text, *arguments.value));
}

}  // namespace toolrack
