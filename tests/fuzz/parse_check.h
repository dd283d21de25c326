// What holds for every output that a parser reads. The first byte says how the text is cut and
// whether reading is strict.
#ifndef TOOLRACK_TESTS_FUZZ_PARSE_CHECK_H_
#define TOOLRACK_TESTS_FUZZ_PARSE_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/base/utf8.h"
#include "renderers/json_text.h"
#include "renderers/output_parser.h"
#include "tests/fuzz/check.h"
#include "tests/renderers/rig.h"

namespace toolrack {

inline const OfferedTools& FuzzTools(const char* renderer) {
  static const auto* kTools = [] {
    auto* tools = new Tools;
    tools->Add("go", "",
               R"({"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"},)"
               R"("b":{"type":["boolean","null"]},"l":{"type":"array"}}})");
    tools->Add("srv__put", "", R"({"type":"object"})");
    return tools;
  }();
  static const auto* kView = new std::vector<const v1::Tool*>(kTools->View());
  static const auto* kOffered = new OfferedTools(*FindRenderer(renderer), *kView);
  return *kOffered;
}

inline void CheckEvents(const v1::ParseOutputResponse& read, bool strict) {
  for (const v1::OutputEvent& event : read.events()) {
    FUZZ_CHECK(IsUtf8(event.text()) && IsUtf8(event.reasoning()));
    FUZZ_CHECK(IsUtf8(event.malformed().span()) && IsUtf8(event.malformed().reason()));
    FUZZ_CHECK(!event.has_malformed() || !event.malformed().reason().empty());
    if (!event.has_call() || !event.call().complete()) continue;
    const auto arguments = ParseJsonText(event.call().arguments_json(), 1000);
    FUZZ_CHECK(arguments.has_value() && arguments->is_object());
  }
  FUZZ_CHECK(!strict || read.repairs().empty());
  for (const v1::OutputRepair& repair : read.repairs()) FUZZ_CHECK(!repair.kind().empty());
}

inline void CheckText(const char* renderer, const uint8_t* data, size_t size) {
  if (size == 0) return;
  const bool strict = (data[0] & 0x80) != 0;
  const size_t step = 1 + (data[0] & 0x3F);
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const OfferedTools& offered = FuzzTools(renderer);
  const v1::ParseOutputResponse whole = ParseText(offered, text, {strict});
  CheckEvents(whole, strict);
  v1::ParseOutputResponse pieces;
  OutputCollector collector(pieces);
  const auto parser = MakeOutputParser(offered, collector, {strict});
  for (size_t at = 0; at < text.size(); at += step) parser->Feed(text.substr(at, step));
  parser->Finish();
  FUZZ_CHECK(pieces.SerializeAsString() == whole.SerializeAsString());
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_FUZZ_PARSE_CHECK_H_
