// ReadConfig on any bytes: it always says what is wrong, and what it takes stays legal.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "registry/base/utf8.h"
#include "server/config.h"
#include "tests/fuzz/check.h"

namespace toolrack {
namespace {

void Check(absl::string_view text) {
  std::vector<ConfigMistake> mistakes;
  const v1::Config config = ReadConfig(text, mistakes);
  for (const ConfigMistake& mistake : mistakes) {
    FUZZ_CHECK(!mistake.message.empty());
    FUZZ_CHECK(mistake.line >= 0);
    FUZZ_CHECK(mistake.column >= 0);
  }
  FUZZ_CHECK(mistakes.size() <= 101);
  FUZZ_CHECK(IsUtf8(FormatMistakes("f", mistakes)));
  if (!mistakes.empty()) return;
  FUZZ_CHECK(CheckConfig(config).empty());
  const v1::Config whole = WithDefaults(config);
  FUZZ_CHECK(CheckConfig(whole).empty());
  FUZZ_CHECK(WithDefaults(whole).SerializeAsString() == whole.SerializeAsString());
  FUZZ_CHECK(whole.limits().max_tools() > 0);
}

}  // namespace
}  // namespace toolrack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  toolrack::Check(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
