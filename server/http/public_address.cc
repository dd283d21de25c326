#include "server/http/public_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace toolrack {
namespace {

struct Net4 {
  uint32_t base;
  int bits;
};
constexpr uint32_t Ip4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}
// IANA IPv4 Special-Purpose Address Registry, and multicast.
constexpr Net4 kNotPublic4[] = {
    {Ip4(0, 0, 0, 0), 8},        // this network
    {Ip4(10, 0, 0, 0), 8},       // private use
    {Ip4(100, 64, 0, 0), 10},    // shared address space
    {Ip4(127, 0, 0, 0), 8},      // loopback
    {Ip4(169, 254, 0, 0), 16},   // link local, the metadata services of clouds
    {Ip4(172, 16, 0, 0), 12},    // private use
    {Ip4(192, 0, 0, 0), 24},     // protocol assignments
    {Ip4(192, 0, 2, 0), 24},     // documentation
    {Ip4(192, 31, 196, 0), 24},  // AS112
    {Ip4(192, 52, 193, 0), 24},  // AMT
    {Ip4(192, 88, 99, 0), 24},   // 6to4 relays
    {Ip4(192, 168, 0, 0), 16},   // private use
    {Ip4(192, 175, 48, 0), 24},  // AS112
    {Ip4(198, 18, 0, 0), 15},    // benchmarking
    {Ip4(198, 51, 100, 0), 24},  // documentation
    {Ip4(203, 0, 113, 0), 24},   // documentation
    {Ip4(224, 0, 0, 0), 4},      // multicast
    {Ip4(240, 0, 0, 0), 4},      // reserved, broadcast
};

bool IsPublic4(uint32_t address) {
  for (const Net4& net : kNotPublic4) {
    if ((address ^ net.base) >> (32 - net.bits) == 0) return false;
  }
  return true;
}

using Ip6 = std::array<uint8_t, 16>;

uint32_t Ip4At(const Ip6& address, size_t at) {
  return Ip4(address[at], address[at + 1], address[at + 2], address[at + 3]);
}

bool StartsWith(const Ip6& address, std::initializer_list<uint8_t> bytes) {
  return std::memcmp(address.data(), bytes.begin(), bytes.size()) == 0;
}

bool IsPublic6(const Ip6& address) {
  // ::/96 (unspecified, loopback, IPv4-compatible) and ::ffff:0:0/96 (mapped).
  if (StartsWith(address, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) return false;
  if (StartsWith(address, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) {
    return IsPublic4(Ip4At(address, 12));
  }
  // 64:ff9b::/96 (NAT64) goes where its last four bytes say; 64:ff9b:1::/48 is for local use.
  if (StartsWith(address, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) {
    return IsPublic4(Ip4At(address, 12));
  }
  // Of the rest only 2000::/3 is assigned to the public: this leaves out 100::/64 (discard),
  // fc00::/7 (unique local), fe80::/10 (link local), fec0::/10 (site local), ff00::/8 (multicast).
  if (address[0] >> 5 != 1) return false;
  if (StartsWith(address, {0x20, 0x02})) return IsPublic4(Ip4At(address, 2));  // 6to4
  // 2001::/23: Teredo, benchmarking, ORCHID and more; nothing that one asks by HTTP.
  if (StartsWith(address, {0x20, 0x01}) && address[2] <= 0x01) return false;
  if (StartsWith(address, {0x20, 0x01, 0x0d, 0xb8})) return false;            // documentation
  if (StartsWith(address, {0x3f, 0xff}) && address[2] <= 0x0f) return false;  // documentation
  return true;
}

}  // namespace

bool IsPublicAddress(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    return IsPublic4(ntohl(in.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof in);
    Ip6 bytes;
    std::memcpy(bytes.data(), in.sin6_addr.s6_addr, bytes.size());
    return IsPublic6(bytes);
  }
  return false;
}

std::string AddressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof in);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace toolrack
