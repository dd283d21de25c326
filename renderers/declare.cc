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

JsonText Anthropic(const DeclaredTool& tool) {
  JsonText out = JsonText::Object();
  out.Set("name", JsonText::String(tool.wire));
  if (!tool.tool->description().empty()) {
    out.Set("description", JsonText::String(tool.tool->description()));
  }
  out.Set("input_schema", tool.schema);
  if (tool.strict) out.Set("strict", JsonText::Bool(true));
  if (tool.deferred) out.Set("defer_loading", JsonText::Bool(true));
  return out;
}

// Name, description, parameters and, for OpenAI, strict.
JsonText Function(const DeclaredTool& tool, bool with_strict) {
  JsonText out = JsonText::Object();
  out.Set("name", JsonText::String(tool.wire));
  if (!tool.tool->description().empty()) {
    out.Set("description", JsonText::String(tool.tool->description()));
  }
  out.Set("parameters", tool.schema);
  if (with_strict) out.Set("strict", JsonText::Bool(tool.strict));
  return out;
}

JsonText Responses(const DeclaredTool& tool) {
  if (tool.tool->name() == kToolSearch && !tool.deferred) {
    JsonText out = JsonText::Object();
    out.Set("type", JsonText::String("tool_search"));
    out.Set("execution", JsonText::String("client"));
    out.Set("description", JsonText::String(tool.tool->description()));
    out.Set("parameters", tool.schema);
    return out;
  }
  JsonText out = JsonText::Object();
  out.Set("type", JsonText::String("function"));
  for (JsonMember& member : Function(tool, true).members) out.members.push_back(std::move(member));
  if (tool.deferred) out.Set("defer_loading", JsonText::Bool(true));
  return out;
}

// Deferred tools stand in namespaces, of which the model sees name and description; a deferred
// function outside one would cost its description. The rest stands as it is.
JsonText ResponsesTools(const std::vector<DeclaredTool>& tools) {
  JsonText out = JsonText::Array();
  std::map<std::string, JsonText> namespaces;
  for (const DeclaredTool& tool : tools) {
    if (!tool.deferred || tool.tool->namespace_().empty()) {
      out.items.push_back(Responses(tool));
      continue;
    }
    auto [at, made] = namespaces.try_emplace(tool.tool->namespace_(), JsonText::Array());
    at->second.items.push_back(Responses(tool));
  }
  for (auto& [name, members] : namespaces) {
    JsonText entry = JsonText::Object();
    entry.Set("type", JsonText::String("namespace"));
    entry.Set("name", JsonText::String(name));
    entry.Set("description", JsonText::String(absl::StrCat("Tools of ", name, ".")));
    entry.Set("tools", std::move(members));
    out.items.push_back(std::move(entry));
  }
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
      const HarmonyVariant variant =
          options.variant() == "jinja" ? HarmonyVariant::kJinja : HarmonyVariant::kLibrary;
      one =
          HarmonyDeclaration({tool.wire, tool.tool->description(), &tool.schema}, variant, mended);
      if (dialect.markers.SplitText(one)) mended = true;
    } else {
      JsonText entry = JsonText::Object();
      entry.Set("description", JsonText::String(tool.tool->description()));
      entry.Set("name", JsonText::String(tool.wire));
      entry.Set("parameters", tool.schema);
      one = WriteJson(entry, kSpacedJson);
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

JsonText DeclareEntry(const Dialect& dialect, const DeclaredTool& tool) {
  switch (dialect.declare) {
    case DeclareEngine::kAnthropic:
      return Anthropic(tool);
    case DeclareEngine::kOpenAiChat: {
      JsonText out = JsonText::Object();
      out.Set("type", JsonText::String("function"));
      out.Set("function", Function(tool, true));
      return out;
    }
    case DeclareEngine::kOpenAiResponses:
      return Responses(tool);
    default: {
      JsonText out = Function(tool, false);
      // Gemini refuses an object schema without properties: a tool without arguments has none.
      const JsonText* properties = tool.schema.Find("properties");
      if (properties == nullptr || properties->members.empty()) out.Erase("parameters");
      return out;
    }
  }
}

std::string DeclareJson(const Dialect& dialect, const std::vector<DeclaredTool>& tools,
                        bool cached) {
  if (dialect.declare == DeclareEngine::kOpenAiResponses) return WriteJson(ResponsesTools(tools));
  JsonText list = JsonText::Array();
  size_t last = tools.size();
  for (size_t i = 0; i < tools.size(); ++i) {
    list.items.push_back(DeclareEntry(dialect, tools[i]));
    if (!tools[i].deferred) last = i;
  }
  if (dialect.declare == DeclareEngine::kGemini) {
    JsonText entry = JsonText::Object();
    entry.Set("functionDeclarations", std::move(list));
    return WriteJson(JsonText::Array({std::move(entry)}));
  }
  if (dialect.declare == DeclareEngine::kAnthropic && cached && last < tools.size()) {
    JsonText control = JsonText::Object();
    control.Set("type", JsonText::String("ephemeral"));
    list.items[last].Set("cache_control", std::move(control));
  }
  return WriteJson(list);
}

}  // namespace toolrack
