// Arguments as models write them, on their way to JSON. One pass, piece by piece.
#ifndef TOOLRACK_RENDERERS_ARGUMENTS_H_
#define TOOLRACK_RENDERERS_ARGUMENTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

// Reads one JSON object and gives it out as it comes, byte for byte; what is not quite JSON is
// mended, and each mending named: `python_literal` (True, None, 'text'), `trailing_comma`,
// `raw_control_character`, `bad_escape`, `stray_closer`, `array_unwrapped`, `arguments_as_string`.
// Anything else is not understood. What was given out is never taken back; the same text in any
// pieces gives the same bytes. Linear.
class ArgumentsReader {
 public:
  enum class End { kComplete, kTruncated, kNotUnderstood };
  // Whether there is more text behind the object that is not for this reader.
  enum class Extent { kAllText, kOneValue };

  explicit ArgumentsReader(Extent extent = Extent::kAllText);
  ~ArgumentsReader();

  // Appends to `out` what is certain, and to `repairs` what was mended. `text` holds whole UTF-8
  // characters. Gives how much was read: up to what is not understood, or, with kOneValue, up to
  // the end of the value.
  size_t Feed(absl::string_view text, std::string& out, std::vector<absl::string_view>& repairs);
  // The value was read.
  bool done() const { return state_ == State::kDone && !unwrapped_; }
  bool bad() const { return state_ == State::kBad; }
  // Within a string or before a whole value: what comes may be anything.
  bool in_string() const {
    return state_ == State::kString || state_ == State::kEscape || state_ == State::kHex ||
           state_ == State::kWholeString;
  }
  // The text is over. Nothing but blanks, `null` and `None` mean `{}`.
  End Finish(std::string& out, std::vector<absl::string_view>& repairs);
  // One line, when the end was not kComplete.
  const std::string& reason() const { return reason_; }

 private:
  enum class State {
    kStart,        // before the object
    kWholeString,  // the arguments are a JSON string: held until it ends
    kKeyOrEnd,     // behind `{`
    kKey,          // behind a comma
    kColon,
    kValue,
    kValueOrEnd,  // behind `[`
    kString,
    kEscape,
    kHex,
    kWord,
    kAfter,  // behind a value
    kDone,   // behind the object
    kBad,
  };
  struct Writer;
  void Step(char c, Writer& writer);
  void Begin(char c, Writer& writer);
  void EndWord(Writer& writer);
  void EndValue();
  void InString(char c, Writer& writer);
  void AfterBackslash(char c, Writer& writer);
  void Close(char c, Writer& writer);
  void Fail(absl::string_view reason);

  const Extent extent_;
  State state_ = State::kStart;
  std::string stack_;  // `{` and `[`
  bool key_ = false;   // the string being read is a key
  char quote_ = '"';
  std::string word_;
  std::string held_;  // a comma and the blanks behind it, until it is known that it counts
  std::string hex_;
  bool unwrapped_ = false;
  bool escaped_ = false;  // within kWholeString
  std::unique_ptr<ArgumentsReader> inner_;
  std::string reason_;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_ARGUMENTS_H_
