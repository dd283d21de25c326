// Token counts: how o200k_base cuts text, byte pairs by rank, and what a rank file must be like.
#include "renderers/tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "renderers/bpe.h"
#include "renderers/o200k.h"
#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

// All single bytes, then these.
std::string RankFile(const std::vector<std::string>& joined) {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) {
    absl::StrAppend(&out, absl::Base64Escape(std::string(1, static_cast<char>(byte))), " ", byte,
                    "\n");
  }
  int rank = 256;
  for (const std::string& token : joined) {
    absl::StrAppend(&out, absl::Base64Escape(token), " ", rank++, "\n");
  }
  return out;
}
std::string Written(const std::string& text) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(folder == nullptr ? testing::TempDir() : folder, "/ranks-",
                                        ::testing::UnitTest::GetInstance()->random_seed(), "-",
                                        reinterpret_cast<uintptr_t>(&text), ".tiktoken");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string Pieces(absl::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t length = O200kPiece(text);
    out.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return absl::StrJoin(out, "|");
}

TEST(O200kPieceTest, CutsAsTheEncodingsPatternDoes) {
  EXPECT_EQ(Pieces("Hello world"), "Hello| world");
  EXPECT_EQ(Pieces("camelCaseWord HTTPServer ABC"), "camel|Case|Word| HTTPServer| ABC");
  EXPECT_EQ(Pieces("I'm we'LL don't 'tis"), "I'm| we'LL| don't| '|tis");
  EXPECT_EQ(Pieces("12345678 9"), "123|456|78| |9");
  EXPECT_EQ(Pieces("a  b   c"), "a| | b|  | c");
  EXPECT_EQ(Pieces("x \n\n  y"), "x| \n\n| | y");
  EXPECT_EQ(Pieces("end   "), "end|   ");
  EXPECT_EQ(Pieces("{\"a\": [1, true]}\n/x"), "{\"|a|\":| [|1|,| true|]}\n/|x");
  EXPECT_EQ(Pieces("snake_case"), "snake|_case");
  EXPECT_EQ(Pieces("Größe ÜBER über"), "Größe| ÜBER| über");
  EXPECT_EQ(Pieces("日本語のtext"), "日本語のtext");
  EXPECT_EQ(Pieces("日本語Text TextテキストText"), "日本語Text| Textテキスト|Text");
  EXPECT_EQ(Pieces("e\u0301a \u0301"), "e\u0301a| \u0301");
  EXPECT_EQ(Pieces("\u00a0x\u2003y"), "\u00a0x|\u2003y");
  EXPECT_EQ(Pieces("½ Ⅷ٣"), "½| |Ⅷ٣");
  EXPECT_EQ(Pieces("👍🏽 ok"), "👍🏽| ok");
  EXPECT_EQ(Pieces("\tif"), "\tif");
  EXPECT_EQ(Pieces("A\u0301B"), "A\u0301|B");
}

RC_GTEST_PROP(EstimatePropertyTest, CountsRunsAsItsHeaderSays, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("aaaaaaZZ112  \n{}\"\xC3"))));
  const auto kind = [](unsigned char c) {
    if (c >= 0x80) return 4;
    if (absl::ascii_isalpha(c)) return 0;
    if (absl::ascii_isdigit(c)) return 1;
    return absl::ascii_isspace(c) ? 2 : 3;
  };
  size_t expected = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const int of = kind(static_cast<unsigned char>(text[at]));
    while (at < text.size() && kind(static_cast<unsigned char>(text[at])) == of) ++at;
    const size_t length = at - from;
    const size_t counts[] = {(length + 7) / 8, (length + 2) / 3, length > 1 ? 1u : 0u,
                             (length + 2) / 3, (length + 3) / 4};
    expected += counts[of];
  }
  RC_ASSERT(EstimateTokens().Count(text) == expected);
}

RC_GTEST_PROP(O200kPropertyTest, PiecesAreTheTextAndEachMovesOn, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("aA1 \n'/s\xCC\x81\xC3\x9C"))));
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t length = O200kPiece(rest);
    RC_ASSERT(length > 0u && length <= rest.size());
    rest.remove_prefix(length);
  }
}

