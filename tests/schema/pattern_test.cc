// ECMA-262 expressions on RE2: the same texts match, and what cannot be the same is refused.
#include "registry/schema/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace toolrack {
namespace {

struct Case {
  const char* pattern;
  std::string text;
  bool matches;
};

TEST(Pattern, MatchesWhatJavaScriptMatches) {
  const std::vector<Case> cases = {
      {"b", "abc", true},
      {"^b", "abc", false},
      {"^b", "a\nb", false},
      {"a$", "a\nb", false},
      {"a$", "a\n", false},
      {"^[a-zA-Z0-9_-]{1,64}$", "get_user", true},
      {"^[a-zA-Z0-9_-]{1,64}$", "get user", false},
      {"^\\d{4}-\\d{2}$", "2024-01", true},
      {"^\\d$", "\u0661", false},
      {"^\\w$", "\u00e9", false},
      {"^\\W$", "\u00e9", true},
      {"^\\s$", "\u00a0", true},
      {"^\\s$", "\ufeff", true},
      {"^\\s$", "\v", true},
      {"^\\S$", "\u2003", false},
      {"^\\S$", "x", true},
      {"^[\\s]$", "\u2028", true},
      {"^[^\\S]$", "\u2028", true},
      {"^[^\\s]$", "\u2028", false},
      {"^[\\S]$", "\u3000", false},
      {"^\\S{1,3}$", "日本語", true},
      {"^.$", "日", true},
      {"^.$", "😀", true},
      {"^.$", "\r", false},
      {"^.$", "\u2028", false},
      {"^[é]$", "é", true},
      {"^\\u00e9$", "é", true},
      {"^\\u{e9}$", "é", true},
      {"^\\xe9$", "é", true},
      {"^\\uD83D\\uDE00$", "😀", true},
      {"^[\\uD83D\\uDE00-\\uD83D\\uDE4F]$", "😁", true},
      {"^\\p{L}+$", "añ日", true},
      {"^\\p{Letter}+$", "añ日", true},
      {"^\\p{Lu}$", "É", true},
      {"^\\p{Uppercase_Letter}$", "é", false},
      {"^\\p{gc=Nd}$", "7", true},
      {"^\\P{L}$", "7", true},
      {"^\\p{Script=Greek}$", "λ", true},
      {"^[\\p{L}_-]+$", "a-é_", true},
      {"^(?<year>\\d+)$", "2024", true},
      {"^(?:a|b)+$", "abba", true},
      {"\\bcat\\b", "a cat sat", true},
      {"\\Bcat", "bobcat", true},
      {"[]", "anything", false},
      {"^[^]$", "\n", true},
      {"^[[:alpha:]]$", "a]", true},
      {"^[[:alpha:]]$", "b", false},
      {"^[\\w-.]+$", "a-b.c", true},
      {"^[a-]$", "-", true},
      {"^[-a]$", "-", true},
      {"^[\\b]$", "\b", true},
      {"^a{$", "a{", true},
      {"^a{,5}$", "a{,5}", true},
      {"^a{2}$", "aa", true},
      {"^a{2,}$", "aaa", true},
      {"^]$", "]", true},
      {"^}$", "}", true},
      {"^\\/$", "/", true},
      {"^\\.$", "x", false},
      {"^\\cA$", "\x01", true},
      {"^\\0$", std::string(1, '\0'), true},
      {"^a.b$", std::string("a\0b", 3), true},
      {"^a+?b*?$", "aab", true},
      {"^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", false},
      {"", "anything", true},
  };
  for (const Case& each : cases) {
    const auto pattern = Pattern::Create(each.pattern);
    ASSERT_TRUE(pattern.ok()) << each.pattern << ": " << pattern.status();
    EXPECT_EQ(pattern->Matches(each.text), each.matches)
        << each.pattern << " on " << each.text << " as " << *TranslatePattern(each.pattern);
  }
}

TEST(Pattern, RefusesByNameWhatRe2CannotDo) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"(?=a)", "look-ahead"},
      {"(?!a)", "look-ahead"},
      {"(?<=a)b", "look-behind"},
      {"(?<!a)b", "look-behind"},
      {"(a)\\1", "back-reference"},
      {"(?<n>a)\\k<n>", "back-reference"},
      {"\\uD800", "surrogate"},
      {"\\01", "octal"},
      {"\\p{Emoji}", "`Emoji`"},
      {"a{100000}", "repeat count"},
      {"((a{100}){100}){100}", "cannot be enforced"},
  };
  for (const auto& [pattern, word] : cases) {
    const absl::Status status = Pattern::Create(pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << pattern << ": " << status;
    EXPECT_NE(status.message().find(word), absl::string_view::npos) << status;
  }
}

TEST(Pattern, RefusesWhatIsNoRegularExpression) {
  for (const char* pattern :
       {"[",    "(",       ")",   "a)",  "(?",    "(?i)a", "(?P<n>a)", "*",     "a**",
        "^*",   "a{2}{3}", "a++", "\\",  "[z-a]", "[\\",   "\\x1",     "\\u12", "\\u{110000}",
        "\\c1", "\\A",     "\\Q", "\\a", "\\pL",  "(?<n",  "[a"}) {
    const absl::Status status = Pattern::Create(pattern).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << pattern << ": " << status;
  }
}

TEST(Pattern, TakesLinearTimeOnLongTexts) {
  const auto pattern = Pattern::Create("^(.|\\n)*$");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->Matches(std::string(1 << 20, 'x')));
}

}  // namespace
}  // namespace toolrack
