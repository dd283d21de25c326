#include "renderers/history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/wire_name.h"
#include "renderers/call_format.h"
#include "renderers/family_text.h"
#include "renderers/json_text.h"
#include "renderers/outcome_text.h"

namespace toolrack {
namespace {

JsonText Typed(absl::string_view type) {
  JsonText out = JsonText::Object();
  out.Set("type", JsonText::String(type));
  return out;
}
JsonText TextBlock(absl::string_view text) {
  JsonText out = Typed("text");
  out.Set("text", JsonText::String(text));
  return out;
}

v1::OutMessage JsonMessage(absl::string_view role, const JsonText& json) {
  v1::OutMessage message;
  message.set_role(std::string(role));
  message.set_json(WriteJson(json));
  return message;
}
v1::OutMessage TextMessage(absl::string_view role, std::string text) {
  v1::OutMessage message;
  message.set_role(std::string(role));
  message.set_text(std::move(text));
  return message;
}

class History {
 public:
  History(const RendererSpec& spec, const v1::RenderOptions& options, RenderWarnings& warnings)
      : dialect_(*spec.dialect),
        jinja_(options.variant() == "jinja"),
        style_(jinja_ ? kSpacedJson : kCompactJson),
        warnings_(warnings) {}

  v1::OutMessage Result(const v1::TurnResult& outcome) {
    bool is_error = false;
    const std::string text = OutcomeText(outcome, is_error);
    const std::string name = NameOf(outcome.call());
    switch (dialect_.declare) {
      case DeclareEngine::kFunctionLines:
        return TextMessage("user",
                           absl::StrCat("<function_results>\n", ClaudeResult(name, text, is_error),
                                        "</function_results>"));
      case DeclareEngine::kHarmony:
        // The template names every result after the call that it wrote last.
        return TextMessage("tool",
                           HarmonyResult(template_call_.empty() ? name : template_call_, text));
      case DeclareEngine::kAnthropic:
        return JsonMessage("user", AnthropicResult(outcome, text, is_error));
      case DeclareEngine::kOpenAiChat: {
        JsonText out = JsonText::Object();
        out.Set("role", JsonText::String("tool"));
        out.Set("tool_call_id", JsonText::String(IdOf(outcome.call())));
        out.Set("content", JsonText::String(text));
        return JsonMessage("tool", out);
      }
      case DeclareEngine::kOpenAiResponses: {
        JsonText out = Typed("function_call_output");
        out.Set("call_id", JsonText::String(IdOf(outcome.call())));
        out.Set("output", JsonText::String(text));
        return JsonMessage("", out);
      }
      case DeclareEngine::kGemini:
        return JsonMessage("user", GeminiResult(outcome, name, text, is_error));
      case DeclareEngine::kFamily:
        return TextMessage(dialect_.calls->spelling.result_role,
                           FamilyResult(dialect_, name, Safe(text, name)));
    }
    return {};
  }

  std::vector<v1::OutMessage> Turns(const std::vector<v1::Turn>& turns) {
    std::vector<v1::OutMessage> out;
    for (size_t i = 0; i < turns.size(); ++i) {
      const v1::Turn& turn = turns[i];
      if (turn.role() == "tool") {
        Results(turn, out);
      } else if (turn.role() == "assistant") {
        Assistant(turn, KeepsReasoning(turns, i), out);
      } else {
        Said(turn, out);
      }
    }
    return out;
  }

 private:
  // What a model wrote need not be a name.
  std::string NameOf(const v1::OutputCall& call) const {
    if (!call.wire_name().empty()) {
      return WireName(call.wire_name(), dialect_.max_name, dialect_.dots_in_names);
    }
    return WireNameFor(dialect_, call.name());
  }
  // Providers take letters, digits, `_` and `-`, at most 64 of them.
  static std::string IdOf(const v1::OutputCall& call) { return WireName(call.call_id(), 64); }

