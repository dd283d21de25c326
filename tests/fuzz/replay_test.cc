// Runs the hand-written corpus of one fuzz target through it, each input whole and cut short.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace toolrack {
namespace {

void Feed(const std::string& input) {
  // A copy of exactly this size, so that a sanitizer sees a read beyond it.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

TEST(Corpus, EveryInputAndEveryPrefixOfItIsSurvived) {
  size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TOOLRACK_CORPUS)) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    Feed(input);
    const size_t step = 1 + input.size() / 256;
    for (size_t size = 0; size < input.size(); size += step) Feed(input.substr(0, size));
    ++inputs;
  }
  EXPECT_GE(inputs, 5u) << "the corpus is missing";
}

}  // namespace
}  // namespace toolrack
