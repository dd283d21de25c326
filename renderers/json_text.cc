#include "renderers/json_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(uint32_t point, std::string& out) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | point >> 6));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | point >> 12));
    out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | point >> 18));
    out.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

// Recursive; the depth is bounded by the caller.
class Reader {
 public:
  Reader(absl::string_view text, size_t max_depth) : text_(text), max_depth_(max_depth) {}

  bool Document(JsonText& out) {
    Space();
    if (!Value(out, 1)) return false;
    Space();
    return at_ == text_.size();
  }

 private:
  bool More() const { return at_ < text_.size(); }
  bool Take(char c) {
    if (!More() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Space() {
    while (More() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool Value(JsonText& out, size_t depth) {
    if (!More()) return false;
    out.begin = at_;
    const bool good = ValueAt(out, depth);
    out.end = at_;
    return good;
  }

  bool ValueAt(JsonText& out, size_t depth) {
    switch (text_[at_]) {
      case '{':
        return depth <= max_depth_ && Object(out, depth);
      case '[':
        return depth <= max_depth_ && Array(out, depth);
      case '"':
        out.kind = JsonText::Kind::kString;
        out.text.clear();
        return String(out.text);
      case 't':
        return Word("true", JsonText::Kind::kBool, out);
      case 'f':
        return Word("false", JsonText::Kind::kBool, out);
      case 'n':
        return Word("null", JsonText::Kind::kNull, out);
      default:
        return Number(out);
    }
  }

  bool Word(absl::string_view word, JsonText::Kind kind, JsonText& out) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    out.kind = kind;
    out.text = std::string(word);
    return true;
  }

  bool Digits() {
    const size_t from = at_;
    while (More() && IsDigit(text_[at_])) ++at_;
    return at_ > from;
  }

  bool Number(JsonText& out) {
    const size_t from = at_;
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (More() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!Take('+')) Take('-');
      if (!Digits()) return false;
    }
    out.kind = JsonText::Kind::kNumber;
    out.text = std::string(text_.substr(from, at_ - from));
    return true;
  }

  bool Hex4(uint32_t& out) {
    if (text_.size() - at_ < 4) return false;
    out = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = text_[at_++];
      const int digit = IsDigit(c)             ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      out = out * 16 + static_cast<uint32_t>(digit);
    }
    return true;
  }

  bool Escape(std::string& out) {
    if (!More()) return false;
    const char c = text_[at_++];
    static constexpr absl::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    const size_t simple = kFrom.find(c);
    if (simple != absl::string_view::npos) {
      out.push_back(kTo[simple]);
      return true;
    }
    uint32_t point = 0;
    if (c != 'u' || !Hex4(point)) return false;
    if (point >= 0xDC00 && point < 0xE000) return false;
    if (point >= 0xD800 && point < 0xDC00) {
      uint32_t low = 0;
      if (!Take('\\') || !Take('u') || !Hex4(low) || low < 0xDC00 || low > 0xDFFF) return false;
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(point, out);
    return true;
  }

  bool String(std::string& out) {
    if (!Take('"')) return false;
    while (true) {
      const size_t from = at_;
      while (More() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) >= 0x20) {
        ++at_;
      }
      out.append(text_.data() + from, at_ - from);
      if (!More() || static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_++] == '"') return true;
      if (!Escape(out)) return false;
    }
  }

  bool Array(JsonText& out, size_t depth) {
    out.kind = JsonText::Kind::kArray;
    out.text.clear();
    ++at_;
    Space();
    if (Take(']')) return true;
    while (true) {
      Space();
      if (!Value(out.items.emplace_back(), depth + 1)) return false;
      Space();
      if (Take(']')) return true;
      if (!Take(',')) return false;
    }
  }

  bool Object(JsonText& out, size_t depth) {
    out.kind = JsonText::Kind::kObject;
    out.text.clear();
    ++at_;
    Space();
    if (Take('}')) return true;
    out.members.reserve(4);  // as most schemas have: growing would move them
    while (true) {
      Space();
      JsonMember& member = out.members.emplace_back();
      if (!String(member.key)) return false;
      Space();
      if (!Take(':')) return false;
      Space();
      if (!Value(member.value, depth + 1)) return false;
      Space();
      if (Take('}')) return true;
      if (!Take(',')) return false;
    }
  }

