// `format`, where it is asserted. The official suite has hundreds of cases more
// (tests/conformance).
#include "registry/schema/formats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/schema/schema.h"

namespace toolrack {
namespace {

struct Case {
  const char* format;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

TEST(Formats, TellGoodFromBad) {
  const Case kCases[] = {
      {"date",
       {"2024-02-29", "0001-01-01"},
       {"2023-02-29", "2024-1-1", "2024-01-01 ", "", "٢024-01-01"}},
      {"time",
       {"12:00:00Z", "23:59:60Z", "01:29:60+01:30"},
       {"12:00:00", "24:00:00Z", "12:00:60Z"}},
      {"date-time",
       {"2026-01-31T12:00:00Z", "2026-01-31t12:00:00.5-08:00"},
       {"2026-01-31", "2026-01-31 12:00:00Z", "99999999999999999999-01-01T00:00:00Z"}},
      {"duration", {"P1D", "PT1H2M", "P2W", "P1Y2M3DT4H5M6S"}, {"P", "PT", "P1", "1D", "P1W1D"}},
      {"email",
       {"a@example.org", "\"a b\"@example.org", "a@[127.0.0.1]", "a@[IPv6:::1]"},
       {"a", "@b.org", "a@", "a..b@c.org", "a@b@c.org", "a@b_c.org", "a@[1.2.3]", "a@[",
        std::string(65, 'a') + "@b.org"}},
      {"hostname",
       {"a", "www.example.org", "1host", std::string(63, 'a'), "xn--4dbc5h"},
       {"", ".", "a.", "-a", "a-", "a_b", std::string(64, 'a'), "é.org", "xn--X", "xn--l-fda"}},
      {"ipv4", {"192.0.2.1", "0.0.0.0"}, {"1.2.3", "256.1.1.1", "01.2.3.4", "1.2.3.4 "}},
      {"ipv6",
       {"::", "::1", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4"},
       {"", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1%eth0", "12345::"}},
      {"uri",
       {"https://example.org/a?b=c#d", "urn:a:b", "mailto:a@b.org", "http://[::1]:80/", "a:"},
       {"", "//a", "/a", "a b:c", "http://a b", "http://[1]/", "http://a/%zz", "http://é"}},
      {"uuid",
       {"123e4567-e89b-12d3-a456-426614174000"},
       {"xyz", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"}},
      {"regex",
       {"^a+$", "(?=a)b", "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>", ""},
       {"(", "[", "a**", "\\k", "\\Z"}},
      {"json-pointer", {"", "/", "/a~0b~1c"}, {"a", "/~", "/~2", "#/a"}},
  };
  for (const Case& each : kCases) {
    const Format* format = FindFormat(each.format);
    ASSERT_NE(format, nullptr) << each.format;
    for (const std::string& text : each.good)
      EXPECT_TRUE(format->fits(text)) << each.format << " " << text;
    for (const std::string& text : each.bad)
      EXPECT_FALSE(format->fits(text)) << each.format << " " << text;
  }
  EXPECT_EQ(FindFormat("int32"), nullptr);
}

TEST(Formats, AreAnnotationsUnlessAskedFor) {
  const char* schema = R"({"format":"date"})";
  EXPECT_TRUE(Schema::Compile(schema, SchemaOptions()).schema->Accepts("nope"));
  SchemaOptions options;
  options.assert_format = true;
  const auto compiled = Schema::Compile(schema, options);
  EXPECT_FALSE(compiled.schema->Accepts("nope"));
  EXPECT_TRUE(compiled.schema->Accepts(5)) << "a format is about strings only";
  const auto faults = compiled.schema->Explain("nope");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].description, R"(must be a date like 2026-01-31, got "nope")");
  EXPECT_TRUE(Schema::Compile(R"({"format":"int32"})", options).schema->Accepts("nope"));
}

}  // namespace
}  // namespace toolrack
