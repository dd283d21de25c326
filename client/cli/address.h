// Where the daemon is, from what a person or the environment says.
#ifndef TOOLRACK_CLIENT_CLI_ADDRESS_H_
#define TOOLRACK_CLIENT_CLI_ADDRESS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace toolrack {

// Which of the daemon's sockets a command needs.
enum class Scope { kAgent, kControl };

// A variable of the environment; nullopt when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

struct AddressOptions {
  std::string address = {};      // --address; wins
  std::string runtime_dir = {};  // --runtime-dir
};

// The first of: --address, --runtime-dir, $TOOLRACK_ADDRESS, $TOOLRACK_RUNTIME_DIR, then
// $XDG_RUNTIME_DIR/toolrack and /run/toolrack, of which the first that has the socket. A folder
// stands for its agent.sock or control.sock by `scope`; an address that starts with `/` for a
// socket. INVALID_ARGUMENT when the path is too long for a Unix socket.
absl::StatusOr<std::string> ResolveAddress(const AddressOptions& options, Scope scope,
                                           const Environment& environment);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_ADDRESS_H_
