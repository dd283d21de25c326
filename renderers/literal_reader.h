// Arguments written as literals of a programming language, on their way to JSON: Python's keyword
// arguments, and Gemma's braces. One pass, piece by piece.
#ifndef TOOLRACK_RENDERERS_LITERAL_READER_H_
#define TOOLRACK_RENDERERS_LITERAL_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/value_codec.h"

namespace toolrack {

// Reads `k=v, …)` or `k:v, …}`, behind the opener, up to and with the closer, and writes one JSON
// object as it goes. Names of Python's values, strings with its escapes and prefixes, tuples and
// numbers with `_` or `L` are read; calls, operators, positional arguments and names of anything
// else are not understood. What was given out is never taken back; the same text in any pieces
// gives the same bytes. Linear.
class LiteralReader {
 public:
  struct Rules {
    char separator = '=';     // between key and value; `:` is always taken within braces
    absl::string_view quote;  // what texts stand between, beside `"` and `'`
    bool bare_keys = false;   // also in nested braces
    // Types by the schema, for texts in quotes whose property is no text; empty: quotes decide.
    std::function<AllowedTypes(const std::string&)> types;
  };

  // `closer` ends it.
  LiteralReader(Rules rules, char closer);

  // Gives how much was read: up to the closer, or to what is not understood.
  size_t Feed(absl::string_view text, std::string& out, std::vector<absl::string_view>& repairs);
  bool done() const { return state_ == State::kDone; }
  bool bad() const { return state_ == State::kBad; }
  const std::string& reason() const { return reason_; }

 private:
  enum class State {
    kKeyOrEnd,
    kKeyWord,
    kSeparator,
    kValue,
    kValueOrEnd,
    kOpening,   // one quote was read
    kOpening2,  // two of them
    kString,
    kEscape,
    kHex,
    kDelimiter,  // in the family's own quote, opening
    kDelimited,  // behind it
    kWord,
    kAfter,
    kDone,
    kBad,
  };
  bool Step(char c);
  bool BeginValue(char c);
  bool EndWord();
  void BeginString();
  void EndString();
  void EndValue();
  void InString(char c);
  void Escape(char c);
  void Unicode(uint32_t point);
  void FlushSurrogate();
  void Put(absl::string_view text);
  void PutEscaped(absl::string_view text);
  bool Close(char c);
  bool Fail(absl::string_view reason);

  const Rules rules_;
  const char closer_;
  std::string* out_ = nullptr;
  std::vector<absl::string_view>* repairs_ = nullptr;
  State state_ = State::kKeyOrEnd;
  bool begun_ = false;
  std::string stack_;   // `a` for the arguments, `{`, `[`, `(`
  bool key_ = false;    // the string being read is a key
  bool comma_ = false;  // one is due before the next item
  char quote_ = '"';
  bool triple_ = false, raw_ = false;
  int quotes_ = 0;  // in a row, within a triple string
  std::string word_;
  std::string key_text_;
  std::string hex_;
  size_t hex_size_ = 0;
  uint32_t high_ = 0;   // of a surrogate pair
  size_t matched_ = 0;  // of the family's own quote
  bool holding_ = false;
  AllowedTypes types_;
  std::string held_;
  std::string reason_;
};

// One whole value as JSON; empty when it is no literal.
std::string ReadLiteral(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_LITERAL_READER_H_
