// TCP addresses as people write them.
#ifndef TOOLRACK_SERVER_RPC_ADDRESS_H_
#define TOOLRACK_SERVER_RPC_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

struct TcpAddress {
  std::string host;  // numeric, without brackets
  uint16_t port = 0;
  bool v6 = false;
  bool loopback = false;
  // `127.0.0.1:7777`, `[::1]:7777`.
  std::string ToString() const;
};

// `127.0.0.1:7777`, `[::1]:7777`, `localhost:0` (read as 127.0.0.1). No other names: nothing is
// resolved. INVALID_ARGUMENT with a line that says what is wrong.
absl::StatusOr<TcpAddress> ParseTcpAddress(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_ADDRESS_H_
