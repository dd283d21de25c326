#include "renderers/render.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/random.h"
#include "renderers/allowed_tools.h"
#include "renderers/family_text.h"
#include "renderers/meta_tools.h"
#include "renderers/prompt_texts.h"

namespace toolrack {
namespace {

constexpr uint32_t kDeferAboveTools = 20;
constexpr uint32_t kDeferAboveTokens = 5000;

bool ByWire(const DeclaredTool& a, const DeclaredTool& b) { return a.wire < b.wire; }

// One rendering on its way.
class Rendering {
 public:
  Rendering(const RendererSpec& spec, const RenderInput& input, RenderWarnings& warnings)
      : spec_(spec),
        dialect_(*spec.dialect),
        input_(input),
        options_(input.options),
        tokens_(input.tokens == nullptr ? EstimateTokens() : *input.tokens),
        warnings_(warnings) {}

  void Initial(v1::RenderInitialResponse& out) {
    Disclosure disclosure = spec_.disclosure;
    std::vector<DeclaredTool> shown, rest;
    Sort(disclosure, shown, rest);
    if (disclosure == Disclosure::kDeferred && !WorthDeferring(shown, rest)) {
      // Deferral comes complete or not at all.
      disclosure = Disclosure::kUpfront;
      Sort(disclosure, shown, rest);
      AddWarning(warnings_, "", "deferral_not_worth_it", "",
                 "few tools: everything is shown and nothing is deferred");
    }
    if (disclosure == Disclosure::kDispatcher) AddDispatcher(rest, shown);
    if (disclosure == Disclosure::kDeferred || disclosure == Disclosure::kRolling) {
      AddMeta(ToolSearchDefinition(), shown);
      AddMeta(ToolDescribeDefinition(), shown);
      if (disclosure == Disclosure::kDeferred && !LoadsNatively()) {
        AddMeta(ToolCallDefinition(), shown);
      }
    }
    std::sort(shown.begin(), shown.end(), ByWire);
    std::sort(rest.begin(), rest.end(), ByWire);
    Cap(shown);
    // The provider counts those that wait on their own.
    if (disclosure == Disclosure::kDeferred && LoadsNatively()) Cap(rest);
    if (options_.strict()) ApplyStrict(dialect_, shown, warnings_);
    for (const DeclaredTool& tool : shown) out.add_shown(tool.tool->name());
    for (const DeclaredTool& tool : rest) out.add_deferred(tool.tool->name());
    std::string choice;
    if (!options_.allowed_tools().empty()) {
      std::vector<const DeclaredTool*> declared;
      for (const DeclaredTool& tool : shown) declared.push_back(&tool);
      if (disclosure == Disclosure::kDeferred && LoadsNatively()) {
        for (const DeclaredTool& tool : rest) declared.push_back(&tool);
      }
      choice = AllowedTools(dialect_, options_, declared, warnings_);
    }
    Write(disclosure, std::move(shown), std::move(rest), out);
    if (!choice.empty()) {
      *out.add_fragments() = Json("tool_choice", v1::PLACEMENT_API_TOOLS, "", std::move(choice));
    }
    *out.mutable_strategy() = StrategyOf({spec_.dialect, disclosure});
    for (const absl::string_view stop : dialect_.stop_strings) {
      out.add_stop_strings(std::string(stop));
    }
    out.set_token_method(std::string(tokens_.method()));
  }

  void Load(const std::vector<std::string>& names, absl::string_view call_id,
            v1::RenderToolLoadResponse& out) {
    std::vector<DeclaredTool> tools;
    std::set<std::string> seen;
    for (const std::string& name : names) {
      const v1::Tool* tool = Find(name);
      if (tool == nullptr) {
        out.add_unknown(name);
      } else if (seen.insert(name).second) {
        tools.push_back(PrepareTool(dialect_, *tool, options_, warnings_));
        tools.back().deferred = true;
      }
    }
    if (spec_.disclosure != Disclosure::kDeferred || tools.empty()) return;
    switch (dialect_.declare) {
      case DeclareEngine::kFunctionLines:
      case DeclareEngine::kHarmony:
        *out.add_fragments() = Text("loaded", v1::PLACEMENT_TOOL_RESULT_STREAM,
                                    dialect_.declare == DeclareEngine::kHarmony ? "tool" : "user",
                                    DeclareText(dialect_, tools, options_, warnings_));
        return;
      case DeclareEngine::kAnthropic:
        *out.add_fragments() =
            Json("loaded", v1::PLACEMENT_TOOL_RESULT_STREAM, "user", AnthropicLoad(tools, call_id));
        return;
      case DeclareEngine::kOpenAiResponses:
        *out.add_fragments() = call_id.empty() ? Json("loaded", v1::PLACEMENT_MID_CONVERSATION,
                                                      "developer", Additional(tools))
                                               : Json("loaded", v1::PLACEMENT_TOOL_RESULT_STREAM,
                                                      "", SearchOutput(tools, call_id));
        return;
      case DeclareEngine::kFamily:
        *out.add_fragments() = Text("loaded", v1::PLACEMENT_TOOL_RESULT_STREAM, "tool",
                                    FamilyDefinitions(dialect_, tools));
        return;
      default:
        *out.add_fragments() =
            Text("loaded", v1::PLACEMENT_TOOL_RESULT_STREAM, "tool", DefinitionLines(tools));
    }
  }

