#include "server/http/public_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <string>

namespace toolrack {
namespace {

bool IsPublic(const std::string& text) {
  sockaddr_storage storage{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (text.find(':') == std::string::npos) {
    v4->sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &v4->sin_addr), 1) << text;
  } else {
    v6->sin6_family = AF_INET6;
    EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr), 1) << text;
  }
  EXPECT_FALSE(AddressText(reinterpret_cast<sockaddr*>(&storage)).empty());
  return IsPublicAddress(reinterpret_cast<sockaddr*>(&storage));
}

TEST(PublicAddressTest, WhatIsNotTheInternetIsNotPublic) {
  for (const char* address : {"0.0.0.0",
                              "0.255.255.255",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.1",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.255.255.255",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.0.2.1",
                              "192.88.99.1",
                              "192.168.1.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.7",
                              "203.0.113.9",
                              "224.0.0.1",
                              "239.255.255.255",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::7f00:1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "::ffff:169.254.169.254",
                              "64:ff9b::7f00:1",
                              "64:ff9b::a00:1",
                              "64:ff9b:1::1",
                              "100::1",
                              "2001::1",
                              "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                              "2001:db8::1",
                              "2002:7f00:1::1",
                              "2002:a00:1::1",
                              "3fff::1",
                              "fc00::1",
                              "fd12:3456::1",
                              "fe80::1",
                              "fec0::1",
                              "ff02::1",
                              "4000::1"}) {
    EXPECT_FALSE(IsPublic(address)) << address;
  }
}

TEST(PublicAddressTest, TheInternetIsPublic) {
  for (const char* address : {"1.1.1.1",
                              "8.8.8.8",
                              "9.255.255.255",
                              "11.0.0.0",
                              "100.63.255.255",
                              "100.128.0.0",
                              "126.255.255.255",
                              "128.0.0.1",
                              "169.253.1.1",
                              "172.15.255.255",
                              "172.32.0.0",
                              "192.167.1.1",
                              "192.169.0.1",
                              "198.17.255.255",
                              "198.20.0.0",
                              "223.255.255.255",
                              "2606:4700:4700::1111",
                              "2a00:1450:4001::1",
                              "2001:4860:4860::8888",
                              "::ffff:8.8.8.8",
                              "64:ff9b::808:808",
                              "2002:808:808::1"}) {
    EXPECT_TRUE(IsPublic(address)) << address;
  }
}

TEST(PublicAddressTest, OtherFamiliesAreNot) {
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_FALSE(IsPublicAddress(&other));
  EXPECT_EQ(AddressText(&other), "");
}

}  // namespace
}  // namespace toolrack
