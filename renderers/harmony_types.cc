#include "renderers/harmony_types.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace toolrack {
namespace {

bool NonEmptyArray(const JsonText* value) {
  return value != nullptr && value->is_array() && !value->items.empty();
}

const JsonText* ObjectAt(const JsonText& schema, absl::string_view key) {
  const JsonText* value = schema.Find(key);
  return value != nullptr && value->is_object() ? value : nullptr;
}

bool Nullable(const JsonText& schema) {
  const JsonText* value = schema.Find("nullable");
  return value != nullptr && value->is_true();
}

bool IsRequired(const JsonText& schema, absl::string_view key) {
  const JsonText* required = schema.Find("required");
  return required != nullptr && required->is_array() &&
         std::any_of(required->items.begin(), required->items.end(), [key](const JsonText& item) {
           return item.is_string() && absl::string_view(item.text) == key;
         });
}

// What both variants need to keep strangers' words inside their places.
class Harmless {
 public:
  explicit Harmless(bool& mended) : mended_(mended) {}

  // Behind `// `. The references leave the lines behind the first one uncommented; a line that
  // would read as code is commented here.
  std::string Comment(absl::string_view text) {
    if (!HasCodeLine(text)) return std::string(text);
    mended_ = true;
    return absl::StrJoin(Lines(text), "\n// ");
  }
  // Between quotes, which nothing escapes.
  std::string Quoted(absl::string_view text) {
    if (!HasCodeLine(text) && !absl::StrContains(text, "=> any")) {
      return absl::StrCat("\"", text, "\"");
    }
    mended_ = true;
    return Literal(text);
  }
  // In code.
  std::string Plain(absl::string_view text) {
    const bool good = !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) <= 0x20 ||
             absl::string_view("{}()[];:,?\"'`/<>=|&").find(c) != absl::string_view::npos;
    });
    if (good) return std::string(text);
    mended_ = true;
    return Literal(text);
  }

 private:
  static std::string Literal(absl::string_view text) {
    std::string out;
    AppendJsonString(text, out);
    for (size_t at; (at = out.find("=> any")) != std::string::npos;) out.insert(at + 2, "\u200b");
    return out;
  }
  static std::vector<absl::string_view> Lines(absl::string_view text) {
    return absl::StrSplit(text, absl::ByAnyChar("\n\r"));
  }
  static bool HasCodeLine(absl::string_view text) {
    const std::vector<absl::string_view> lines = Lines(text);
    for (size_t i = 1; i < lines.size(); ++i) {
      absl::string_view line = lines[i];
      while (!line.empty() && static_cast<unsigned char>(line[0]) <= 0x20) line.remove_prefix(1);
      for (const absl::string_view code : {"}", "type ", "namespace ", "# ", "## "}) {
        if (absl::StartsWith(line, code)) return true;
      }
    }
    return false;
  }
  bool& mended_;
};

// As the library's json_schema_to_typescript.
class LibraryTypes {
 public:
  LibraryTypes(bool plain, bool& mended) : plain_(plain), safe_(mended) {}

  // `described`: the schema's description stands above already.
  std::string Type(const JsonText& schema, const std::string& indent, bool described = false) {
    if (const JsonText* one_of = schema.Find("oneOf"); one_of != nullptr && one_of->is_array()) {
      std::string out;
      for (const JsonText& variant : one_of->items) {
        absl::StrAppend(&out, "\n", indent, " | ", Variant(variant, indent, true, nullptr));
      }
      return out;
    }
    const JsonText* type = schema.Find("type");
    if (type != nullptr && type->is_array()) {
      std::vector<std::string> words;
      for (const JsonText& item : type->items) {
        if (item.is_string()) words.push_back(item.text == "integer" ? "number" : item.text);
      }
      if (!words.empty()) return absl::StrJoin(words, " | ");
    }
    if (type == nullptr || !type->is_string()) return "any";
    if (type->text == "object") return Object(schema, indent, described);
    if (type->text == "string") return Text(schema);
    if (type->text == "number" || type->text == "integer") return "number";
    if (type->text == "boolean") return "boolean";
    if (type->text == "array") {
      const JsonText* items = schema.Find("items");
      if (items == nullptr) return "Array<any>";
      const std::string item = Type(*items, indent);
      return plain_ && IsUnion(*items, item) ? absl::StrCat("(", item, ")[]")
                                             : absl::StrCat(item, "[]");
    }
    return "any";
  }