TEST(RankTableTest, SaysWhatIsWrongAndWhere) {
  const auto fault = [](const std::string& text) {
    return std::string(RankTable::Parse(text).status().message());
  };
  const std::string good = RankFile({"ab"});
  EXPECT_TRUE(RankTable::Parse(good).ok());
  EXPECT_EQ((*RankTable::Parse(good))->size(), 257u);
  EXPECT_TRUE(absl::StartsWith(fault(good + "nonsense\n"), "line 258: no blank"));
  EXPECT_TRUE(absl::StartsWith(fault(good + "!! 300\n"), "line 258: no base64"));
  EXPECT_TRUE(absl::StartsWith(fault(good + "YWJj x\n"), "line 258: no rank"));
  EXPECT_TRUE(absl::StartsWith(fault(good + "YWJj 7\n"), "line 258: rank 7 stands twice"));
  EXPECT_TRUE(absl::StartsWith(fault(good + "YWI= 999\n"), "the token of rank 999 stands twice"));
  EXPECT_TRUE(absl::StartsWith(fault("YQ== 0\n"), "byte 0 has no rank"));
}

TEST(RankTableTest, JoinsTheLowestRankFirst) {
  // "abc": `bc` has the lower rank and is joined first; `abc` then needs `a` + `bc`.
  const auto table = *RankTable::Parse(RankFile({"bc", "ab", "abc", "cd"}));
  EXPECT_EQ(table->Count(""), 0u);
  EXPECT_EQ(table->Count("a"), 1u);
  EXPECT_EQ(table->Count("abc"), 1u);
  EXPECT_EQ(table->Count("abcd"), 2u);
  EXPECT_EQ(table->Count("aab"), 2u);
  EXPECT_EQ(table->Count("zzz"), 3u);
}

// The definition, as slow as it is.
size_t Slow(const std::map<std::string, uint32_t>& ranks, const std::string& piece) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    size_t best = parts.size();
    uint32_t rank = UINT32_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto at = ranks.find(parts[i] + parts[i + 1]);
      if (at != ranks.end() && at->second < rank) {
        rank = at->second;
        best = i;
      }
    }
    if (best == parts.size()) return parts.size();
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

RC_GTEST_PROP(RankTablePropertyTest, CountsWhatTheDefinitionSays, ()) {
  const auto letter = rc::gen::elementOf(std::string("abc"));
  const auto tokens = *rc::gen::unique<std::vector<std::string>>(
      rc::gen::mapcat(rc::gen::inRange(2, 6), [=](int size) {
        return rc::gen::container<std::string>(static_cast<size_t>(size), letter);
      }));
  const auto table = *RankTable::Parse(RankFile(tokens));
  std::map<std::string, uint32_t> ranks;
  for (size_t i = 0; i < tokens.size(); ++i) ranks[tokens[i]] = static_cast<uint32_t>(256 + i);
  // Below and above the length where the way of counting changes.
  const auto size = *rc::gen::elementOf(std::vector<size_t>{1, 7, 95, 96, 97, 98, 200});
  const auto piece = *rc::gen::container<std::string>(size, letter);
  const size_t expected = ranks.count(piece) > 0 ? 1 : Slow(ranks, piece);
  RC_ASSERT(table->Count(piece) == expected);
}

TEST(O200kTest, CountsWithAFileAndSaysSo) {
  const std::string path = Written(RankFile({"he", "ll", "hell", "hello", " w", "or"}));
  const auto counter = LoadO200k(path);
  ASSERT_TRUE(counter.ok()) << counter.status();
  EXPECT_EQ((*counter)->method(), "o200k_base");
  EXPECT_EQ((*counter)->Count("hello world"), 1u + 4u);
  EXPECT_EQ((*counter)->Count("<|end|>"), 7u);
  EXPECT_EQ((*counter)->CountPrompt("<|start|>hello<|end|>"), 3u);
  EXPECT_EQ((*counter)->CountPrompt("<|other|>"), (*counter)->Count("<|other|>"));
  EXPECT_EQ((*counter)->CountPrompt("<|reserved_200999|>"), 1u);
  Tools tools;
  tools.Add("a", "hello", R"({"type":"object"})");
  const auto view = tools.View();
  const auto exact = RenderInitial(*FindRenderer("openai_chat"), {view, {}, 0, {}, counter->get()});
  EXPECT_EQ(exact.token_method(), "o200k_base");
  EXPECT_EQ(exact.fragments(0).token_estimate(), (*counter)->Count(exact.fragments(0).json()));
  const auto estimated = RenderInitial(*FindRenderer("openai_chat"), {view, {}, 0, {}, nullptr});
  EXPECT_EQ(estimated.token_method(), "estimate");
  std::remove(path.c_str());
}

TEST(O200kTest, AFaultyFileIsNamed) {
  EXPECT_TRUE(absl::StrContains(LoadO200k("/nowhere/ranks").status().message(),
                                "/nowhere/ranks: cannot be read"));
  const std::string path = Written("x\n");
  EXPECT_TRUE(absl::StrContains(LoadO200k(path).status().message(), path + ": line 1: no blank"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace toolrack
