// Parsing for tests: events as one line of text each.
#ifndef TOOLRACK_TESTS_RENDERERS_PARSE_RIG_H_
#define TOOLRACK_TESTS_RENDERERS_PARSE_RIG_H_

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "renderers/output_parser.h"
#include "tests/renderers/rig.h"

namespace toolrack {

// Everything that a parser says, neighbours joined.
class Script final : public OutputSink {
 public:
  void Text(absl::string_view text) override { Join('t', text); }
  void Reasoning(absl::string_view text) override { Join('r', text); }
  void CallBegin(const v1::OutputCallBegin& begin) override {
    Add(absl::StrCat("begin ", begin.call_id(), " ", begin.name(), "/", begin.wire_name()));
  }
  void Arguments(absl::string_view piece) override { Join('a', piece); }
  void CallEnd(const v1::OutputCallEnd& end) override {
    Add(end.complete() ? "end" : "end incomplete");
  }
  void Malformed(const v1::OutputMalformed& malformed) override {
    Add(absl::StrCat("malformed [", malformed.span(), "] ", malformed.reason()));
  }
  void Repair(const v1::OutputRepair& repair) override {
    repairs_.push_back(absl::StrCat(repair.kind(), "@", repair.offset()));
  }
  std::string ToString() const {
    std::string out;
    for (const std::string& line : lines_) absl::StrAppend(&out, line, "\n");
    return out;
  }
  const std::vector<std::string>& repairs() const { return repairs_; }

 private:
  void Add(std::string line) {
    lines_.push_back(std::move(line));
    last_ = 0;
  }
  void Join(char kind, absl::string_view text) {
    if (text.empty()) return;
    if (last_ != kind) Add(std::string(1, kind) + " ");
    absl::StrAppend(&lines_.back(), absl::CEscape(text));
    last_ = kind;
  }
  std::vector<std::string> lines_;
  std::vector<std::string> repairs_;
  char last_ = 0;
};

// Parses pieces; `repairs` are appended when asked for.
inline std::string Events(const OfferedTools& offered, const std::vector<std::string>& pieces,
                          std::vector<std::string>* repairs = nullptr) {
  Script script;
  const auto parser = MakeOutputParser(offered, script);
  for (const std::string& piece : pieces) parser->Feed(piece);
  parser->Finish();
  if (repairs != nullptr) *repairs = script.repairs();
  return script.ToString();
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_RENDERERS_PARSE_RIG_H_