 private:
  static bool IsUnion(const JsonText& schema, absl::string_view type) {
    if (schema.StringAt("type") == "object" || schema.StringAt("type") == "array") return false;
    return absl::StrContains(type, " | ");
  }

  std::string Text(const JsonText& schema) {
    std::vector<std::string> words;
    if (const JsonText* values = schema.Find("enum"); NonEmptyArray(values)) {
      for (const JsonText& value : values->items) {
        if (value.is_string()) words.push_back(safe_.Quoted(value.text));
      }
    }
    return words.empty() ? "string" : absl::StrJoin(words, " | ");
  }

  static void AddNull(const JsonText& schema, std::string& type) {
    if (Nullable(schema) && !absl::StrContains(type, "null")) type += " | null";
  }

  // `quote_enums`: a variant's default is then JSON also where it has an enum.
  std::string Default(const JsonText& schema, const JsonText& value, bool quote_enums) {
    if (!value.is_string()) return safe_.Comment(WriteJson(value));
    if (NonEmptyArray(schema.Find("enum")) && !quote_enums) return safe_.Comment(value.text);
    return safe_.Quoted(value.text);
  }

  // One line of a oneOf. `property` is the description of the property that it belongs to; null
  // within another type.
  std::string Variant(const JsonText& variant, const std::string& indent, bool describe,
                      const absl::string_view* property) {
    std::string out = Type(variant, indent + "   ");
    AddNull(variant, out);
    std::vector<std::string> comments;
    const JsonText* description = variant.Find("description");
    if (describe && description != nullptr && description->is_string() &&
        (property == nullptr || *property != absl::string_view(description->text))) {
      comments.push_back(safe_.Comment(description->text));
    }
    if (const JsonText* value = variant.Find("default")) {
      comments.push_back(absl::StrCat("default: ", Default(variant, *value, property == nullptr)));
    }
    if (!comments.empty()) absl::StrAppend(&out, " // ", absl::StrJoin(comments, " "));
    return out;
  }

  void OneOf(const std::string& key, const JsonText& schema, const JsonText& variants,
             const std::string& indent, std::string& out) {
    const JsonText* description = schema.Find("description");
    const bool described = description != nullptr && description->is_string();
    const absl::string_view text = described ? description->text : absl::string_view();
    const bool repeats = described && !variants.items.empty() &&
                         variants.items[0].Find("description") != nullptr &&
                         variants.items[0].StringAt("description") == text;
    const bool above = described && !repeats;
    if (above) absl::StrAppend(&out, indent, "// ", safe_.Comment(text), "\n");
    if (const JsonText* value = schema.Find("default")) {
      absl::StrAppend(&out, indent, "// default: ", Default(schema, *value, false), "\n");
    }
    absl::StrAppend(&out, indent, key, ":\n");
    // A property without a description equals no variant's.
    const absl::string_view none("\0", 1);
    for (size_t i = 0; i < variants.items.size(); ++i) {
      absl::StrAppend(
          &out, indent, " | ",
          Variant(variants.items[i], indent, !(i == 0 && above), described ? &text : &none), "\n");
    }
    absl::StrAppend(&out, indent, ",\n");
  }