  void Changes(const std::vector<std::string>& known, v1::RenderChangesResponse& out) {
    const std::set<std::string> before(known.begin(), known.end());
    std::set<std::string> now;
    std::vector<DeclaredTool> added;
    for (const v1::Tool* tool : input_.tools) {
      if (IsMetaTool(tool->name())) continue;
      now.insert(tool->name());
      if (before.count(tool->name()) > 0) continue;
      out.add_added(tool->name());
      added.push_back(PrepareTool(dialect_, *tool, options_, warnings_));
      added.back().deferred = true;
    }
    std::vector<std::string> removed;
    for (const std::string& name : before) {
      if (now.count(name) > 0 || IsMetaTool(name)) continue;
      out.add_removed(name);
      removed.push_back(WireNameFor(dialect_, name));
    }
    if (added.empty() && removed.empty()) return;
    if (spec_.disclosure == Disclosure::kDispatcher || spec_.disclosure == Disclosure::kRolling) {
      return;
    }
    std::sort(added.begin(), added.end(), ByWire);
    std::sort(removed.begin(), removed.end());
    switch (dialect_.declare) {
      case DeclareEngine::kAnthropic:
        AnthropicChanges(added, removed, out);
        return;
      case DeclareEngine::kOpenAiResponses:
        // It can only grow; a call of what went is answered.
        if (!added.empty()) {
          *out.add_fragments() =
              Json("changes", v1::PLACEMENT_MID_CONVERSATION, "developer", Additional(added));
        }
        return;
      case DeclareEngine::kFunctionLines:
        if (spec_.disclosure == Disclosure::kDeferred) {
          *out.add_fragments() = Text("changes", v1::PLACEMENT_MID_CONVERSATION, "system",
                                      ChangedNames(added, removed));
        }
        return;
      default:
        return;
    }
  }

 private:
  const v1::Tool* Find(const std::string& name) const {
    const auto at = std::lower_bound(
        input_.tools.begin(), input_.tools.end(), name,
        [](const v1::Tool* tool, const std::string& wanted) { return tool->name() < wanted; });
    return at != input_.tools.end() && (*at)->name() == name ? *at : nullptr;
  }

  // Definitions that come later can be called: the family has a place for them.
  bool LoadsNatively() const {
    return dialect_.declare == DeclareEngine::kAnthropic ||
           dialect_.declare == DeclareEngine::kFunctionLines ||
           dialect_.declare == DeclareEngine::kOpenAiResponses;
  }

  // Which tools are shown from the start, and which are not.
  void Sort(Disclosure disclosure, std::vector<DeclaredTool>& shown,
            std::vector<DeclaredTool>& rest) {
    const std::set<std::string> loaded(input_.loaded.begin(), input_.loaded.end());
    // Warnings of a first try are not told twice.
    warnings_.Clear();
    shown.clear();
    rest.clear();
    for (const v1::Tool* tool : input_.tools) {
      const bool meta = IsMetaTool(tool->name());
      // The others are added where the strategy wants them.
      if (meta && tool->name() != kResultRead) continue;
      const bool early = meta || disclosure == Disclosure::kUpfront ||
                         (disclosure != Disclosure::kDispatcher &&
                          (tool->always_load() || loaded.count(tool->name()) > 0));
      // Whether its definition is written at all now.
      const bool declared = early || (disclosure == Disclosure::kDeferred && LoadsNatively() &&
                                      dialect_.medium == v1::RENDER_MEDIUM_JSON);
      if (!declared) {
        // Only its name counts.
        rest.push_back({});
        rest.back().tool = tool;
        rest.back().wire = WireNameFor(dialect_, tool->name());
        continue;
      }
      DeclaredTool made = PrepareTool(dialect_, *tool, options_, warnings_);
      made.deferred = !early;
      (early ? shown : rest).push_back(std::move(made));
    }
  }

