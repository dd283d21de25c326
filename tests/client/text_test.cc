#include "client/cli/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/table.h"

namespace toolrack {
namespace {

TEST(Text, ControlCharactersAreShownInsteadOfSent) {
  EXPECT_EQ(Printable("a\x1b[31mb\x07\x7f", Lines::kKeep), "a\\x1b[31mb\\x07\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b", Lines::kKeep), "\\x9b");            // CSI in one character
  EXPECT_EQ(Printable("x\xe2\x80\xaey", Lines::kKeep), "x\\u202ey");  // right-to-left override
  EXPECT_EQ(Printable("x\xe2\x81\xa6y", Lines::kKeep), "x\\u2066y");  // isolate
  EXPECT_EQ(Printable(std::string("a\0b", 3), Lines::kKeep), "a\\x00b");
}

TEST(Text, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(Printable("a\xff\xfe z", Lines::kKeep), "a\xef\xbf\xbd\xef\xbf\xbd z");
}

TEST(Text, LinesAreKeptOrJoined) {
  EXPECT_EQ(Printable("a\r\n\tb\n", Lines::kKeep), "a\n\tb\n");
  EXPECT_EQ(Printable("  a \r\n\t b\n", Lines::kJoin), "a b");
  EXPECT_EQ(Printable("a\rb", Lines::kKeep), "a\\x0db");
}

TEST(Text, WideCharactersCountTwiceAndCombiningOnesNot) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("検索"), 4u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);
  EXPECT_EQ(DisplayWidth("🔧"), 2u);
  EXPECT_EQ(DisplayWidth(""), 0u);
}

TEST(Text, ACutNeverExceedsTheWidthAndNeverSplitsACharacter) {
  EXPECT_EQ(CutToWidth("hello", 5), "hello");
  EXPECT_EQ(CutToWidth("hello", 4), "hel…");
  EXPECT_EQ(CutToWidth("検索ツール", 5), "検索…");
  EXPECT_EQ(CutToWidth("検索ツール", 4), "検…");
  EXPECT_EQ(CutToWidth("hello", 0), "");
  const std::string mixed = "a検b索c🔧de";
  for (size_t width = 0; width < 14; ++width) {
    const std::string cut = CutToWidth(mixed, width);
    EXPECT_LE(DisplayWidth(cut), width);
    EXPECT_EQ(Printable(cut, Lines::kKeep), cut);
  }
}

TEST(Text, TimesAndSizesAreShort) {
  google::protobuf::Duration duration;
  duration.set_nanos(250000);
  EXPECT_EQ(DurationText(duration), "250us");
  duration.set_nanos(250000000);
  EXPECT_EQ(DurationText(duration), "250ms");
  duration.set_seconds(1);
  EXPECT_EQ(DurationText(duration), "1.25s");
  duration.set_seconds(192);
  EXPECT_EQ(DurationText(duration), "3m12s");
  duration.set_seconds(90000);
  EXPECT_EQ(DurationText(duration), "1d1h");
  EXPECT_EQ(BytesText(512), "512 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(64ull << 20), "64 MiB");
  google::protobuf::Timestamp time;
  EXPECT_EQ(TimeText(time), "-");
  time.set_seconds(86400);
  EXPECT_EQ(TimeText(time), "1970-01-02T00:00:00Z");
}

TEST(Table, ColumnsLineUpByWidthOnScreen) {
  Table table({"NAME", "TEXT"});
  table.Add({"検索", "wide"});
  table.Add({"echo", "line\none"});
  table.Add({"x", ""});
  std::ostringstream out;
  table.Print(out, 0);
  EXPECT_EQ(out.str(), "NAME  TEXT\n検索  wide\necho  line one\nx     -\n");
}

TEST(Table, LinesAreCutToTheTerminal) {
  Table table({"NAME", "TEXT"});
  table.Add({"echo", "a long description"});
  std::ostringstream out;
  table.Print(out, 12);
  EXPECT_EQ(out.str(), "NAME  TEXT\necho  a lon…\n");
}

}  // namespace
}  // namespace toolrack
