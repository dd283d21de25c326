// Reads what a model writes, as it comes: one incremental machine for whole and streaming parse.
//
// Any split of the bytes, also inside a character or a marker, gives the same events once
// neighbours are joined. Held back is at most a marker's beginning, an undecided message header (1
// KiB) or one parameter's value. Linear time. A parser never fails: what it does not understand
// becomes text or a Malformed event, and it goes on. One parser for one output; not thread-safe.
#ifndef TOOLRACK_RENDERERS_OUTPUT_PARSER_H_
#define TOOLRACK_RENDERERS_OUTPUT_PARSER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "renderers/output.h"

namespace toolrack {

class OutputParser {
 public:
  virtual ~OutputParser() = default;
  // The next bytes.
  void Feed(absl::string_view bytes);
  // The output is over. Nothing may follow.
  void Finish();

 protected:
  // Whole UTF-8 characters.
  virtual void Take(absl::string_view text) = 0;
  virtual void End() = 0;
  virtual void Replaced() = 0;  // a byte that is no UTF-8 became U+FFFD

 private:
  std::string tail_;  // up to 3 bytes of a character
};

// For the dialect of `offered`. Both outlive the parser.
std::unique_ptr<OutputParser> MakeOutputParser(const OfferedTools& offered, OutputSink& sink);

// A whole output, read by the same machine.
v1::ParseOutputResponse ParseText(const OfferedTools& offered, absl::string_view bytes);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_OUTPUT_PARSER_H_
