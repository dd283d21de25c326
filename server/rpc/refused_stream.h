// A two-way stream that ends before it began.
#ifndef TOOLRACK_SERVER_RPC_REFUSED_STREAM_H_
#define TOOLRACK_SERVER_RPC_REFUSED_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "server/rpc/status.h"

namespace toolrack {

// Gives the status, and frees itself.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& status) { Finish(ToGrpcStatus(status)); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_REFUSED_STREAM_H_
