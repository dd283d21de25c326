#include "server/rpc/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>
#include <utility>

#include "registry/base/errors.h"

namespace toolrack {
namespace {

constexpr int kMaxMetadataBytes = 16 << 10;
constexpr absl::Duration kMinClientPingInterval = absl::Seconds(5);
constexpr int kMaxPingStrikes = 3;

void SetUpProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    // A client could fill the log: protobuf writes a line for each string that is not UTF-8.
    google::protobuf::SetLogHandler(nullptr);
    grpc::EnableDefaultHealthCheckService(true);
    // Also keeps the linker from dropping the library.
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

int Millis(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Create(
    GrpcServerOptions options, const grpc::ResourceQuota& quota,
    std::map<std::string, std::unique_ptr<grpc::Service>> services) {
  SetUpProcess();
  std::unique_ptr<GrpcServer> out(new GrpcServer);
  out->services_ = std::move(services);
  out->catch_all_ = std::make_unique<CatchAll>(std::move(options.elsewhere), options.catch_all);
  grpc::ServerBuilder builder;
  for (const auto& [name, service] : out->services_) builder.RegisterService(service.get());
  builder.RegisterCallbackGenericService(out->catch_all_.get());
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_receive_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_send_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(options.max_streams_per_connection));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Millis(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Millis(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Millis(kMinClientPingInterval));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  out->server_ = builder.BuildAndStart();
  if (out->server_ == nullptr) return InternalError("gRPC", "the server did not start");
  return out;
}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

void GrpcServer::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  for (const auto& [name, service] : services_) health->SetServingStatus(name, serving);
  health->SetServingStatus("", serving);
}

void GrpcServer::Shutdown(absl::Duration grace) {
  if (down_ || server_ == nullptr) return;
  down_ = true;
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

}  // namespace toolrack
