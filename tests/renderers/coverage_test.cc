// The table of the README is what the rows of the open families say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "renderers/families.h"

namespace toolrack {
namespace {

absl::string_view Streamed(const CallFormat& calls) {
  if (calls.shape == CallShape::kTree) return "each argument";
  if (calls.bare) return "as it comes; bare calls when they are whole";
  return "as it comes";
}

std::string Table() {
  std::string out =
      "| dialect | models | declaration | parsed | streamed | history | native |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Family& family : AllFamilies()) {
    const bool own = !family.calls.spelling.declaration.empty();
    absl::StrAppend(&out, "| `", family.name, "` | ", family.description, " | ",
                    own ? "its own" : "ours", " | yes | ", Streamed(family.calls),
                    " | its calls and results | ", own ? "native" : "generic", " |\n");
  }
  return out;
}

TEST(CoverageTest, TheReadmeSaysWhatTheRowsSay) {
  std::stringstream text;
  text << std::ifstream(std::string(TOOLRACK_SOURCE_DIR) + "/README.md").rdbuf();
  EXPECT_NE(text.str().find(Table()), std::string::npos) << Table();
}

}  // namespace
}  // namespace toolrack
