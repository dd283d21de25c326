#include "registry/schema/uri.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace toolrack {
namespace {

TEST(Uri, ResolvesEveryExampleOfRfc3986) {
  // RFC 3986, 5.4.1 and 5.4.2.
  const std::vector<std::pair<const char*, const char*>> examples = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {"g?y#s", "http://a/b/c/g?y#s"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y#s"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"g#s/./x", "http://a/b/c/g#s/./x"},
      {"g#s/../x", "http://a/b/c/g#s/../x"},
  };
  for (const auto& [reference, target] : examples) {
    EXPECT_EQ(ResolveUri("http://a/b/c/d;p?q", reference), target) << reference;
  }
}

TEST(Uri, WithoutABaseAReferenceStaysAsItIs) {
  EXPECT_EQ(ResolveUri("", "#/a"), "#/a");
  EXPECT_EQ(ResolveUri("", "b.json#x"), "b.json#x");
  EXPECT_EQ(ResolveUri("", ""), "");
}

TEST(Uri, AFragmentOfAUrnKeepsTheUrn) {
  EXPECT_EQ(ResolveUri("urn:uuid:deadbeef", "#foo"), "urn:uuid:deadbeef#foo");
  EXPECT_EQ(ResolveUri("http://a/b", "urn:x:y"), "urn:x:y");
}

TEST(Uri, SchemeAndHostAreCaseless) {
  EXPECT_EQ(ResolveUri("", "HTTP://Example.COM/Path"), "http://example.com/Path");
}

TEST(Uri, PercentEscapesAreBytes) {
  EXPECT_EQ(PercentDecode("a%7Cb%2f"), "a|b/");
  EXPECT_EQ(PercentDecode("%C3%A9"), "é");
  EXPECT_EQ(PercentDecode(""), "");
  for (const char* bad : {"%", "a%2", "%zz", "%2g"}) EXPECT_FALSE(PercentDecode(bad).has_value());
}

}  // namespace
}  // namespace toolrack