  void Property(const JsonMember& member, bool required, const std::string& indent,
                std::string& out) {
    const JsonText& schema = member.value;
    const std::string key = absl::StrCat(safe_.Plain(member.key), required ? "" : "?");
    if (const JsonText* title = schema.Find("title"); title != nullptr && title->is_string()) {
      absl::StrAppend(&out, indent, "// ", safe_.Comment(title->text), "\n", indent, "//\n");
    }
    const JsonText* one_of = schema.Find("oneOf");
    const JsonText* description = schema.Find("description");
    if (one_of == nullptr && description != nullptr && description->is_string()) {
      absl::StrAppend(&out, indent, "// ", safe_.Comment(description->text), "\n");
    }
    if (const JsonText* examples = schema.Find("examples"); NonEmptyArray(examples)) {
      absl::StrAppend(&out, indent, "// Examples:\n");
      for (const JsonText& example : examples->items) {
        if (!example.is_string()) continue;
        absl::StrAppend(&out, indent, "// - ", safe_.Quoted(example.text), "\n");
      }
    }
    if (one_of != nullptr && one_of->is_array()) {
      OneOf(key, schema, *one_of, indent, out);
      return;
    }
    std::string type = Type(schema, indent + "    ", /*described=*/one_of == nullptr);
    AddNull(schema, type);
    absl::StrAppend(&out, indent, key, ": ", type, ",");
    if (const JsonText* value = schema.Find("default"); value != nullptr && one_of == nullptr) {
      absl::StrAppend(&out, " // default: ", Default(schema, *value, false));
    }
    out += '\n';
  }

  std::string Object(const JsonText& schema, const std::string& indent, bool described) {
    std::string out;
    const JsonText* description = schema.Find("description");
    const bool describes = description != nullptr && description->is_string();
    const std::string words = describes ? safe_.Comment(description->text) : "";
    if (plain_) {
      absl::StrAppend(&out, "{", describes && !described ? absl::StrCat(" // ", words) : "", "\n");
    } else {
      if (describes) absl::StrAppend(&out, indent, "// ", words, "\n");
      out += "{\n";
    }
    if (const JsonText* properties = ObjectAt(schema, "properties")) {
      for (const JsonMember& member : properties->members) {
        Property(member, IsRequired(schema, member.key), indent, out);
      }
    }
    const size_t close = plain_ && indent.size() >= kStep ? indent.size() - kStep : indent.size();
    absl::StrAppend(&out, absl::string_view(indent).substr(0, close), "}");
    return out;
  }

  static constexpr size_t kStep = 4;
  const bool plain_;
  Harmless safe_;
};

// As the macros of the chat template.
class JinjaTypes {
 public:
  explicit JinjaTypes(bool& mended) : safe_(mended) {}

  std::string Signature(const JsonText* parameters) {
    const JsonText* properties =
        parameters == nullptr ? nullptr : ObjectAt(*parameters, "properties");
    if (properties == nullptr || properties->members.empty()) return "() => any";
    std::string out = "(_: {\n";
    for (const JsonMember& member : properties->members) {
      const JsonText& schema = member.value;
      if (!schema.StringAt("description").empty()) {
        absl::StrAppend(&out, "// ", safe_.Comment(schema.StringAt("description")), "\n");
      }
      absl::StrAppend(&out, safe_.Plain(member.key), IsRequired(*parameters, member.key) ? "" : "?",
                      ": ", Type(schema));
      if (const JsonText* value = schema.Find("default")) {
        const bool as_is =
            NonEmptyArray(schema.Find("enum")) || NonEmptyArray(schema.Find("oneOf"));
        absl::StrAppend(
            &out, NonEmptyArray(schema.Find("enum")) || !as_is ? ", " : "", "// default: ",
            as_is && value->is_string() ? safe_.Comment(value->text)
                                        : safe_.Comment(WriteJson(*value, kSpacedJson)));
      }
      out += ",\n";
    }
    return out + "}) => any";
  }