  bool WorthDeferring(const std::vector<DeclaredTool>& shown,
                      const std::vector<DeclaredTool>& rest) const {
    const uint32_t max_tools =
        options_.has_defer_above_tools() ? options_.defer_above_tools() : kDeferAboveTools;
    const uint32_t max_tokens =
        options_.has_defer_above_tokens() ? options_.defer_above_tokens() : kDeferAboveTokens;
    if (rest.empty()) return false;
    if (shown.size() + rest.size() > max_tools) return true;
    size_t tokens = 0;
    for (const auto* tools : {&shown, &rest}) {
      for (const DeclaredTool& tool : *tools) {
        tokens +=
            tokens_.Count(tool.tool->description()) + tokens_.Count(tool.tool->input_schema());
      }
    }
    return tokens > max_tokens;
  }

  void AddMeta(const v1::Tool& fallback, std::vector<DeclaredTool>& shown) {
    const v1::Tool* own = Find(fallback.name());
    shown.push_back(PrepareTool(dialect_, own == nullptr ? fallback : *own, options_, warnings_));
  }

  void AddDispatcher(const std::vector<DeclaredTool>& rest, std::vector<DeclaredTool>& shown) {
    if (dialect_.declare == DeclareEngine::kHarmony) {
      shown.push_back(PrepareTool(dialect_, CallMcpDefinition(), options_, warnings_));
    } else {
      AddMeta(ToolCallDefinition(), shown);
    }
    if (!options_.name_catalogue()) return;
    named_ = *shown.back().tool;
    std::vector<std::string> names;
    for (const DeclaredTool& tool : rest) names.push_back(tool.tool->name());
    named_.set_description(
        absl::StrCat(named_.description(), "\nTools: ", absl::StrJoin(names, ", ")));
    shown.back().tool = &named_;
  }

  void Cap(std::vector<DeclaredTool>& tools) {
    if (dialect_.max_tools == 0 || tools.size() <= dialect_.max_tools) return;
    for (size_t i = dialect_.max_tools; i < tools.size(); ++i) {
      AddWarning(warnings_, tools[i].tool->name(), "left_out", "",
                 absl::StrCat("the provider takes ", dialect_.max_tools,
                              " tools in one request; use a deferred or dispatcher renderer"));
    }
    tools.resize(dialect_.max_tools);
  }

  void Finish(const std::string& content, v1::Fragment& fragment) const {
    fragment.set_digest(Sha256Hex(content));
    const bool raw = dialect_.declare == DeclareEngine::kHarmony;
    fragment.set_token_estimate(
        static_cast<uint32_t>(raw ? tokens_.CountPrompt(content) : tokens_.Count(content)));
  }
  v1::Fragment Text(absl::string_view id, v1::Placement placement, absl::string_view role,
                    std::string text) const {
    v1::Fragment fragment;
    fragment.set_id(std::string(id));
    fragment.set_placement(placement);
    fragment.set_role(std::string(role));
    fragment.set_text(std::move(text));
    Finish(fragment.text(), fragment);
    return fragment;
  }
  v1::Fragment Json(absl::string_view id, v1::Placement placement, absl::string_view role,
                    std::string json) const {
    v1::Fragment fragment;
    fragment.set_id(std::string(id));
    fragment.set_placement(placement);
    fragment.set_role(std::string(role));
    fragment.set_json(std::move(json));
    Finish(fragment.json(), fragment);
    return fragment;
  }

  uint32_t Breakpoints() const {
    return options_.has_max_breakpoints() ? options_.max_breakpoints() : 1;
  }

