#include "server/http/http_url.h"

#include <gtest/gtest.h>

#include <string>

namespace toolrack {
namespace {

std::string HostOf(const std::string& text) {
  const absl::StatusOr<HttpUrl> url = ParseHttpUrl(text);
  return url.ok() ? url->host : "-";
}

TEST(HttpUrlTest, OneFormForOneHost) {
  EXPECT_EQ(HostOf("https://API.Example.com/x"), "api.example.com");
  EXPECT_EQ(HostOf("https://api.example.com./x"), "api.example.com");
  EXPECT_EQ(HostOf("HTTPS://api%2eexample.com/"), "api.example.com");
  EXPECT_EQ(HostOf("https://xn--bcher-kva.example/"), "xn--bcher-kva.example");
  EXPECT_EQ(HostOf("https://[::1]/"), "[::1]");
  // The spellings of one address.
  for (const char* url : {"http://127.0.0.1/", "http://0x7f.1/", "http://2130706433/",
                          "http://0177.0.0.1/", "http://127.1/"}) {
    EXPECT_EQ(HostOf(url), "127.0.0.1") << url;
  }
}

TEST(HttpUrlTest, RefusesWhatCouldBeReadTwoWays) {
  for (const char* url :
       {"", "x", "api.example.com", "/x", "ftp://api.example.com/", "file:///etc/passwd",
        "https://user@api.example.com/", "https://user:secret@api.example.com/",
        "https://api.example.com@evil.example/", "https://api.example.com:0/",
        "https://api.example.com:99999/", "https://a b/", "https://api.example.com\\@e/",
        "https://[fe80::1%25eth0]/", "https://api.example.com%00.evil.example/", "gopher://x/",
        "https://bücher.example/", "https://exa\nmple.com/", "javascript:alert(1)"}) {
    EXPECT_EQ(HostOf(url), "-") << url;
  }
  EXPECT_EQ(HostOf("https://x/" + std::string(9000, 'a')), "-");
  EXPECT_EQ(HostOf(std::string("https://x/\0y", 12)), "-");
}

TEST(HttpUrlTest, KeepsTheRestAndLeavesTheFragmentOut) {
  const HttpUrl url = *ParseHttpUrl("https://Example.com:8443/a%20b/../c?q=1&r=é#top");
  EXPECT_EQ(url.port, 8443);
  EXPECT_FALSE(url.default_port());
  EXPECT_EQ(url.text.find("https://example.com:8443/"), 0u);
  EXPECT_EQ(url.text.find('#'), std::string::npos);
  EXPECT_NE(url.text.find("q=1&r="), std::string::npos);
}

TEST(HttpUrlTest, RelativeOnesAreOfTheirBase) {
  const HttpUrl base = *ParseHttpUrl("https://example.com/a/b?q");
  EXPECT_EQ(ParseHttpUrl("c", &base)->text, "https://example.com/a/c");
  EXPECT_EQ(ParseHttpUrl("/c?x", &base)->text, "https://example.com/c?x");
  EXPECT_EQ(ParseHttpUrl("//other.example/c", &base)->host, "other.example");
  EXPECT_TRUE(ParseHttpUrl("/c", &base)->SameOrigin(base));
  EXPECT_FALSE(ParseHttpUrl("http://example.com/", &base)->SameOrigin(base));
  EXPECT_FALSE(ParseHttpUrl("file:///x", &base).ok());
}

bool Fits(const std::string& pattern, const std::string& url) {
  const absl::StatusOr<HostPattern> parsed = HostPattern::Parse(pattern);
  EXPECT_TRUE(parsed.ok()) << pattern << ": " << parsed.status();
  return parsed.ok() && parsed->Matches(*ParseHttpUrl(url));
}

TEST(HostPatternTest, NamesHostsAndPorts) {
  EXPECT_TRUE(Fits("api.example.com", "https://api.example.com/"));
  EXPECT_TRUE(Fits("API.example.com.", "http://api.EXAMPLE.com./"));
  EXPECT_FALSE(Fits("api.example.com", "https://api.example.com:8443/"));
  EXPECT_FALSE(Fits("api.example.com", "http://api.example.com:443/"));
  EXPECT_TRUE(Fits("api.example.com:8443", "https://api.example.com:8443/"));
  EXPECT_TRUE(Fits("api.example.com:443", "https://api.example.com/"));
  EXPECT_FALSE(Fits("api.example.com", "https://xapi.example.com/"));
  EXPECT_FALSE(Fits("api.example.com", "https://api.example.com.evil.example/"));
  EXPECT_TRUE(Fits("*.example.com", "https://a.b.example.com/"));
  EXPECT_FALSE(Fits("*.example.com", "https://example.com/"));
  EXPECT_FALSE(Fits("*.example.com", "https://badexample.com/"));
  EXPECT_TRUE(Fits("[::1]:80", "http://[::1]/"));
  EXPECT_TRUE(Fits("127.0.0.1:81", "http://0x7f.1:81/"));
  EXPECT_TRUE(Fits("xn--bcher-kva.example", "https://XN--bcher-kva.example/"));
}

TEST(HostPatternTest, RefusesWhatIsNone) {
  for (const char* pattern : {"", "*", "*.", "*.*", "https://x", "x/", "u@x", "a*.x", "*.127.0.0.1",
                              "*.[::1]", "x:0", "x:y", "x y", "?"}) {
    EXPECT_FALSE(HostPattern::Parse(pattern).ok()) << pattern;
  }
}

}  // namespace
}  // namespace toolrack