  std::string Safe(std::string text, absl::string_view tool) {
    if (dialect_.markers.SplitText(text)) {
      AddWarning(warnings_, tool, "marker_escaped", "",
                 "text that reads as markup of this family was made harmless");
    }
    return text;
  }

  // --- results

  std::string ClaudeResult(const std::string& name, const std::string& text, bool is_error) {
    const absl::string_view tag = is_error ? "error" : "stdout";
    return absl::StrCat("<result>\n<tool_name>", name, "</tool_name>\n<", tag, ">\n",
                        Safe(text, name), "\n</", tag, ">\n</result>\n");
  }

  std::string HarmonyResult(const std::string& name, const std::string& text) {
    std::string content = Safe(text, name);
    if (jinja_) {
      std::string quoted;
      AppendJsonString(content, quoted);
      content = std::move(quoted);
    }
    return absl::StrCat("<|start|>functions.", name,
                        " to=assistant<|channel|>commentary<|message|>", content, "<|end|>");
  }

  static JsonText AnthropicResult(const v1::TurnResult& outcome, const std::string& text,
                                  bool is_error) {
    JsonText out = Typed("tool_result");
    out.Set("tool_use_id", JsonText::String(IdOf(outcome.call())));
    const auto& parts = outcome.result().content();
    const bool pictures = std::any_of(parts.begin(), parts.end(),
                                      [](const v1::Content& part) { return part.has_image(); });
    if (!outcome.has_result() || !pictures) {
      out.Set("content", JsonText::String(text));
    } else {
      JsonText content = JsonText::Array();
      for (const v1::Content& part : parts) {
        if (!part.has_image()) {
          content.items.push_back(TextBlock(PartText(part)));
          continue;
        }
        JsonText source = Typed("base64");
        source.Set("media_type", JsonText::String(part.image().mime_type()));
        source.Set("data", JsonText::String(absl::Base64Escape(part.image().data())));
        JsonText image = Typed("image");
        image.Set("source", std::move(source));
        content.items.push_back(std::move(image));
      }
      out.Set("content", std::move(content));
    }
    if (is_error) out.Set("is_error", JsonText::Bool(true));
    return out;
  }

  static JsonText GeminiResult(const v1::TurnResult& outcome, const std::string& name,
                               const std::string& text, bool is_error) {
    JsonText response = JsonText::Object();
    const auto structured = ParseJsonText(outcome.result().structured_json());
    if (!is_error && structured && structured->is_object()) {
      response = *structured;
    } else {
      response.Set(is_error ? "error" : "result", JsonText::String(text));
    }
    JsonText inner = JsonText::Object();
    inner.Set("name", JsonText::String(name));
    inner.Set("response", std::move(response));
    JsonText out = JsonText::Object();
    out.Set("functionResponse", std::move(inner));
    return out;
  }

  void Results(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    if (dialect_.declare == DeclareEngine::kFunctionLines) {
      std::string block = "<function_results>\n";
      for (const v1::TurnResult& result : turn.results()) {
        bool is_error = false;
        const std::string text = OutcomeText(result, is_error);
        block += ClaudeResult(NameOf(result.call()), text, is_error);
      }
      out.push_back(TextMessage("user", block + "</function_results>"));
      return AlsoSaid(turn, out);
    }
    const bool anthropic = dialect_.declare == DeclareEngine::kAnthropic;
    if (anthropic || dialect_.declare == DeclareEngine::kGemini) {
      JsonText parts = JsonText::Array();
      for (const v1::TurnResult& result : turn.results()) {
        parts.items.push_back(*ParseJsonText(Result(result).json()));
      }
      if (!turn.text().empty() && anthropic) {
        // Behind the results: before them it would be refused.
        parts.items.push_back(TextBlock(turn.text()));
        out.push_back(Message("user", "content", std::move(parts)));
        return;
      }
      out.push_back(Message("user", anthropic ? "content" : "parts", std::move(parts)));
    } else {
      for (const v1::TurnResult& result : turn.results()) out.push_back(Result(result));
    }
    AlsoSaid(turn, out);
  }

