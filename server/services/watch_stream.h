// One WatchTools.
#ifndef TOOLRACK_SERVER_SERVICES_WATCH_STREAM_H_
#define TOOLRACK_SERVER_SERVICES_WATCH_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "absl/status/statusor.h"
#include "server/rpc/method_stats.h"
#include "server/services/core.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Streams the registry, as far as `who` may know of it (an error ends the stream), to one reader
// until it leaves, falls too far behind (SLOW_READER), or the daemon drains (DRAINING). The stream
// frees itself.
grpc::ServerWriteReactor<v1::WatchToolsResponse>* BeginWatch(grpc::CallbackServerContext* context,
                                                             MethodStats* stats,
                                                             const v1::WatchToolsRequest& request,
                                                             const Core& core,
                                                             absl::StatusOr<std::string> who);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_WATCH_STREAM_H_
