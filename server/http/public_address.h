// Which network addresses belong to the public internet.
#ifndef TOOLRACK_SERVER_HTTP_PUBLIC_ADDRESS_H_
#define TOOLRACK_SERVER_HTTP_PUBLIC_ADDRESS_H_

#include <sys/socket.h>

#include <string>

namespace toolrack {

// Whether whoever asks this address asks a stranger on the internet. Not public: everything that
// the IANA special-purpose address registries (RFC 6890 and its updates) do not call globally
// reachable, multicast, and IPv6 forms that carry an IPv4 address that is not public (mapped,
// compatible, 6to4, NAT64, Teredo). Other families are not public. Pure.
bool IsPublicAddress(const sockaddr* address);

// `192.0.2.1`, `2001:db8::1`; empty for other families.
std::string AddressText(const sockaddr* address);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_HTTP_PUBLIC_ADDRESS_H_