  // What the user said with the results, as a message of its own.
  void AlsoSaid(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    if (turn.text().empty()) return;
    v1::Turn user;
    user.set_role("user");
    user.set_text(turn.text());
    Said(user, out);
  }

  // --- what was said

  static v1::OutMessage Message(absl::string_view role, absl::string_view key, JsonText content) {
    JsonText out = JsonText::Object();
    out.Set("role", JsonText::String(role));
    out.Set(key, std::move(content));
    return JsonMessage(role, out);
  }

  void Said(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    const std::string role = turn.role().empty() ? "user" : turn.role();
    switch (dialect_.declare) {
      case DeclareEngine::kHarmony: {
        const bool system = role == "system" || role == "developer";
        out.push_back(TextMessage(
            system ? "developer" : role,
            absl::StrCat("<|start|>", system ? "developer" : "user", "<|message|>",
                         system ? "# Instructions\n\n" : "", Safe(turn.text(), ""), "<|end|>")));
        return;
      }
      case DeclareEngine::kFunctionLines:
      case DeclareEngine::kFamily:
        out.push_back(TextMessage(role, Safe(turn.text(), "")));
        return;
      case DeclareEngine::kGemini: {
        JsonText part = JsonText::Object();
        part.Set("text", JsonText::String(turn.text()));
        out.push_back(Message(role == "system" ? "system" : "user", "parts",
                              JsonText::Array({std::move(part)})));
        return;
      }
      default:
        out.push_back(Message(role, "content", JsonText::String(turn.text())));
    }
  }

  void Assistant(const v1::Turn& turn, bool reasoning, std::vector<v1::OutMessage>& out) {
    switch (dialect_.declare) {
      case DeclareEngine::kHarmony:
        return HarmonyAssistant(turn, reasoning, out);
      case DeclareEngine::kFunctionLines:
        return ClaudeAssistant(turn, out);
      case DeclareEngine::kAnthropic: {
        JsonText content = JsonText::Array();
        if (!turn.text().empty()) content.items.push_back(TextBlock(turn.text()));
        for (const v1::OutputCall& call : turn.calls()) {
          JsonText block = Typed("tool_use");
          block.Set("id", JsonText::String(IdOf(call)));
          block.Set("name", JsonText::String(NameOf(call)));
          block.Set("input", ArgumentsObject(call));
          AddCaller(call, block);
          content.items.push_back(std::move(block));
        }
        out.push_back(Message("assistant", "content", std::move(content)));
        return;
      }
      case DeclareEngine::kGemini: {
        JsonText parts = JsonText::Array();
        if (!turn.text().empty()) {
          JsonText part = JsonText::Object();
          part.Set("text", JsonText::String(turn.text()));
          parts.items.push_back(std::move(part));
        }
        for (const v1::OutputCall& call : turn.calls()) {
          JsonText inner = JsonText::Object();
          inner.Set("name", JsonText::String(NameOf(call)));
          inner.Set("args", ArgumentsObject(call));
          JsonText part = JsonText::Object();
          part.Set("functionCall", std::move(inner));
          parts.items.push_back(std::move(part));
        }
        out.push_back(Message("model", "parts", std::move(parts)));
        return;
      }
      case DeclareEngine::kOpenAiChat:
        return ChatAssistant(turn, out);
      case DeclareEngine::kOpenAiResponses:
        return ResponsesAssistant(turn, out);
      case DeclareEngine::kFamily:
        return FamilyAssistant(turn, out);
    }
  }

  static void AddCaller(const v1::OutputCall& call, JsonText& item) {
    if (const auto caller = ParseJsonText(call.caller_json())) item.Set("caller", *caller);
  }

