// Listening sockets.
#ifndef TOOLRACK_SERVER_RPC_LISTEN_H_
#define TOOLRACK_SERVER_RPC_LISTEN_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/rpc/address.h"

namespace toolrack {

// One listening socket: non-blocking, close-on-exec. Closes it; a Unix one is also removed from the
// file system. Move-only.
class ListenSocket {
 public:
  // Listens at `path`, which nobody else may use (hold the folder's lock): what lies there is
  // removed when it is a socket. Nobody can connect before mode and group are set.
  // FAILED_PRECONDITION, also for a path over the 107 bytes that the kernel takes.
  static absl::StatusOr<ListenSocket> Unix(const std::string& path, mode_t mode,
                                           std::optional<gid_t> group);
  // Never shares the port. Port 0 takes a free one. ALREADY_EXISTS when it is taken.
  static absl::StatusOr<ListenSocket> Tcp(TcpAddress address);

  ListenSocket(ListenSocket&& other) noexcept;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();

  int fd() const { return fd_; }
  bool is_unix() const { return !path_.empty(); }
  // `unix:/run/toolrack/agent.sock`, `127.0.0.1:7777`: with the real port.
  const std::string& address() const { return address_; }

 private:
  ListenSocket(int fd, std::string path, std::string address)
      : fd_(fd), path_(std::move(path)), address_(std::move(address)) {}
  int fd_;
  std::string path_;
  std::string address_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_LISTEN_H_
