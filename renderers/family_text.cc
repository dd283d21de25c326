#include "renderers/family_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "renderers/call_format.h"
#include "renderers/output_parser.h"

namespace toolrack {
namespace {

using Values = std::vector<std::pair<char, std::string>>;

// `%x` by the value of `x`; what has none stays.
std::string Fill(absl::string_view pattern, const Values& values) {
  std::string out;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const auto value = pattern[at] != '%' || at + 1 == pattern.size()
                           ? values.end()
                           : std::find_if(values.begin(), values.end(), [&](const auto& one) {
                               return one.first == pattern[at + 1];
                             });
    if (value == values.end()) {
      out += pattern[at];
    } else {
      out += value->second;
      ++at;
    }
  }
  return out;
}

std::string Spaced(const Dialect& dialect, const JsonText& value) {
  std::string text = WriteJson(value, kSpacedJson);
  dialect.markers.EscapeJson(text);
  return text;
}

// A text as Python's repr writes it; a marker's first character is escaped.
std::string PythonText(const Dialect& dialect, absl::string_view text) {
  const char quote = absl::StrContains(text, "'") && !absl::StrContains(text, "\"") ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c == '\\' || c == static_cast<unsigned char>(quote)) {
      out += '\\';
      out += text[at];
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (c < 0x20 || c == 0x7f || (c < 0x80 && dialect.markers.At(text, at))) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned>(c));
    } else {
      out += text[at];
    }
  }
  out += quote;
  return out;
}

bool IsIdentifier(absl::string_view key) {
  return !key.empty() &&
         (absl::ascii_isalpha(static_cast<unsigned char>(key[0])) || key[0] == '_') &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
         });
}

// A value in Python's or Gemma's spelling.
std::string Literal(const Dialect& dialect, const JsonText& value) {
  const CallFormat& format = *dialect.calls;
  const bool brace = format.shape == CallShape::kBrace;
  const auto text = [&](const std::string& words) {
    if (brace && !absl::StrContains(words, format.quote) && !dialect.markers.In(words)) {
      return absl::StrCat(format.quote, words, format.quote);
    }
    return PythonText(dialect, words);
  };
  const absl::string_view comma = brace ? "," : ", ";
  switch (value.kind) {
    case JsonText::Kind::kString:
      return text(value.text);
    case JsonText::Kind::kArray: {
      std::vector<std::string> items;
      for (const JsonText& item : value.items) items.push_back(Literal(dialect, item));
      return absl::StrCat("[", absl::StrJoin(items, comma), "]");
    }
    case JsonText::Kind::kObject: {
      std::vector<std::string> items;
      for (const JsonMember& member : value.members) {
        const std::string key = brace && IsIdentifier(member.key) ? member.key : text(member.key);
        items.push_back(absl::StrCat(key, brace ? ":" : ": ", Literal(dialect, member.value)));
      }
      return absl::StrCat("{", absl::StrJoin(items, comma), "}");
    }
    case JsonText::Kind::kNull:
      return brace ? "null" : "None";
    case JsonText::Kind::kBool:
      return brace ? value.text : value.is_true() ? "True" : "False";
    case JsonText::Kind::kNumber:
      break;
  }
  return value.text;
}

std::string TagText(const Dialect& dialect, const JsonText& value) {
  return value.is_string() ? value.text : Spaced(dialect, value);
}

// MiniMax M3's elements within elements.
std::string Elements(const Dialect& dialect, absl::string_view name, const JsonText& value) {
  const absl::string_view token = dialect.calls->tags.affix;
  std::string inner;
  if (value.is_object() && !value.members.empty()) {
    for (const JsonMember& member : value.members) {
      inner += Elements(dialect, member.key, member.value);
    }
  } else if (value.is_array() && !value.items.empty()) {
    for (const JsonText& item : value.items) inner += Elements(dialect, "item", item);
  } else {
    inner = TagText(dialect, value);
  }
  return absl::StrCat(token, "<", name, ">", inner, token, "</", name, ">");
}

std::string Arguments(const Dialect& dialect, const JsonText& arguments) {
  const CallFormat& format = *dialect.calls;
  std::vector<std::string> parts;
  switch (format.shape) {
    case CallShape::kJson:
      return Spaced(dialect, arguments);
    case CallShape::kPython:
    case CallShape::kBrace:
      for (const JsonMember& member : arguments.members) {
        parts.push_back(absl::StrCat(member.key, format.shape == CallShape::kBrace ? ":" : "=",
                                     Literal(dialect, member.value)));
      }
      return absl::StrJoin(parts, format.shape == CallShape::kBrace ? "," : ", ");
    case CallShape::kTags:
      for (const JsonMember& member : arguments.members) {
        parts.push_back(
            Fill(format.spelling.parameter, {{'k', member.key},
                                             {'v', TagText(dialect, member.value)},
                                             {'s', member.value.is_string() ? "true" : "false"}}));
      }
      return absl::StrJoin(parts, "");
    case CallShape::kTree:
      for (const JsonMember& member : arguments.members) {
        parts.push_back(Elements(dialect, member.key, member.value));
      }
      return absl::StrJoin(parts, "");
  }
  return "";
}

