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

struct ParseOptions {
  // Mend nothing: where something would be mended (OutputSink::Repair) it is Malformed instead, and
  // a call that it concerns may not be run.
  bool strict = false;
};

class OutputParser {
 public:
  virtual ~OutputParser() = default;
  // Before the first Feed.
  void SetOptions(const ParseOptions& options) { options_ = options; }
  // The next bytes.
  void Feed(absl::string_view bytes);
  // The output is over. Nothing may follow.
  void Finish();

 protected:
  // Whole UTF-8 characters.
  virtual void Take(absl::string_view text) = 0;
  virtual void End() = 0;
  virtual void Replaced() = 0;  // a byte that is no UTF-8 became U+FFFD
  bool strict() const { return options_.strict; }

 private:
  ParseOptions options_;
  std::string tail_;  // up to 3 bytes of a character
};

// For the dialect of `offered`. Both outlive the parser.
std::unique_ptr<OutputParser> MakeOutputParser(const OfferedTools& offered, OutputSink& sink,
                                               const ParseOptions& options = {});

// A whole output, read by the same machine.
v1::ParseOutputResponse ParseText(const OfferedTools& offered, absl::string_view bytes,
                                  const ParseOptions& options = {});

// Why strict reading took something for malformed: what would have been mended, and where.
std::string StrictReason(absl::string_view repair, uint64_t offset);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_OUTPUT_PARSER_H_
