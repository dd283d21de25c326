#include "renderers/provider_json.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"
#include "renderers/arguments.h"
#include "renderers/json_text.h"

namespace toolrack {
namespace {

constexpr size_t kMaxSpan = 64 << 10;

class Reader {
 public:
  Reader(const OfferedTools& offered, absl::string_view json, const ParseOptions& options,
         v1::ParseOutputResponse& out)
      : offered_(offered), json_(json), options_(options), collector_(out), out_(out) {}

  void Read() {
    const std::optional<JsonText> value = ParseJsonText(json_);
    if (!value) return Refuse("no JSON");
    if (value->is_array()) return List(*value);
    if (!value->is_object()) return Refuse("no answer of a provider");
    Object(*value);
  }

 private:
  void Refuse(absl::string_view what) {
    v1::OutputMalformed malformed;
    malformed.set_span(
        std::string(Utf8Prefix(ReplaceInvalidUtf8(json_.substr(0, kMaxSpan)), kMaxSpan)));
    malformed.set_reason(absl::StrCat("the output is ", what));
    collector_.Malformed(malformed);
  }

  absl::string_view Slice(const JsonText& value) const {
    return json_.substr(value.begin, value.end - value.begin);
  }

  // A response or a message.
  void Object(const JsonText& value) {
    if (const JsonText* choices = value.Find("choices");
        choices != nullptr && choices->is_array()) {
      if (choices->items.empty()) return Refuse("without a choice");
      const JsonText* message = choices->items[0].Find("message");
      return message == nullptr ? Refuse("without a message") : Chat(*message);
    }
    if (const JsonText* found = value.Find("candidates"); found != nullptr && found->is_array()) {
      const JsonText* content = found->items.empty() ? nullptr : found->items[0].Find("content");
      return content == nullptr ? Refuse("without a candidate") : Object(*content);
    }
    if (const JsonText* items = value.Find("output"); items != nullptr && items->is_array()) {
      return List(*items);
    }
    if (const JsonText* parts = value.Find("parts"); parts != nullptr && parts->is_array()) {
      return List(*parts);
    }
    if (const JsonText* message = value.Find("message"); message && message->is_object()) {
      return Object(*message);
    }
    if (value.Find("tool_calls") != nullptr || value.Find("function_call") != nullptr) {
      return Chat(value);
    }
    if (const JsonText* content = value.Find("content")) {
      if (content->is_array()) return List(*content);
      if (content->is_string()) return Chat(value);
      if (content->kind == JsonText::Kind::kNull) return;
    }
    Part(value);
  }

  void List(const JsonText& list) {
    for (const JsonText& item : list.items) Part(item);
  }

  // One content block, item, part or tool call.
  void Part(const JsonText& part) {
    const absl::string_view type = part.StringAt("type");
    if (type == "text" || type == "output_text" || type == "input_text") {
      return collector_.Text(part.StringAt("text"));
    }
    if (type == "refusal") return collector_.Text(part.StringAt("refusal"));
    if (type == "thinking") return collector_.Reasoning(part.StringAt("thinking"));
    if (type == "redacted_thinking") return;
    if (type == "reasoning") {
      for (const char* key : {"summary", "content"}) {
        if (const JsonText* list = part.Find(key)) {
          for (const JsonText& item : list->items) collector_.Reasoning(item.StringAt("text"));
        }
      }
      return;
    }
    if (type == "tool_use")
      return Call(part, part.StringAt("id"), part.StringAt("name"), part.Find("input"));
    if (type == "function_call") {
      return Call(part, part.StringAt("call_id"), part.StringAt("name"), part.Find("arguments"));
    }
    if (type == "tool_search_call") {
      // The provider ran it itself unless the client is to.
      if (part.StringAt("execution") == "server") return;
      return Call(part, part.StringAt("call_id"), "__tool_search", part.Find("arguments"));
    }
    if (type == "custom_tool_call") return Custom(part);
    if (type == "function" || (type.empty() && part.Find("function") != nullptr)) {
      const JsonText* function = part.Find("function");
      if (function == nullptr) return Odd(part);
      return Call(part, part.StringAt("id"), function->StringAt("name"),
                  function->Find("arguments"));
    }
    if (type == "message") {
      const JsonText* content = part.Find("content");
      return content == nullptr ? Odd(part) : Object(part);
    }
    if (const JsonText* call = part.Find("functionCall"); call != nullptr && call->is_object()) {
      return Call(*call, call->StringAt("id"), call->StringAt("name"), call->Find("args"));
    }
    if (const JsonText* text = part.Find("text"); text != nullptr && type.empty()) {
      const JsonText* thought = part.Find("thought");
      return thought != nullptr && thought->is_true() ? collector_.Reasoning(text->text)
                                                      : collector_.Text(text->text);
    }
    // Of the server's own making: nothing for the rack to do.
    if (type.empty()) Odd(part);
  }