  static std::string ArgumentsText(const v1::OutputCall& call) {
    return call.arguments_json().empty() ? "{}" : call.arguments_json();
  }
  // For providers that take objects only.
  JsonText ArgumentsObject(const v1::OutputCall& call) {
    std::optional<JsonText> value = ParseJsonText(ArgumentsText(call));
    if (value && value->is_object()) return *std::move(value);
    AddWarning(warnings_, call.name(), "arguments_not_json", "",
               "the old arguments are no JSON object and are shown as text");
    JsonText out = JsonText::Object();
    out.Set("malformed_arguments", JsonText::String(call.arguments_json()));
    return out;
  }

  void ChatAssistant(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    JsonText message = JsonText::Object();
    message.Set("role", JsonText::String("assistant"));
    message.Set("content", turn.text().empty() && turn.calls_size() > 0
                               ? JsonText()
                               : JsonText::String(turn.text()));
    if (turn.calls_size() > 0) {
      JsonText calls = JsonText::Array();
      for (const v1::OutputCall& call : turn.calls()) {
        JsonText function = JsonText::Object();
        function.Set("name", JsonText::String(NameOf(call)));
        function.Set("arguments", JsonText::String(ArgumentsText(call)));
        JsonText one = JsonText::Object();
        one.Set("id", JsonText::String(IdOf(call)));
        one.Set("type", JsonText::String("function"));
        one.Set("function", std::move(function));
        calls.items.push_back(std::move(one));
      }
      message.Set("tool_calls", std::move(calls));
    }
    out.push_back(JsonMessage("assistant", message));
  }

  void ResponsesAssistant(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    if (!turn.text().empty()) {
      out.push_back(Message("assistant", "content", JsonText::String(turn.text())));
    }
    for (const v1::OutputCall& call : turn.calls()) {
      JsonText item = Typed("function_call");
      item.Set("call_id", JsonText::String(IdOf(call)));
      item.Set("name", JsonText::String(NameOf(call)));
      if (!call.namespace_().empty()) item.Set("namespace", JsonText::String(call.namespace_()));
      item.Set("arguments", JsonText::String(ArgumentsText(call)));
      AddCaller(call, item);
      out.push_back(JsonMessage("", item));
    }
  }

  // A value between two tags: text as it is, the rest as JSON. Empty: it would not come back as it
  // went in.
  std::optional<std::string> XmlCall(const v1::OutputCall& call) {
    const std::optional<JsonText> arguments = ParseJsonText(ArgumentsText(call));
    if (!arguments || !arguments->is_object()) return std::nullopt;
    std::string out = absl::StrCat("<invoke name=\"", NameOf(call), "\">\n");
    for (const JsonMember& member : arguments->members) {
      std::string value = member.value.is_string() ? member.value.text : WriteJson(member.value);
      if (!member.value.is_string()) dialect_.markers.EscapeJson(value);
      if (dialect_.markers.In(value) || member.key.find_first_of("\"<>\n") != std::string::npos) {
        return std::nullopt;
      }
      absl::StrAppend(&out, "<parameter name=\"", member.key, "\">", value, "</parameter>\n");
    }
    return out + "</invoke>\n";
  }

  void ClaudeAssistant(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    std::string text = Safe(turn.text(), "");
    std::string block;
    for (const v1::OutputCall& call : turn.calls()) {
      if (const auto one = XmlCall(call)) {
        block += *one;
        continue;
      }
      Note(call, text);
    }
    if (!block.empty()) {
      absl::StrAppend(&text, text.empty() ? "" : "\n\n", "<function_calls>\n", block,
                      "</function_calls>");
    }
    out.push_back(TextMessage("assistant", std::move(text)));
  }