  void Write(Disclosure disclosure, std::vector<DeclaredTool> shown, std::vector<DeclaredTool> rest,
             v1::RenderInitialResponse& out) {
    const bool tells_names = disclosure == Disclosure::kDeferred &&
                             dialect_.declare != DeclareEngine::kOpenAiResponses && !rest.empty();
    switch (dialect_.declare) {
      case DeclareEngine::kHarmony:
        *out.add_fragments() =
            Text("system", v1::PLACEMENT_SYSTEM_PROMPT, "system",
                 HarmonySystemText(!shown.empty(), input_.clock, options_.reasoning_effort()));
        *out.add_fragments() =
            Text("developer", v1::PLACEMENT_DEVELOPER_MESSAGE, "developer",
                 HarmonyDeveloper(shown, tells_names ? DeferredNames(rest, LoadsNatively()) : ""));
        break;
      case DeclareEngine::kFunctionLines: {
        std::string text = shown.empty() ? "" : ClaudeTools(shown);
        if (tells_names) absl::StrAppend(&text, "\n\n", DeferredNames(rest, LoadsNatively()));
        if (!options_.instructions().empty()) {
          absl::StrAppend(&text, text.empty() ? "" : "\n\n", options_.instructions());
        }
        *out.add_fragments() =
            Text("tools", v1::PLACEMENT_SYSTEM_PROMPT, "system", std::move(text));
        break;
      }
      case DeclareEngine::kFamily: {
        std::string text = shown.empty() ? "" : FamilyDeclaration(dialect_, shown);
        for (const std::string& more :
             {tells_names ? DeferredNames(rest, LoadsNatively()) : std::string(),
              options_.instructions()}) {
          if (!more.empty()) absl::StrAppend(&text, text.empty() ? "" : "\n\n", more);
        }
        *out.add_fragments() =
            Text("tools", v1::PLACEMENT_SYSTEM_PROMPT, "system", std::move(text));
        break;
      }
      default: {
        std::string text = tells_names ? DeferredNames(rest, LoadsNatively()) : "";
        std::vector<DeclaredTool> all = std::move(shown);
        // Anthropic and Responses are told of deferred tools; for the others they do not exist yet.
        if (disclosure == Disclosure::kDeferred && LoadsNatively()) {
          all.insert(all.end(), std::make_move_iterator(rest.begin()),
                     std::make_move_iterator(rest.end()));
          std::sort(all.begin(), all.end(), ByWire);
        }
        *out.add_fragments() = Json("tools", v1::PLACEMENT_API_TOOLS, "",
                                    DeclareJson(dialect_, all, Breakpoints() > 0));
        if (!options_.instructions().empty()) {
          absl::StrAppend(&text, text.empty() ? "" : "\n\n", options_.instructions());
        }
        if (!text.empty()) {
          const bool openai = dialect_.schema == SchemaTarget::kOpenAi;
          *out.add_fragments() =
              Text("instructions",
                   openai ? v1::PLACEMENT_DEVELOPER_MESSAGE : v1::PLACEMENT_SYSTEM_PROMPT,
                   openai ? "developer" : "system", std::move(text));
        }
      }
    }
    for (int i = 0, left = static_cast<int>(Breakpoints()); i < out.fragments_size() && left > 0;
         ++i) {
      // One behind the tools, then, when more are allowed, one behind what follows them.
      const bool tools = out.fragments(i).id() == "tools" || out.fragments(i).id() == "developer";
      if (tools || left > 1) {
        out.mutable_fragments(i)->set_cache_breakpoint(true);
        --left;
      }
    }
  }

  std::string ClaudeTools(const std::vector<DeclaredTool>& shown) {
    return absl::StrCat(ClaudeIntroduction(), DeclareText(dialect_, shown, options_, warnings_));
  }

  std::string HarmonyDeveloper(const std::vector<DeclaredTool>& shown, const std::string& names) {
    std::vector<std::string> sections;
    std::string instructions = options_.instructions();
    if (!names.empty()) {
      absl::StrAppend(&instructions, instructions.empty() ? "" : "\n\n", names);
    }
    if (!instructions.empty()) sections.push_back(absl::StrCat("# Instructions\n\n", instructions));
    if (!shown.empty()) {
      sections.push_back(absl::StrCat("# Tools\n\n## functions\n\n",
                                      DeclareText(dialect_, shown, options_, warnings_)));
    }
    return absl::StrCat("<|start|>developer<|message|>", absl::StrJoin(sections, "\n\n"),
                        "<|end|>");
  }

  static JsonText Reference(absl::string_view type, absl::string_view key,
                            const std::string& name) {
    JsonText out = JsonText::Object();
    out.Set("type", JsonText::String(type));
    out.Set(key, JsonText::String(name));
    return out;
  }