  const absl::string_view text_;
  const size_t max_depth_;
  size_t at_ = 0;
};

}  // namespace

JsonText JsonText::String(absl::string_view value) {
  JsonText made;
  made.kind = Kind::kString;
  made.text = std::string(value);
  return made;
}

JsonText JsonText::Number(absl::string_view digits) {
  JsonText made;
  made.kind = Kind::kNumber;
  made.text = std::string(digits);
  return made;
}

JsonText JsonText::Bool(bool value) {
  JsonText made;
  made.kind = Kind::kBool;
  made.text = value ? "true" : "false";
  return made;
}

JsonText JsonText::Array(std::vector<JsonText> items) {
  JsonText made;
  made.kind = Kind::kArray;
  made.text.clear();
  made.items = std::move(items);
  return made;
}

JsonText JsonText::Object(std::vector<JsonMember> members) {
  JsonText made;
  made.kind = Kind::kObject;
  made.text.clear();
  made.members = std::move(members);
  return made;
}

const JsonText* JsonText::Find(absl::string_view key) const {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (absl::string_view(member->key) == key) return &member->value;
  }
  return nullptr;
}

JsonText* JsonText::Find(absl::string_view key) {
  return const_cast<JsonText*>(static_cast<const JsonText*>(this)->Find(key));
}

absl::string_view JsonText::StringAt(absl::string_view key) const {
  const JsonText* value = Find(key);
  return value != nullptr && value->is_string() ? absl::string_view(value->text)
                                                : absl::string_view();
}

void JsonText::Set(absl::string_view key, JsonText value) {
  if (JsonText* old = Find(key)) {
    *old = std::move(value);
  } else {
    members.push_back({std::string(key), std::move(value)});
  }
}

bool JsonText::Erase(absl::string_view key) {
  return std::erase_if(members, [key](const JsonMember& member) {
           return absl::string_view(member.key) == key;
         }) > 0;
}

std::optional<JsonText> ParseJsonText(absl::string_view text, size_t max_depth) {
  JsonText value;
  if (!IsUtf8(text) || !Reader(text, max_depth).Document(value)) return std::nullopt;
  return value;
}

void AppendJsonEscaped(absl::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text.data() + from, i - from);
    from = i + 1;
    out.push_back('\\');
    switch (c) {
      case '"':
      case '\\':
        out.push_back(static_cast<char>(c));
        break;
      case '\b':
        out.push_back('b');
        break;
      case '\f':
        out.push_back('f');
        break;
      case '\n':
        out.push_back('n');
        break;
      case '\r':
        out.push_back('r');
        break;
      case '\t':
        out.push_back('t');
        break;
      default:
        out.append("u00");
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(text.data() + from, text.size() - from);
}

void AppendJsonString(absl::string_view text, std::string& out) {
  out.push_back('"');
  AppendJsonEscaped(text, out);
  out.push_back('"');
}

void AppendJson(const JsonText& value, const JsonStyle& style, std::string& out) {
  switch (value.kind) {
    case JsonText::Kind::kString:
      AppendJsonString(value.text, out);
      return;
    case JsonText::Kind::kArray: {
      out.push_back('[');
      bool first = true;
      for (const JsonText& item : value.items) {
        if (!first) absl::StrAppend(&out, style.item);
        first = false;
        AppendJson(item, style, out);
      }
      out.push_back(']');
      return;
    }
    case JsonText::Kind::kObject: {
      out.push_back('{');
      bool first = true;
      for (const JsonMember& member : value.members) {
        if (!first) absl::StrAppend(&out, style.item);
        first = false;
        AppendJsonString(member.key, out);
        absl::StrAppend(&out, style.colon);
        AppendJson(member.value, style, out);
      }
      out.push_back('}');
      return;
    }
    default:
      out.append(value.text);
  }
}

std::string WriteJson(const JsonText& value, const JsonStyle& style) {
  std::string out;
  AppendJson(value, style, out);
  return out;
}

}  // namespace toolrack