// A tool that takes just these arguments: what a format without types needs to read them.
JsonText SchemaOf(const JsonText& value) {
  static constexpr absl::string_view kTypes[] = {"null",   "boolean", "number",
                                                 "string", "array",   "object"};
  JsonText out = JsonText::Object();
  out.Set("type", JsonText::String(kTypes[static_cast<size_t>(value.kind)]));
  if (value.is_object()) {
    JsonText properties = JsonText::Object();
    for (const JsonMember& member : value.members) {
      properties.Set(member.key, SchemaOf(member.value));
    }
    out.Set("properties", std::move(properties));
  }
  if (value.is_array() && !value.items.empty()) out.Set("items", SchemaOf(value.items[0]));
  return out;
}

bool ReadsBack(const Dialect& dialect, absl::string_view name, const JsonText& arguments,
               absl::string_view call) {
  v1::Tool tool;
  tool.set_name(std::string(name));
  tool.set_input_schema(WriteJson(SchemaOf(arguments)));
  const std::vector<const v1::Tool*> tools = {&tool};
  const OfferedTools offered({&dialect, Disclosure::kUpfront}, tools);
  const absl::string_view before = dialect.calls->begins_thinking ? dialect.think_close : "";
  const v1::ParseOutputResponse read =
      ParseText(offered, absl::StrCat(before, FamilyCalls(dialect, {std::string(call)})));
  const v1::OutputCall* found = nullptr;
  for (const v1::OutputEvent& event : read.events()) {
    if (event.has_malformed()) return false;
    if (event.has_text() && !absl::StripAsciiWhitespace(event.text()).empty()) return false;
    if (!event.has_call()) continue;
    if (found != nullptr) return false;
    found = &event.call();
  }
  if (found == nullptr || !found->complete() || found->wire_name() != name) return false;
  const auto value = ParseJsonText(found->arguments_json());
  return value && WriteJson(*value) == WriteJson(arguments);
}

}  // namespace

std::string FamilyDefinitions(const Dialect& dialect, const std::vector<DeclaredTool>& tools) {
  std::vector<std::string> lines;
  for (const DeclaredTool& tool : tools) {
    JsonText function = JsonText::Object();
    function.Set("name", JsonText::String(tool.wire));
    function.Set("description", JsonText::String(tool.tool->description()));
    function.Set("parameters", tool.schema);
    JsonText full = JsonText::Object();
    full.Set("type", JsonText::String("function"));
    full.Set("function", std::move(function));
    lines.push_back(Spaced(dialect, full));
  }
  return absl::StrJoin(lines, "\n");
}

std::string FamilyDeclaration(const Dialect& dialect, const std::vector<DeclaredTool>& tools) {
  const std::string all = FamilyDefinitions(dialect, tools);
  const absl::string_view declaration = dialect.calls->spelling.declaration;
  if (!declaration.empty()) return Fill(declaration, {{'t', all}});
  JsonText example = JsonText::Object();
  example.Set("parameter", JsonText::String("value"));
  const std::string call = Fill(dialect.calls->spelling.call, {{'n', "tool_name"},
                                                               {'N', "\"tool_name\""},
                                                               {'i', "000000000"},
                                                               {'a', Arguments(dialect, example)}});
  return absl::StrCat(
      "# Tools\n\nYou may call these tools. Each line is one of them, with the JSON Schema of its "
      "arguments:\n<tools>\n",
      all, "\n</tools>\n\nWrite a call like this, and then wait for its result:\n",
      FamilyCalls(dialect, {call}));
}

std::optional<std::string> FamilyCall(const Dialect& dialect, absl::string_view name,
                                      absl::string_view arguments_json) {
  const std::optional<JsonText> given = ParseJsonText(arguments_json);
  if (!given || !given->is_object()) return std::nullopt;
  const JsonText& arguments = *given;
  std::string quoted;
  AppendJsonString(name, quoted);
  const std::string written = Arguments(dialect, arguments);
  if (dialect.markers.In(written)) return std::nullopt;
  std::string call =
      Fill(dialect.calls->spelling.call,
           {{'n', std::string(name)}, {'N', quoted}, {'i', "000000000"}, {'a', written}});
  if (!ReadsBack(dialect, name, arguments, call)) return std::nullopt;
  return call;
}

std::string FamilyCalls(const Dialect& dialect, const std::vector<std::string>& calls) {
  const CallSpelling& spelling = dialect.calls->spelling;
  return absl::StrCat(spelling.before, absl::StrJoin(calls, spelling.join), spelling.after);
}

std::string FamilyResult(const Dialect& dialect, absl::string_view name, absl::string_view text) {
  std::string quoted;
  AppendJsonString(text, quoted);
  return Fill(dialect.calls->spelling.result,
              {{'n', std::string(name)}, {'r', std::string(text)}, {'R', quoted}});
}

}  // namespace toolrack
