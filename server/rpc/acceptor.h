// Accepts connections for the gRPC servers.
//
// gRPC 1.51's own listener dies for good when the process runs out of descriptors (CVE-2023-4785),
// tells nobody who is at the other end of a Unix socket, and waits two minutes for a client that
// says nothing. So we accept ourselves, look at who it is, wait until the client speaks HTTP/2, and
// hand the descriptor to gRPC.
#ifndef TOOLRACK_SERVER_RPC_ACCEPTOR_H_
#define TOOLRACK_SERVER_RPC_ACCEPTOR_H_

#include <grpcpp/server.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/rpc/listen.h"
#include "toolrack/v1/admin_service.pb.h"

namespace toolrack {

struct AcceptorOptions {
  // Open connections of one socket; one more is closed at once.
  uint32_t max_connections = 4096;
  // From connecting to the last byte of HTTP/2's preface.
  absl::Duration handshake_timeout = absl::Seconds(10);
};

// One thread for all sockets. Thread-safe after Start.
class Acceptor {
 public:
  explicit Acceptor(AcceptorOptions options);
  ~Acceptor();  // Stop

  // Before Start. `server` must be started and outlive Stop. `spare_fds`: descriptors that must be
  // left in the process for a connection to be taken; a socket that matters more asks for fewer.
  void Add(ListenSocket socket, std::string scope, grpc::Server* server, int spare_fds);
  void Start();
  // Closes the listening sockets, drops connections that have not spoken yet, joins. Those that
  // gRPC has stay. Idempotent.
  void Stop();

  // In the order added.
  std::vector<v1::ListenAddress> Addresses() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_ACCEPTOR_H_
