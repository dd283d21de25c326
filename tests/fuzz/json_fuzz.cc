// ParseJson on any bytes: bounded, and what it takes it gives back.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "registry/base/json.h"
#include "registry/base/utf8.h"
#include "tests/fuzz/check.h"

namespace toolrack {
namespace {

size_t DepthOf(const Json& value) {
  size_t depth = 0;
  for (const Json& each : value) depth = std::max(depth, each.is_structured() ? DepthOf(each) : 0);
  return depth + 1;
}

void Check(absl::string_view text) {
  const JsonLimits limits{1 << 16, 16, 1000};
  Json value;
  const auto outcome = ParseJson(text, limits, value);
  if (const auto* fault = std::get_if<JsonFault>(&outcome)) {
    FUZZ_CHECK(!fault->message.empty());
    FUZZ_CHECK(IsUtf8(fault->message));
    FUZZ_CHECK(fault->offset <= text.size());
    FUZZ_CHECK(fault->message != "not JSON");  // the fast reader alone found something
  } else {
    FUZZ_CHECK(IsUtf8(text));
    FUZZ_CHECK(!value.is_structured() || DepthOf(value) <= limits.max_depth);
    // The same value, to the last bit, as another parser reads.
    FUZZ_CHECK(Json::parse(text.begin(), text.end()).dump() == value.dump());
    Json again;
    FUZZ_CHECK(std::holds_alternative<std::monostate>(
        ParseJson(DumpJson(value), {1 << 20, 16, 1000}, again)));
    FUZZ_CHECK(again == value);
  }
  Json quoted;
  FUZZ_CHECK(
      std::holds_alternative<std::monostate>(ParseJson(JsonQuote(text), {SIZE_MAX, 1, 1}, quoted)));
  FUZZ_CHECK(quoted.get_ref<const std::string&>() == ReplaceInvalidUtf8(text));
}

}  // namespace
}  // namespace toolrack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  toolrack::Check(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
