// A provider's answer, any bytes: calls with JSON objects only, and strict reading finds no call
// that the other does not.
#include "renderers/provider_json.h"
#include "tests/fuzz/parse_check.h"

namespace toolrack {
namespace {

size_t Calls(const v1::ParseOutputResponse& read) {
  size_t calls = 0;
  for (const v1::OutputEvent& event : read.events()) calls += event.call().complete() ? 1 : 0;
  return calls;
}

void Check(absl::string_view json) {
  for (const char* renderer : {"anthropic", "openai_responses"}) {
    const OfferedTools& offered = FuzzTools(renderer);
    const auto lenient = ParseProviderJson(offered, json);
    const auto strict = ParseProviderJson(offered, json, {true});
    CheckEvents(lenient, false);
    CheckEvents(strict, true);
    FUZZ_CHECK(Calls(strict) <= Calls(lenient));
    FUZZ_CHECK(ParseJsonText(json).has_value() || Calls(lenient) == 0);
  }
}

}  // namespace
}  // namespace toolrack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  toolrack::Check(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
