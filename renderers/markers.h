// What must not come out of a tool's words: a dialect's control tokens and block tags.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_MARKERS_H_
#define TOOLRACK_RENDERERS_MARKERS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

// The markers of one dialect. A text without any comes out of both functions as it went in.
struct Markers {
  // Exact strings, e.g. `<|start|>`.
  std::vector<absl::string_view> literals;
  // XML-like tags by name: `<invoke`, `</invoke`, `<any:invoke`, `</any:invoke`, whatever follows.
  std::vector<absl::string_view> tags;

  // Whether one begins at `at`.
  bool At(absl::string_view text, size_t at) const;
  bool In(absl::string_view text) const;

  // For JSON text: the first character of each marker becomes its `\u` escape, so that the text
  // parses back to the same value. Gives whether anything was changed.
  bool EscapeJson(std::string& json) const;
  // For plain text: a zero-width space (U+200B) behind the first character. Changes the text: say
  // so.
  bool SplitText(std::string& text) const;

 private:
  template <typename Write>
  bool Rewrite(std::string& text, Write write) const;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_MARKERS_H_
