// Who is at the other end of a call.
#ifndef TOOLRACK_SERVER_RPC_PEER_H_
#define TOOLRACK_SERVER_RPC_PEER_H_

#include <grpcpp/server_context.h>
#include <sys/types.h>

#include <string>

namespace toolrack {

// Says who connected with this descriptor; the acceptor calls it before gRPC gets the descriptor. A
// call holds its connection open, so the entry that it finds is its own, although numbers are
// reused.
void RememberUnixPeer(int fd, uid_t uid);
void RememberTcpPeer(int fd);

// "uid:N" for a Unix socket (peer credentials at accept), "tcp" for a TCP address. Thread-safe.
std::string PrincipalOf(const grpc::CallbackServerContext& context);
// The `traceparent` metadata (W3C), or empty when absent or malformed.
std::string TraceparentOf(const grpc::CallbackServerContext& context);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_PEER_H_
