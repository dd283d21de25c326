#include "registry/search/tokens.h"

#include <libstemmer.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

enum class Kind : uint8_t { kGap, kUpper, kLower, kDigit, kCjk };

bool IsCjk(utf8proc_int32_t c) {
  return (c >= 0x3040 && c <= 0x30FF) ||  // Hiragana, Katakana
         (c >= 0x3400 && c <= 0x4DBF) ||  // Han, extension A
         (c >= 0x4E00 && c <= 0x9FFF) ||  // Han
         (c >= 0xAC00 && c <= 0xD7AF) ||  // Hangul
         (c >= 0xF900 && c <= 0xFAFF) ||  // Han, compatibility
         (c >= 0x20000 && c <= 0x3FFFF);  // Han, further extensions
}

Kind KindOf(utf8proc_int32_t c) {
  if (c < 0x80) {
    const char ascii = static_cast<char>(c);
    return absl::ascii_islower(ascii)   ? Kind::kLower
           : absl::ascii_isupper(ascii) ? Kind::kUpper
           : absl::ascii_isdigit(ascii) ? Kind::kDigit
                                        : Kind::kGap;
  }
  if (IsCjk(c)) return Kind::kCjk;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return Kind::kUpper;
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
      return Kind::kLower;
    case UTF8PROC_CATEGORY_ND:
      return Kind::kDigit;
    default:
      return Kind::kGap;
  }
}

void AppendUtf8(utf8proc_int32_t c, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(c, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

std::vector<utf8proc_int32_t> CodePoints(absl::string_view text) {
  std::vector<utf8proc_int32_t> out;
  out.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t used =
        utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &c);
    if (used <= 0) {  // not UTF-8: a gap
      out.push_back(' ');
      ++at;
    } else {
      out.push_back(c);
      at += static_cast<size_t>(used);
    }
  }
  return out;
}

// NFKC, so that full-width letters and ligatures are what they look like. Texts that utf8proc does
// not take stay as they are.
std::string Nfkc(absl::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &mapped,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  if (size < 0) return std::string(text);
  return std::string(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
}

// `at(i)` is a code point of any integer type.
template <typename CodePoint>
void Split(const CodePoint* text, size_t size, absl::FunctionRef<void(absl::string_view)> take) {
  std::string word;
  Kind previous = Kind::kGap;
  std::string last_cjk;
  const auto end_word = [&] {
    if (!word.empty()) take(word);
    word.clear();
  };
  for (size_t i = 0; i < size; ++i) {
    const auto c =
        static_cast<utf8proc_int32_t>(static_cast<std::make_unsigned_t<CodePoint>>(text[i]));
    const Kind kind = KindOf(c);
    if (kind == Kind::kCjk) {
      end_word();
      std::string now;
      AppendUtf8(c, now);
      take(now);
      if (previous == Kind::kCjk) take(last_cjk + now);
      last_cjk = std::move(now);
    } else if (kind == Kind::kGap) {
      end_word();
      const bool is_s = (c == '\'' || c == 0x2019) && previous != Kind::kGap && i + 1 < size &&
                        (text[i + 1] == 's' || text[i + 1] == 'S') &&
                        (i + 2 >= size || KindOf(text[i + 2]) == Kind::kGap);
      if (is_s) ++i;
    } else {
      const bool digits = kind == Kind::kDigit, digits_before = previous == Kind::kDigit;
      const bool capital = kind == Kind::kUpper;
      const bool acronym_ends = capital && previous == Kind::kUpper && i + 1 < size &&
                                KindOf(text[i + 1]) == Kind::kLower;
      if (digits != digits_before || (capital && previous == Kind::kLower) || acronym_ends) {
        end_word();
      }
      if (c < 0x80) {
        word += absl::ascii_tolower(static_cast<char>(c));
      } else {
        AppendUtf8(utf8proc_tolower(c), word);
      }
    }
    previous = kind;
  }
  end_word();
}

struct FreeStemmer {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

}  // namespace

void SplitWords(absl::string_view text, absl::FunctionRef<void(absl::string_view)> take) {
  if (IsAscii(text)) return Split(text.data(), text.size(), take);
  const std::vector<utf8proc_int32_t> points = CodePoints(Nfkc(text));
  Split(points.data(), points.size(), take);
}

std::string FoldName(absl::string_view text) {
  std::string out;
  SplitWords(text, [&out](absl::string_view word) {
    // Of CJK runs the single characters are enough.
    const bool pair =
        (word[0] & 0x80) != 0 && CodePoints(word).size() == 2 && IsCjk(CodePoints(word)[0]);
    if (!pair) out.append(word.data(), word.size());
  });
  return out;
}

bool IsStopWord(absl::string_view word) {
  static const auto* words = new absl::flat_hash_set<absl::string_view>{
      "a",       "about",  "above",  "after",  "all",    "also",    "am",      "an",     "and",
      "any",     "are",    "as",     "at",     "be",     "because", "been",    "being",  "between",
      "both",    "but",    "by",     "can",    "could",  "did",     "do",      "does",   "doing",
      "during",  "each",   "either", "etc",    "for",    "from",    "further", "had",    "has",
      "have",    "having", "he",     "hello",  "help",   "her",     "here",    "hers",   "hey",
      "hi",      "him",    "his",    "how",    "i",      "if",      "im",      "in",     "into",
      "is",      "it",     "its",    "itself", "just",   "kindly",  "let",     "like",   "ll",
      "me",      "might",  "must",   "my",     "myself", "need",    "needs",   "no",     "nor",
      "not",     "now",    "of",     "on",     "or",     "other",   "our",     "ours",   "out",
      "over",    "own",    "please", "re",     "s",      "same",    "shall",   "she",    "should",
      "show",    "so",     "some",   "such",   "t",      "tell",    "than",    "thanks", "that",
      "the",     "their",  "them",   "then",   "there",  "these",   "they",    "this",   "those",
      "through", "to",     "too",    "under",  "up",     "us",      "ve",      "very",   "via",
      "want",    "was",    "we",     "were",   "what",   "when",    "where",   "which",  "while",
      "who",     "whom",   "whose",  "why",    "will",   "with",    "within",  "would",  "you",
      "your",    "yours",
  };
  return words->contains(word);
}

std::string Stem(absl::string_view word) {
  constexpr size_t kShortest = 3;
  if (word.size() < kShortest || !std::all_of(word.begin(), word.end(), absl::ascii_islower)) {
    return std::string(word);
  }
  // A stemmer may not be shared by threads.
  thread_local const std::unique_ptr<sb_stemmer, FreeStemmer> stemmer(
      sb_stemmer_new("english", "UTF_8"));
  const sb_symbol* stem =
      sb_stemmer_stem(stemmer.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                      static_cast<int>(word.size()));
  if (stem == nullptr) return std::string(word);  // out of memory
  return std::string(reinterpret_cast<const char*>(stem),
                     static_cast<size_t>(sb_stemmer_length(stemmer.get())));
}

}  // namespace toolrack