  static std::string AnthropicLoad(const std::vector<DeclaredTool>& tools,
                                   absl::string_view call_id) {
    JsonText content = JsonText::Array();
    for (const DeclaredTool& tool : tools) {
      content.items.push_back(Reference("tool_reference", "tool_name", tool.wire));
    }
    JsonText out = JsonText::Object();
    out.Set("type", JsonText::String("tool_result"));
    out.Set("tool_use_id", JsonText::String(call_id));
    out.Set("content", std::move(content));
    return WriteJson(out);
  }

  // Definitions go where definitions go, `tools`, and stay out of the prompt by being deferred; the
  // system message that tells of them holds names alone: it has the operator's authority.
  void AnthropicChanges(const std::vector<DeclaredTool>& added,
                        const std::vector<std::string>& removed, v1::RenderChangesResponse& out) {
    if (!added.empty()) {
      *out.add_fragments() =
          Json("tools_append", v1::PLACEMENT_API_TOOLS, "", DeclareJson(dialect_, added, false));
    }
    JsonText content = JsonText::Array();
    const auto block = [&content](absl::string_view type, const std::string& name) {
      JsonText one = JsonText::Object();
      one.Set("type", JsonText::String(type));
      one.Set("tool", Reference("tool_reference", "name", name));
      content.items.push_back(std::move(one));
    };
    if (spec_.disclosure == Disclosure::kUpfront) {
      for (const DeclaredTool& tool : added) block("tool_addition", tool.wire);
    } else if (!added.empty()) {
      content.items.push_back(Reference("text", "text", ChangedNames(added, {})));
    }
    for (const std::string& name : removed) block("tool_removal", name);
    JsonText message = JsonText::Object();
    message.Set("role", JsonText::String("system"));
    message.Set("content", std::move(content));
    *out.add_fragments() =
        Json("changes", v1::PLACEMENT_MID_CONVERSATION, "system", WriteJson(message));
  }

  std::string Additional(std::vector<DeclaredTool> tools) const {
    std::string out = R"({"type":"additional_tools","role":"developer","tools":[)";
    for (DeclaredTool& tool : tools) {
      if (&tool != &tools.front()) out += ',';
      tool.deferred = false;
      AppendEntry(dialect_, tool, false, out);
    }
    return out + "]}";
  }

  std::string SearchOutput(const std::vector<DeclaredTool>& tools,
                           absl::string_view call_id) const {
    std::string id;
    AppendJsonString(call_id, id);
    return absl::StrCat(R"({"type":"tool_search_output","execution":"client","call_id":)", id,
                        R"(,"status":"completed","tools":)", DeclareJson(dialect_, tools, false),
                        "}");
  }

  const RendererSpec& spec_;
  const Dialect& dialect_;
  const RenderInput& input_;
  const v1::RenderOptions& options_;
  const TokenCounter& tokens_;
  RenderWarnings& warnings_;
  v1::Tool named_;  // the call tool with a catalogue in its description
};

}  // namespace

v1::RenderInitialResponse RenderInitial(const RendererSpec& spec, const RenderInput& input) {
  v1::RenderInitialResponse out;
  Rendering(spec, input, *out.mutable_warnings()).Initial(out);
  for (v1::WireName& name : WireNames(spec, input.tools)) *out.add_wire_names() = std::move(name);
  return out;
}

v1::RenderToolLoadResponse RenderToolLoad(const RendererSpec& spec, const RenderInput& input,
                                          const std::vector<std::string>& names,
                                          absl::string_view call_id) {
  v1::RenderToolLoadResponse out;
  Rendering(spec, input, *out.mutable_warnings()).Load(names, call_id, out);
  return out;
}

v1::RenderChangesResponse RenderChanges(const RendererSpec& spec, const RenderInput& input,
                                        const std::vector<std::string>& known) {
  v1::RenderChangesResponse out;
  Rendering(spec, input, *out.mutable_warnings()).Changes(known, out);
  return out;
}

std::vector<v1::WireName> WireNames(const RendererSpec& spec, ToolSpan tools) {
  std::vector<v1::WireName> out;
  out.reserve(tools.size());
  for (const v1::Tool* tool : tools) {
    v1::WireName& name = out.emplace_back();
    name.set_name(tool->name());
    name.set_wire_name(WireNameFor(*spec.dialect, tool->name()));
    if (spec.dialect->declare == DeclareEngine::kOpenAiResponses &&
        spec.disclosure == Disclosure::kDeferred) {
      name.set_namespace_(tool->namespace_());
    }
  }
  return out;
}

}  // namespace toolrack
