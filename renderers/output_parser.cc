#include "renderers/output_parser.h"

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"
#include "renderers/call_format.h"
#include "renderers/family_engines.h"
#include "renderers/harmony_parser.h"
#include "renderers/xml_parser.h"

namespace toolrack {
namespace {

// How many bytes at the front of `text` are the beginning of a well-formed character, which is not
// whole. 0: they are no beginning.
size_t BeginningOfCharacter(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (length == 0) return 0;
  size_t good = 1;
  while (good < length && good < text.size() && byte(good) >= low && byte(good) <= high) {
    ++good;
    low = 0x80;
    high = 0xBF;
  }
  return good;
}

// All of it is text.
class TextParser final : public OutputParser {
 public:
  explicit TextParser(OutputSink& sink) : sink_(sink) {}

 private:
  void Take(absl::string_view text) override {
    at_ += text.size();
    sink_.Text(text);
  }
  void End() override {}
  void Replaced() override {
    if (strict()) {
      v1::OutputMalformed malformed;
      malformed.set_reason(StrictReason("invalid_utf8", at_));
      return sink_.Malformed(malformed);
    }
    v1::OutputRepair repair;
    repair.set_kind("invalid_utf8");
    repair.set_offset(at_);
    sink_.Repair(repair);
  }
  OutputSink& sink_;
  uint64_t at_ = 0;
};

std::unique_ptr<OutputParser> MakeFamilyParser(const OfferedTools& offered, OutputSink& sink) {
  switch (offered.dialect().calls->shape) {
    case CallShape::kTags:
      return MakeTagCallParser(offered, sink);
    case CallShape::kPython:
    case CallShape::kBrace:
      return MakeLiteralCallParser(offered, sink);
    case CallShape::kTree:
      return MakeTreeCallParser(offered, sink);
    case CallShape::kJson:
      break;
  }
  return MakeJsonCallParser(offered, sink);
}

}  // namespace

void OutputParser::Feed(absl::string_view bytes) {
  std::string joined;
  if (!tail_.empty()) {
    joined = tail_ + std::string(bytes);
    tail_.clear();
    bytes = joined;
  }
  while (!bytes.empty()) {
    const size_t good = FirstInvalidUtf8(bytes);
    if (good > 0) Take(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (bytes.empty()) return;
    const size_t begun = BeginningOfCharacter(bytes);
    if (begun == bytes.size()) {
      tail_ = std::string(bytes);
      return;
    }
    Replaced();
    Take("\uFFFD");
    bytes.remove_prefix(begun == 0 ? 1 : begun);
  }
}

void OutputParser::Finish() {
  if (!tail_.empty()) {
    tail_.clear();
    Replaced();
    Take("\uFFFD");
  }
  End();
}

namespace {

std::unique_ptr<OutputParser> MakeEngine(const OfferedTools& offered, OutputSink& sink) {
  switch (offered.dialect().parse) {
    case ParseEngine::kHarmony:
      return MakeHarmonyParser(offered, sink);
    case ParseEngine::kXmlParameters:
      return MakeXmlParser(offered, sink);
    case ParseEngine::kFamily:
      return MakeFamilyParser(offered, sink);
    case ParseEngine::kNone:
      break;
  }
  return std::make_unique<TextParser>(sink);
}

}  // namespace

std::unique_ptr<OutputParser> MakeOutputParser(const OfferedTools& offered, OutputSink& sink,
                                               const ParseOptions& options) {
  std::unique_ptr<OutputParser> parser = MakeEngine(offered, sink);
  parser->SetOptions(options);
  return parser;
}

v1::ParseOutputResponse ParseText(const OfferedTools& offered, absl::string_view bytes,
                                  const ParseOptions& options) {
  v1::ParseOutputResponse out;
  OutputCollector collector(out);
  const std::unique_ptr<OutputParser> parser = MakeOutputParser(offered, collector, options);
  parser->Feed(bytes);
  parser->Finish();
  return out;
}

std::string StrictReason(absl::string_view repair, uint64_t offset) {
  return absl::StrCat("not written as this family writes it: ", repair, " at byte ", offset,
                      "; strict reading mends nothing, write it again");
}

}  // namespace toolrack