 private:
  std::string Array(const JsonText& schema) {
    const JsonText* items = schema.Find("items");
    std::string out = "any[]";
    if (items != nullptr && items->is_object() && !items->members.empty()) {
      const absl::string_view type = items->StringAt("type");
      if (type == "string" || type == "boolean") {
        out = absl::StrCat(type, "[]");
      } else if (type == "number" || type == "integer") {
        out = "number[]";
      } else if (std::string inner = Type(*items);
                 inner != "object | object" && Length(inner) <= 50) {
        out = inner + "[]";
      }
    }
    if (Nullable(schema)) out += " | null";
    return out;
  }

  // Jinja counts characters.
  static size_t Length(absl::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
  }

  std::string OneOf(const JsonText& variants) {
    const bool objects =
        std::any_of(variants.items.begin(), variants.items.end(),
                    [](const JsonText& variant) { return variant.StringAt("type") == "object"; });
    if (objects && variants.items.size() > 1) return "any";
    std::string out;
    for (size_t i = 0; i < variants.items.size(); ++i) {
      const JsonText& variant = variants.items[i];
      out += Type(variant);
      if (!variant.StringAt("description").empty()) {
        absl::StrAppend(&out, "// ", safe_.Comment(variant.StringAt("description")));
      }
      if (const JsonText* value = variant.Find("default")) {
        absl::StrAppend(&out, std::string(20, ' '),
                        "// default: ", safe_.Comment(WriteJson(*value, kSpacedJson)), "\n");
      }
      if (i + 1 < variants.items.size()) out += " | \n";
    }
    return out;
  }

  std::string Type(const JsonText& schema) {
    const JsonText* type = schema.Find("type");
    const absl::string_view word = schema.StringAt("type");
    if (word == "array") return Array(schema);
    if (NonEmptyArray(type)) {
      std::vector<std::string> words;
      for (const JsonText& item : type->items) words.push_back(item.text);
      return absl::StrJoin(words, " | ");
    }
    if (const JsonText* one_of = schema.Find("oneOf"); NonEmptyArray(one_of)) return OneOf(*one_of);
    if (word == "string") {
      if (const JsonText* values = schema.Find("enum"); NonEmptyArray(values)) {
        std::vector<std::string> words;
        for (const JsonText& value : values->items) words.push_back(safe_.Quoted(value.text));
        return absl::StrJoin(words, " | ");
      }
      return Nullable(schema) ? "string | null" : "string";
    }
    if (word == "number" || word == "integer") return "number";
    if (word == "boolean") return "boolean";
    if (word != "object") return "any";
    const JsonText* properties = ObjectAt(schema, "properties");
    if (properties == nullptr || properties->members.empty()) return "object";
    std::string out = "{\n";
    for (size_t i = 0; i < properties->members.size(); ++i) {
      const JsonMember& member = properties->members[i];
      absl::StrAppend(&out, i == 0 ? "" : ", ", safe_.Plain(member.key),
                      IsRequired(schema, member.key) ? "" : "?", ": \n", std::string(16, ' '),
                      Type(member.value));
    }
    return out + "}";
  }

  Harmless safe_;
};

}  // namespace

std::string HarmonyDeclaration(const HarmonyTool& tool, HarmonyVariant variant, bool& mended) {
  Harmless safe(mended);
  std::string out;
  if (variant == HarmonyVariant::kJinja) {
    absl::StrAppend(&out, "// ", safe.Comment(tool.description), "\n");
    absl::StrAppend(&out, "type ", tool.name, " = ", JinjaTypes(mended).Signature(tool.parameters),
                    ";\n\n");
    return out;
  }
  std::vector<absl::string_view> lines = absl::StrSplit(tool.description, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (absl::string_view line : lines) {
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    absl::StrAppend(&out, "// ", safe.Comment(line), "\n");
  }
  const bool plain = variant == HarmonyVariant::kPlain;
  absl::StrAppend(&out, "type ", tool.name, " = (");
  if (tool.parameters != nullptr) {
    absl::StrAppend(&out, "_: ", LibraryTypes(plain, mended).Type(*tool.parameters, ""));
  }
  absl::StrAppend(&out, ") => any;\n\n");
  return out;
}

}  // namespace toolrack
