#include "renderers/declare.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "renderers/harmony_types.h"
#include "renderers/lowering.h"
#include "renderers/meta_tools.h"

namespace toolrack {
namespace {

constexpr absl::string_view kPlainTextSchema =
    R"({"type":"object","properties":{"input":{"type":"string","description":"The input as plain text."}},"required":["input"],"additionalProperties":false})";
// Per request, of Anthropic's strict mode.
constexpr size_t kMaxStrictTools = 20;
constexpr size_t kMaxStrictOptional = 24;
constexpr size_t kMaxStrictUnions = 16;

// Optional parameters and parameters with union types, at every depth.
void CountStrict(const JsonText& schema, size_t& optional, size_t& unions) {
  const JsonText* type = schema.Find("type");
  if (schema.Find("anyOf") != nullptr || (type != nullptr && type->is_array())) ++unions;
  const JsonText* required = schema.Find("required");
  if (const JsonText* properties = schema.Find("properties")) {
    optional +=
        properties->members.size() -
        std::min(properties->members.size(), required == nullptr ? 0 : required->items.size());
    for (const JsonMember& member : properties->members)
      CountStrict(member.value, optional, unions);
  }
  if (const JsonText* items = schema.Find("items")) CountStrict(*items, optional, unions);
}

// One JSON object written member by member, straight into the text: a schema is not copied on its
// way.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out, const JsonStyle& style = kCompactJson)
      : out_(out), style_(style) {
    out_ += '{';
  }
  void Text(absl::string_view key, absl::string_view value) {
    Key(key);
    AppendJsonString(value, out_);
  }
  void Json(absl::string_view key, const JsonText& value) {
    Key(key);
    AppendJson(value, style_, out_);
  }
  void Raw(absl::string_view key, absl::string_view json) {
    Key(key);
    absl::StrAppend(&out_, json);
  }
  void Key(absl::string_view key) {
    if (!first_) absl::StrAppend(&out_, style_.item);
    first_ = false;
    AppendJsonString(key, out_);
    absl::StrAppend(&out_, style_.colon);
  }
  void End() { out_ += '}'; }

 private:
  std::string& out_;
  const JsonStyle style_;
  bool first_ = true;
};

void NameAndDescription(const DeclaredTool& tool, ObjectWriter& object) {
  object.Text("name", tool.wire);
  if (!tool.tool->description().empty()) object.Text("description", tool.tool->description());
}

// Name, description, parameters and, for OpenAI, strict.
void Function(const DeclaredTool& tool, ObjectWriter& object) {
  NameAndDescription(tool, object);
  object.Json("parameters", tool.schema);
  object.Raw("strict", tool.strict ? "true" : "false");
}

void AppendResponses(const DeclaredTool& tool, std::string& out) {
  ObjectWriter object(out);
  if (tool.tool->name() == kToolSearch && !tool.deferred) {
    object.Text("type", "tool_search");
    object.Text("execution", "client");
    object.Text("description", tool.tool->description());
    object.Json("parameters", tool.schema);
  } else {
    object.Text("type", "function");
    Function(tool, object);
    if (tool.deferred) object.Raw("defer_loading", "true");
  }
  object.End();
}

// Deferred tools stand in namespaces, of which the model sees name and description; a deferred
// function outside one would cost its description. The rest stands as it is.
std::string ResponsesTools(const std::vector<DeclaredTool>& tools) {
  std::string out = "[";
  std::map<std::string, std::string> namespaces;
  for (const DeclaredTool& tool : tools) {
    std::string* into = &out;
    if (tool.deferred && !tool.tool->namespace_().empty()) {
      into = &namespaces[tool.tool->namespace_()];
    }
    if (!into->empty() && *into != "[") *into += ',';
    AppendResponses(tool, *into);
  }
  for (const auto& [name, members] : namespaces) {
    if (out != "[") out += ',';
    ObjectWriter entry(out);
    entry.Text("type", "namespace");
    entry.Text("name", name);
    entry.Text("description", absl::StrCat("Tools of ", name, "."));
    entry.Raw("tools", absl::StrCat("[", members, "]"));
    entry.End();
  }
  out += ']';
  return out;
}

}  // namespace

void AddWarning(RenderWarnings& warnings, absl::string_view tool, absl::string_view rule,
                absl::string_view pointer, absl::string_view message) {
  v1::RenderWarning& warning = *warnings.Add();
  warning.set_tool(std::string(tool));
  warning.set_rule(std::string(rule));
  warning.set_pointer(std::string(pointer));
  warning.set_message(std::string(message));
}

DeclaredTool PrepareTool(const Dialect& dialect, const v1::Tool& tool,
                         const v1::RenderOptions& options, RenderWarnings& warnings) {
  DeclaredTool out;
  out.tool = &tool;
  out.wire = WireNameFor(dialect, tool.name());
  std::optional<JsonText> schema = ParseJsonText(
      tool.input_schema().empty() ? kPlainTextSchema : absl::string_view(tool.input_schema()));
  if (!schema || !schema->is_object()) {
    AddWarning(warnings, tool.name(), "schema_unreadable", "",
               "the schema is no JSON object; an open object is shown");
    schema = *ParseJsonText(R"({"type":"object","properties":{}})");
  }
  out.schema = *std::move(schema);
  if (options.normalise()) NormaliseSchema(out.schema);
  std::vector<LoweringNote> notes;
  LowerSchema(dialect.schema, out.schema, notes);
  for (const LoweringNote& note : notes) {
    AddWarning(warnings, tool.name(), note.rule, note.pointer, note.message);
  }
  return out;
}

