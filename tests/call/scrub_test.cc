#include "registry/call/scrub.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/base/json.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

std::string Text(std::string text, const v1::ResultsConfig& config = {}) {
  Scrubber(config).ScrubText(text);
  return text;
}
std::string JsonText(std::string text, const v1::ResultsConfig& config = {}) {
  Scrubber(config).ScrubJson(text);
  return text;
}

// Put together here, so that nobody's scanner takes this file for a leak.
std::string Letters(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out.push_back("aZ3kQ9xW7b"[i % 10]);
  return out;
}
std::vector<std::string> KnownShapes() {
  return {"AKIA" + std::string("IOSFODNN7EXAMPLE"),
          "ghp_" + Letters(36),
          "github_pat_" + Letters(50),
          "glpat-" + Letters(20),
          "AIza" + Letters(35),
          "hf_" + Letters(34),
          "npm_" + Letters(36),
          "sk-" + Letters(40),
          "sk-ant-api03-" + Letters(80),
          "sk_live_" + Letters(24),
          "xoxb-1234567890-" + Letters(24),
          "eyJhbGciOiJIUzI1NiJ9." + Letters(30) + "." + Letters(43)};
}

TEST(ScrubTextTest, TakesOutKnownShapes) {
  for (const std::string& key : KnownShapes()) {
    EXPECT_EQ(Text("before " + key + " after"), "before [redacted] after") << key;
    EXPECT_EQ(Text(key), "[redacted]") << key;
    EXPECT_EQ(JsonText("{\"a\": \"x " + key + "\"}"), "{\"a\": \"x [redacted]\"}") << key;
  }
  EXPECT_EQ(
      Text("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc+/=\n-----END RSA PRIVATE KEY-----\nrest"),
      "[redacted]\nrest");
}

TEST(ScrubTextTest, TakesOutTheValuesOfSecretKeys) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"password=hunter2", "password=[redacted]"},
      {"PASSWORD: hunter2 and more", "PASSWORD: [redacted] and more"},
      {"db_password = \"two words\"; x", "db_password = \"[redacted]\"; x"},
      {"DB-PASSWD='a b'", "DB-PASSWD='[redacted]'"},
      {"api_key=abc&user=me", "api_key=[redacted]&user=me"},
      {"aws_secret_access_key => xyz", "aws_secret_access_key => [redacted]"},
      {"Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"},
      {"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"},
      {"curl -H 'X-Api-Key: abc'", "curl -H 'X-Api-Key: [redacted]'"},
      {"client_secret: s3cr3t\nnext: line", "client_secret: [redacted]\nnext: line"},
      {"token=abcdef", "token=[redacted]"},
      {"{\"password\":\"x\", broken", "{\"password\":\"[redacted]\", broken"},
      {"a \\\"password\\\": \\\"x y\\\", b", "a \\\"password\\\": \\\"[redacted]\\\", b"},
      {"sent bearer abcdef1234567890 there", "sent bearer [redacted] there"},
      {"postgres://me:pa55@db.example/x", "postgres://me:[redacted]@db.example/x"},
  };
  for (const auto& [before, after] : cases) {
    EXPECT_EQ(Text(before), after);
    EXPECT_EQ(Text(after), after) << "again";
  }
}

TEST(ScrubTextTest, LeavesTheRestAlone) {
  for (const std::string text :
       {"", "a", "The password is wrong.", "next_page_token: abc", "cache_key=17", "monkey: banana",
        "max_tokens=500", "key: value", "tokens: 5", "bearer of bad news 2024",
        "see https://example.com/a:b@c", "secretary: Ann", "git-sha 0123456789abcdef",
        "AKIA is a prefix", "sk-short", "author: me"}) {
    EXPECT_EQ(Text(text), text);
  }
}

TEST(ScrubJsonTest, ChangesOnlyWhatIsSecretByteForByte) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"password" : "x","n":1.0,"big":9007199254740993})",
       R"({"password" : "[redacted]","n":1.0,"big":9007199254740993})"},
      {R"({"a":{"apiKey":["x","y",{"deep":"z"}]},"b":"c: d"})",
       R"({"a":{"apiKey":["[redacted]","[redacted]",{"deep":"[redacted]"}]},"b":"c: d"})"},
      {R"({"pin_secret":1234,"secret":null,"password":true,"x":-1})",
       R"({"pin_secret":0,"secret":null,"password":true,"x":-1})"},
      {R"({"note":"password=\"a b\" é"})", R"({"note":"password=\"[redacted]\" é"})"},
      {R"({"inner":"{\"password\":\"a\\\"b\",\"n\":1}"})",
       R"({"inner":"{\"password\":\"[redacted]\",\"n\":1}"})"},
      {R"(["token: abc", "next_page_token"])", R"(["token: [redacted]", "next_page_token"])"},
      {R"({"pass\u0077ord":"x"})", R"({"pass\u0077ord":"[redacted]"})"},
      {R"({"password":""})", R"({"password":""})"},
      {R"({"password":"x","after":"y"})", R"({"password":"[redacted]","after":"y"})"},
      {R"("password: x")", R"("password: [redacted]")"},
      {"no json password=x", "no json password=[redacted]"},
  };
  for (const auto& [before, after] : cases) {
    EXPECT_EQ(JsonText(before), after);
    EXPECT_EQ(JsonText(after), after) << "again";
  }
}

