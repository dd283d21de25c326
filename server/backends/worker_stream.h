// The gRPC side of an Attach stream: bytes to messages, one read and one write at a time.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_STREAM_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "server/backends/worker_hub.h"

namespace toolrack {

// A new stream of this principal, in the hub's care. The reactor deletes itself when gRPC is done
// with it.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* MakeWorkerStream(
    WorkerHub* hub, grpc::CallbackServerContext* context, std::string principal);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_STREAM_H_