void ApplyStrict(const Dialect& dialect, std::vector<DeclaredTool>& tools,
                 RenderWarnings& warnings) {
  if (dialect.schema != SchemaTarget::kAnthropic && dialect.schema != SchemaTarget::kOpenAi) return;
  size_t strict = 0, optional = 0, unions = 0;
  for (DeclaredTool& tool : tools) {
    JsonText schema = tool.schema;
    std::vector<LoweringNote> notes;
    std::string why;
    if (MakeStrict(dialect.schema, schema, notes, why) &&
        dialect.schema == SchemaTarget::kAnthropic) {
      size_t more_optional = optional, more_unions = unions;
      CountStrict(schema, more_optional, more_unions);
      if (strict >= kMaxStrictTools || more_optional > kMaxStrictOptional ||
          more_unions > kMaxStrictUnions) {
        why = "the request's limit of 20 strict tools, 24 optional and 16 union parameters";
      } else {
        optional = more_optional;
        unions = more_unions;
      }
    }
    if (!why.empty()) {
      AddWarning(warnings, tool.tool->name(), "not_strict", "",
                 absl::StrCat("strict mode is off for this tool: ", why));
      continue;
    }
    ++strict;
    tool.strict = true;
    tool.schema = std::move(schema);
    for (const LoweringNote& note : notes) {
      AddWarning(warnings, tool.tool->name(), note.rule, note.pointer, note.message);
    }
  }
}

std::string DeclareText(const Dialect& dialect, const std::vector<DeclaredTool>& tools,
                        const v1::RenderOptions& options, RenderWarnings& warnings) {
  std::string out;
  const bool harmony = dialect.declare == DeclareEngine::kHarmony;
  absl::StrAppend(&out, harmony ? "namespace functions {\n\n" : "<functions>\n");
  for (const DeclaredTool& tool : tools) {
    std::string one;
    bool mended = false;
    if (harmony) {
      const HarmonyVariant variant = options.variant() == "jinja" ? HarmonyVariant::kJinja
                                     : options.normalise()        ? HarmonyVariant::kPlain
                                                                  : HarmonyVariant::kLibrary;
      one =
          HarmonyDeclaration({tool.wire, tool.tool->description(), &tool.schema}, variant, mended);
      if (dialect.markers.SplitText(one)) mended = true;
    } else {
      ObjectWriter entry(one, kSpacedJson);
      entry.Text("description", tool.tool->description());
      entry.Text("name", tool.wire);
      entry.Json("parameters", tool.schema);
      entry.End();
      // Exact: the text parses back to the same. Nothing to warn of.
      dialect.markers.EscapeJson(one);
      one = absl::StrCat("<function>", one, "</function>\n");
    }
    if (mended) {
      AddWarning(warnings, tool.tool->name(), "marker_escaped", "",
                 "text that reads as markup of this family was made harmless");
    }
    out += one;
  }
  absl::StrAppend(&out, harmony ? "} // namespace functions" : "</functions>");
  return out;
}

void AppendEntry(const Dialect& dialect, const DeclaredTool& tool, bool cached, std::string& out) {
  switch (dialect.declare) {
    case DeclareEngine::kAnthropic: {
      ObjectWriter object(out);
      NameAndDescription(tool, object);
      object.Json("input_schema", tool.schema);
      if (tool.strict) object.Raw("strict", "true");
      if (tool.deferred) object.Raw("defer_loading", "true");
      if (cached) object.Raw("cache_control", R"({"type":"ephemeral"})");
      object.End();
      return;
    }
    case DeclareEngine::kOpenAiChat: {
      ObjectWriter object(out);
      object.Text("type", "function");
      object.Key("function");
      ObjectWriter function(out);
      Function(tool, function);
      function.End();
      object.End();
      return;
    }
    case DeclareEngine::kOpenAiResponses:
      AppendResponses(tool, out);
      return;
    default: {
      ObjectWriter object(out);
      NameAndDescription(tool, object);
      // Gemini refuses an object schema without properties: a tool without arguments has none.
      const JsonText* properties = tool.schema.Find("properties");
      if (properties != nullptr && !properties->members.empty()) {
        object.Json("parameters", tool.schema);
      }
      object.End();
    }
  }
}

std::string DeclareJson(const Dialect& dialect, const std::vector<DeclaredTool>& tools,
                        bool cached) {
  if (dialect.declare == DeclareEngine::kOpenAiResponses) return ResponsesTools(tools);
  const bool gemini = dialect.declare == DeclareEngine::kGemini;
  size_t last = tools.size();
  for (size_t i = 0; i < tools.size(); ++i) {
    if (!tools[i].deferred) last = i;
  }
  std::string out = gemini ? R"([{"functionDeclarations":[)" : "[";
  for (size_t i = 0; i < tools.size(); ++i) {
    if (i > 0) out += ',';
    AppendEntry(dialect, tools[i], cached && i == last, out);
  }
  out += gemini ? "]}]" : "]";
  return out;
}

}  // namespace toolrack