TEST(ScrubJsonTest, KeysThatAreSecretsStayTellApart) {
  const std::string one = "ghp_" + Letters(30) + "1", two = "ghp_" + Letters(30) + "2";
  EXPECT_EQ(JsonText("{\"" + one + "\":1,\"" + two + "\":2}"),
            R"({"[redacted]":1,"[redacted]-2":2})");
}

TEST(ScrubConfigTest, CanBeExtendedAndSwitchedOff) {
  v1::ResultsConfig config;
  config.add_scrub_patterns("ACME-[0-9]{6}");
  config.add_scrub_keys("pin");
  EXPECT_EQ(Text("ACME-123456 pin=99 ok", config), "[redacted] pin=[redacted] ok");
  EXPECT_EQ(JsonText(R"({"pin":"99","x":"ACME-123456"})", config),
            R"({"pin":"[redacted]","x":"[redacted]"})");
  EXPECT_EQ(Scrubber::PatternFault("a+"), "");
  EXPECT_NE(Scrubber::PatternFault("a("), "");
  EXPECT_NE(Scrubber::PatternFault("a*"), "");

  v1::ToolResult result = TextResult("password=x");
  config.set_no_scrub(true);
  EXPECT_EQ(Scrubber(config).Scrub(result), 0u);
  EXPECT_EQ(result.content(0).text().text(), "password=x");
}

TEST(ScrubResultTest, LooksEverywhere) {
  v1::ToolResult result = TextResult("password=x1");
  result.add_content()->mutable_json()->set_json(R"({"password":"x2"})");
  result.add_content()->mutable_resource()->set_text("token=x3");
  result.add_content()->mutable_resource_link()->set_uri("https://me:x4@host/");
  result.set_structured_json(R"({"secret":"x5"})");
  result.set_meta_json(R"({"secret":"x6"})");
  result.set_summary("password: x7");
  result.set_is_error(true);
  (*result.mutable_error()->mutable_metadata())["why"] = "password=x8";
  EXPECT_EQ(Scrubber(v1::ResultsConfig()).Scrub(result), 8u);
  for (int i = 1; i <= 8; ++i) {
    EXPECT_EQ(result.DebugString().find("x" + std::to_string(i)), std::string::npos) << i;
  }
}

// A text of many keys must not be looked at once for each.
TEST(ScrubTimeTest, IsLinear) {
  std::string keys, quotes, braces = "{";
  while (keys.size() < (1 << 20)) keys += "key=";
  while (quotes.size() < (1 << 20)) quotes += "x_key=\"";
  while (braces.size() < (1 << 20)) braces += "password";
  EXPECT_EQ(Text(keys), keys);
  EXPECT_EQ(Text(quotes), quotes);
  EXPECT_EQ(Text(braces), braces);
}

Json AnyJson(int depth);
rc::Gen<std::string> AnyString() {
  return rc::gen::element<std::string>("plain", "", "a: b", "password", "quote \" and \\", "é√",
                                       "key=", "{\"x\":1}", "[", "next_page_token", "\n\t");
}
Json AnyJson(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
  if (kind == 0) return *AnyString();
  if (kind == 1) return *rc::gen::inRange(-1000, 1000);
  if (kind == 2) return *rc::gen::arbitrary<bool>();
  if (kind == 3) return nullptr;
  const int size = *rc::gen::inRange(0, 4);
  Json out = kind == 4 ? Json::array() : Json::object();
  for (int i = 0; i < size; ++i) {
    if (kind == 4) {
      out.push_back(AnyJson(depth - 1));
    } else {
      out[*AnyString() + std::to_string(i)] = AnyJson(depth - 1);
    }
  }
  return out;
}

bool SameShape(const Json& a, const Json& b) {
  if (a.type() != b.type() && !(a.is_number() && b.is_number())) return false;
  if (a.size() != b.size()) return false;
  if (a.is_array()) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (!SameShape(a[i], b[i])) return false;
    }
  }
  return true;
}

// Whatever the JSON, and wherever a key is planted in it: JSON of the same shape, without the key.
RC_GTEST_PROP(ScrubProperty, NeverBreaksJsonAndNeverLeavesAPlantedKey, ()) {
  const std::vector<std::string> shapes = KnownShapes();
  const std::string key = shapes[*rc::gen::inRange<size_t>(0, shapes.size())];
  const std::string planted = *AnyString() + " " + key + " " + *AnyString();
  Json value = AnyJson(3);
  const int where = *rc::gen::inRange(0, 4);
  Json whole = Json::object({{"v", value}});
  if (where == 0) whole["k"] = planted;
  if (where == 1) whole["k"] = Json::array({planted, value});
  if (where == 2) whole["k"] = Json::object({{"text", Json::array({planted}).dump()}});
  if (where == 3) whole["password"] = Json::object({{"a", Json::array({"secret " + key, 5})}});
  std::string text = whole.dump(*rc::gen::element(-1, 1));
  Scrubber scrubber((v1::ResultsConfig()));
  std::string as_text = text;
  RC_ASSERT(scrubber.ScrubJson(text) > 0u);
  scrubber.ScrubText(as_text);
  RC_ASSERT(as_text == text);
  RC_ASSERT(text.find(key) == std::string::npos);
  const absl::StatusOr<Json> after = ParseJsonOrStatus(text, {SIZE_MAX, 64});
  RC_ASSERT(after.ok());
  RC_ASSERT(SameShape(whole, *after));
  RC_ASSERT(scrubber.ScrubJson(text) == 0u || !text.empty());
}

}  // namespace
}  // namespace toolrack
