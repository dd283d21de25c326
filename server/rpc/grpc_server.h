// One gRPC server for one scope, with every limit set.
#ifndef TOOLRACK_SERVER_RPC_GRPC_SERVER_H_
#define TOOLRACK_SERVER_RPC_GRPC_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/rpc/catch_all.h"
#include "server/rpc/method_stats.h"

namespace toolrack {

struct GrpcServerOptions {
  uint64_t max_receive_bytes = 4 << 20;
  uint64_t max_send_bytes = 16 << 20;
  uint32_t max_streams_per_connection = 1000;
  // A connection that answers no ping is closed: time between pings, time for the answer.
  absl::Duration keepalive_time = absl::Seconds(60);
  absl::Duration keepalive_timeout = absl::Seconds(20);
  // Full service name to the address of the socket that has it.
  std::map<std::string, std::string> elsewhere;
  MethodStats* catch_all = nullptr;
};

// A server without listeners of its own: an Acceptor gives it connections. Serves the health
// service and reflection v1alpha beside what it is given.
class GrpcServer {
 public:
  // `services` by full name. INTERNAL when gRPC does not start.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Create(
      GrpcServerOptions options, const grpc::ResourceQuota& quota,
      std::map<std::string, std::unique_ptr<grpc::Service>> services);
  ~GrpcServer();  // Shutdown at once

  grpc::Server* get() { return server_.get(); }
  // For every service and for the server as a whole.
  void SetServing(bool serving);
  // Waits for running calls until `deadline`, then cancels them. Not from a gRPC thread.
  void Shutdown(absl::Time deadline);

 private:
  GrpcServer() = default;
  std::map<std::string, std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<CatchAll> catch_all_;
  std::unique_ptr<grpc::Server> server_;
  bool down_ = false;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_GRPC_SERVER_H_
