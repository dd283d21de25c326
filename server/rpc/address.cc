#include "server/rpc/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"

namespace toolrack {

std::string TcpAddress::ToString() const {
  return v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<TcpAddress> ParseTcpAddress(absl::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError(absl::StrCat(
      "must be a numeric HOST:PORT like 127.0.0.1:7777, [::1]:7777 or localhost:0; got ",
      text.empty() ? "nothing" : ForMessage(text, 60)));
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return bad;
  const absl::string_view port = text.substr(colon + 1);
  uint32_t number = 0;
  // SimpleAtoi also takes spaces and a sign.
  if (port.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(port, &number) || number > 65535) {
    return bad;
  }
  TcpAddress address;
  address.port = static_cast<uint16_t>(number);
  absl::string_view host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    address.host = std::string(host.substr(1, host.size() - 2));
    address.v6 = true;
    in6_addr v6;
    if (inet_pton(AF_INET6, address.host.c_str(), &v6) != 1) return bad;
    address.loopback = IN6_IS_ADDR_LOOPBACK(&v6);
    return address;
  }
  address.host = std::string(host);
  in_addr v4;
  if (inet_pton(AF_INET, address.host.c_str(), &v4) != 1) return bad;
  address.loopback = (ntohl(v4.s_addr) >> 24) == 127;
  return address;
}

}  // namespace toolrack