  void Chat(const JsonText& message) {
    for (const char* key : {"reasoning_content", "reasoning"}) {
      if (const absl::string_view text = message.StringAt(key); !text.empty()) {
        collector_.Reasoning(text);
        break;
      }
    }
    if (const JsonText* content = message.Find("content")) {
      if (content->is_array()) List(*content);
      if (content->is_string() && !content->text.empty()) collector_.Text(content->text);
    }
    if (const absl::string_view refusal = message.StringAt("refusal"); !refusal.empty()) {
      collector_.Text(refusal);
    }
    if (const JsonText* calls = message.Find("tool_calls"); calls != nullptr && calls->is_array()) {
      List(*calls);
    } else if (const JsonText* call = message.Find("function_call"); call && call->is_object()) {
      Call(*call, "", call->StringAt("name"), call->Find("arguments"));
    }
  }

  void Odd(const JsonText& part) {
    v1::OutputMalformed malformed;
    malformed.set_span(std::string(Utf8Prefix(Slice(part), kMaxSpan)));
    malformed.set_reason("a part of the output is of no known kind");
    collector_.Malformed(malformed);
  }

  v1::OutputCall& Begin(const JsonText& part, absl::string_view id, absl::string_view name) {
    v1::OutputCallBegin begin;
    begin.set_call_id(id.empty() ? absl::StrCat("call_", calls_) : std::string(id));
    ++calls_;
    begin.set_wire_name(std::string(name));
    const absl::string_view ns = part.StringAt("namespace");
    begin.set_namespace_(std::string(ns));
    const v1::Tool* tool = offered_.Find(name);
    // A bare name within its owner's namespace.
    if (tool == nullptr && !ns.empty()) tool = offered_.Find(absl::StrCat(ns, "__", name));
    if (tool != nullptr) begin.set_name(tool->name());
    collector_.CallBegin(begin);
    v1::OutputCall& call = *out_.mutable_events(out_.events_size() - 1)->mutable_call();
    if (const JsonText* caller = part.Find("caller"))
      call.set_caller_json(std::string(Slice(*caller)));
    return call;
  }

  void End(const v1::OutputCall& call, bool complete) {
    v1::OutputCallEnd end;
    end.set_call_id(call.call_id());
    end.set_complete(complete);
    collector_.CallEnd(end);
  }

  void Call(const JsonText& part, absl::string_view id, absl::string_view name,
            const JsonText* arguments) {
    v1::OutputCall& call = Begin(part, id, name);
    if (name.empty()) return Bad(call, Slice(part), "a call without a name");
    // An object stands for itself; text holds one.
    const std::string text = arguments == nullptr     ? ""
                             : arguments->is_string() ? arguments->text
                                                      : std::string(Slice(*arguments));
    ArgumentsReader reader;
    std::string json;
    std::vector<absl::string_view> repairs;
    reader.Feed(text, json, repairs);
    const auto end = reader.Finish(json, repairs);
    const size_t offset = arguments == nullptr ? 0 : arguments->begin;
    if (options_.strict && !repairs.empty()) {
      call.set_arguments_json(std::move(json));
      return Bad(call, text, StrictReason(repairs[0], offset));
    }
    for (const absl::string_view kind : repairs) {
      v1::OutputRepair repair;
      repair.set_call_id(call.call_id());
      repair.set_kind(std::string(kind));
      repair.set_offset(offset);
      collector_.Repair(repair);
    }
    call.set_arguments_json(std::move(json));
    if (end == ArgumentsReader::End::kNotUnderstood) return Bad(call, text, reader.reason());
    End(call, end == ArgumentsReader::End::kComplete);
  }

  // Free text for a tool that takes it.
  void Custom(const JsonText& part) {
    v1::OutputCall& call = Begin(part, part.StringAt("call_id"), part.StringAt("name"));
    std::string json = R"({"input":)";
    AppendJsonString(part.StringAt("input"), json);
    call.set_arguments_json(json + "}");
    End(call, true);
  }

  void Bad(const v1::OutputCall& call, absl::string_view span, absl::string_view reason) {
    v1::OutputMalformed malformed;
    malformed.set_span(std::string(Utf8Prefix(span, kMaxSpan)));
    malformed.set_reason(std::string(reason));
    malformed.set_call_id(call.call_id());
    malformed.set_name(call.name());
    malformed.set_wire_name(call.wire_name());
    End(call, false);
    collector_.Malformed(malformed);
  }

  const OfferedTools& offered_;
  const absl::string_view json_;
  const ParseOptions options_;
  OutputCollector collector_;
  v1::ParseOutputResponse& out_;
  size_t calls_ = 0;
};

}  // namespace

v1::ParseOutputResponse ParseProviderJson(const OfferedTools& offered, absl::string_view json,
                                          const ParseOptions& options) {
  v1::ParseOutputResponse out;
  Reader(offered, json, options, out).Read();
  return out;
}

}  // namespace toolrack
