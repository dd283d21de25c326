// The parser of `harmony` on any bytes: the same events however they are cut, calls with JSON
// objects only.
#include "tests/fuzz/parse_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  toolrack::CheckText("harmony", data, size);
  return 0;
}
