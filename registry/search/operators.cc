#include "registry/search/operators.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "registry/search/document.h"

namespace toolrack {
namespace {

constexpr absl::string_view kSelect = "select:";
// More of each are words.
constexpr size_t kMaxClauses = 16;

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
// Can begin a word that somebody may want or not want: no digit, `-5` is a number.
bool BeginsWord(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || (c & 0x80) != 0 || c == '_';
}

struct FieldName {
  absl::string_view name;
  uint16_t fields;  // 0: a filter
};
constexpr FieldName kFields[] = {
    {"name", kNameField | kTitleField},
    {"desc", kDescriptionField},
    {"description", kDescriptionField},
    {"param", kParameterField | kParameterTextField},
    {"category", 0},
    {"tag", 0},
    {"server", 0},
    {"namespace", 0},
};

const FieldName* FindField(absl::string_view name) {
  for (const FieldName& field : kFields) {
    if (absl::EqualsIgnoreCase(field.name, name)) return &field;
  }
  return nullptr;
}

class Reader {
 public:
  explicit Reader(absl::string_view text) : text_(text) {}

  QueryOperators Read() {
    while (at_ < text_.size()) {
      if (IsSpace(text_[at_])) {
        out_.text += ' ';
        ++at_;
      } else if (!Operator()) {
        while (at_ < text_.size() && !IsSpace(text_[at_])) out_.text += text_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  char Peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : ' '; }

  // At the beginning of a word. Takes it when it is an operator.
  bool Operator() {
    const char c = text_[at_];
    if (c == '"') return Phrase();
    if (c == '+' || c == '-') {
      if (!BeginsWord(Peek(1)) && Peek(1) != '"') return false;
      std::vector<QueryOperators::Clause>& clauses = c == '+' ? out_.must : out_.without;
      return Take(1, [&](absl::string_view written, std::string value) {
        constexpr uint16_t kNames = kNameField | kTitleField | kNamespaceField;
        if (clauses.size() == kMaxClauses) return false;
        clauses.push_back(
            {std::string(written), std::move(value), c == '+' ? kNames : uint16_t{0}});
        return true;
      });
    }
    size_t letters = 0;
    while (absl::ascii_isalpha(static_cast<unsigned char>(Peek(letters)))) ++letters;
    if (Peek(letters) != ':' || IsSpace(Peek(letters + 1))) return false;
    const FieldName* field = FindField(text_.substr(at_, letters));
    if (field == nullptr) return false;
    return Take(letters + 1, [&](absl::string_view written, std::string value) {
      if (field->fields != 0) {
        if (out_.fields.size() == kMaxClauses) return false;
        absl::StrAppend(&out_.text, " ", value, " ");  // ranked by, too
        out_.fields.push_back({std::string(written), std::move(value), field->fields});
        return true;
      }
      const bool category = field->name == "category" || field->name == "tag";
      std::vector<std::string>& names = category ? out_.categories : out_.servers;
      for (const absl::string_view name : absl::StrSplit(value, ',', absl::SkipEmpty())) {
        if (names.size() < kMaxClauses) names.emplace_back(name);
      }
      return true;
    });
  }

  // The value after `prefix` bytes: up to a space, or in quotes. `use` may refuse it.
  template <typename Use>
  bool Take(size_t prefix, Use use) {
    const size_t start = at_ + prefix;
    size_t end = start;
    std::string value;
    if (Peek(prefix) == '"') {
      const size_t close = text_.find('"', start + 1);
      if (close == absl::string_view::npos) return false;
      value = std::string(text_.substr(start + 1, close - start - 1));
      end = close + 1;
    } else {
      while (end < text_.size() && !IsSpace(text_[end])) ++end;
      value = std::string(text_.substr(start, end - start));
    }
    if (absl::StripAsciiWhitespace(value).empty()) return false;
    if (!use(text_.substr(at_, end - at_), std::move(value))) return false;
    at_ = end;
    return true;
  }

  bool Phrase() {
    return Take(0, [this](absl::string_view, std::string value) {
      if (out_.phrases.size() == kMaxClauses) return false;
      absl::StrAppend(&out_.text, " \"", value, "\" ");
      out_.phrases.push_back(std::move(value));
      return true;
    });
  }

  const absl::string_view text_;
  size_t at_ = 0;
  QueryOperators out_;
};

}  // namespace

QueryOperators ReadOperators(absl::string_view query) {
  query = absl::StripAsciiWhitespace(query);
  if (absl::StartsWithIgnoreCase(query, kSelect)) {
    QueryOperators out;
    out.kind = QueryOperators::Kind::kSelect;
    out.text = std::string(query.substr(kSelect.size()));
    return out;
  }
  if (query.size() > 2 && query.front() == '/') {
    absl::string_view pattern = query.substr(1);
    if (absl::EndsWith(pattern, "/i")) pattern.remove_suffix(1);
    if (absl::ConsumeSuffix(&pattern, "/") && !pattern.empty()) {
      QueryOperators out;
      out.kind = QueryOperators::Kind::kRegex;
      out.text = std::string(pattern);
      return out;
    }
  }
  return Reader(query).Read();
}

}  // namespace toolrack