  void FamilyAssistant(const v1::Turn& turn, std::vector<v1::OutMessage>& out) {
    std::string text = Safe(turn.text(), "");
    std::vector<std::string> calls;
    for (const v1::OutputCall& call : turn.calls()) {
      auto one = FamilyCall(dialect_, NameOf(call), ArgumentsText(call));
      one ? calls.push_back(*one) : Note(call, text);
    }
    if (!calls.empty()) text += (text.empty() ? "" : "\n") + FamilyCalls(dialect_, calls);
    out.push_back(TextMessage("assistant", std::move(text)));
  }

  void Note(const v1::OutputCall& call, std::string& text) {
    AddWarning(warnings_, call.name(), "call_as_note", "",
               "the old call cannot be spelled in this family and is told of instead");
    absl::StrAppend(&text, text.empty() ? "" : "\n", "(A call of ", NameOf(call),
                    " was made here.)");
  }

  // The library: once the last answer is final, what was thought before the first final one goes.
  // The template: what was thought before any later final one.
  bool KeepsReasoning(const std::vector<v1::Turn>& turns, size_t at) const {
    const auto final = [](const v1::Turn& turn) {
      return turn.role() == "assistant" && turn.calls_size() == 0;
    };
    if (jinja_) return std::none_of(turns.begin() + static_cast<long>(at) + 1, turns.end(), final);
    const auto last = std::find_if(turns.rbegin(), turns.rend(),
                                   [](const v1::Turn& turn) { return turn.role() == "assistant"; });
    if (last == turns.rend() || !final(*last)) return true;
    const auto first = std::find_if(turns.begin(), turns.end(), final);
    return at > static_cast<size_t>(first - turns.begin());
  }

  void HarmonyAssistant(const v1::Turn& turn, bool reasoning, std::vector<v1::OutMessage>& out) {
    const auto said = [&](absl::string_view channel, const std::string& text) {
      out.push_back(
          TextMessage("assistant", absl::StrCat("<|start|>assistant<|channel|>", channel,
                                                "<|message|>", Safe(text, ""), "<|end|>")));
    };
    if (!turn.reasoning().empty() && reasoning) said("analysis", turn.reasoning());
    if (turn.calls_size() == 0) {
      if (!turn.text().empty() || turn.reasoning().empty()) said("final", turn.text());
      return;
    }
    if (!turn.text().empty()) said(jinja_ ? "analysis" : "commentary", turn.text());
    for (const v1::OutputCall& call : turn.calls()) {
      if (jinja_ && &call != &turn.calls(0)) {
        AddWarning(warnings_, call.name(), "call_left_out", "",
                   "the chat template writes only the first call of a message");
        continue;
      }
      if (jinja_) template_call_ = NameOf(call);
      std::string arguments = ArgumentsText(call);
      if (const auto value = ParseJsonText(arguments)) {
        if (jinja_) arguments = WriteJson(*value, style_);
        dialect_.markers.EscapeJson(arguments);
      } else {
        arguments = Safe(std::move(arguments), call.name());
      }
      out.push_back(TextMessage(
          "assistant", absl::StrCat("<|start|>assistant to=functions.", NameOf(call),
                                    "<|channel|>commentary ", jinja_ ? "json" : "<|constrain|>json",
                                    "<|message|>", arguments, "<|call|>")));
    }
  }

  const Dialect& dialect_;
  const bool jinja_;
  const JsonStyle style_;
  RenderWarnings& warnings_;
  std::string template_call_;  // jinja: the last call that was written
};

}  // namespace

v1::OutMessage FormatResult(const RendererSpec& spec, const v1::TurnResult& outcome,
                            const v1::RenderOptions& options, RenderWarnings& warnings) {
  return History(spec, options, warnings).Result(outcome);
}

std::vector<v1::OutMessage> RenderHistory(const RendererSpec& spec,
                                          const std::vector<v1::Turn>& turns,
                                          const v1::RenderOptions& options,
                                          RenderWarnings& warnings) {
  return History(spec, options, warnings).Turns(turns);
}

}  // namespace toolrack
