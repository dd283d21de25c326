#include "server/rpc/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/clock.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"

namespace toolrack {
namespace {

constexpr int kMaxMetadataBytes = 16 << 10;
constexpr absl::Duration kMinClientPingInterval = absl::Seconds(5);
constexpr int kMaxPingStrikes = 3;

// gRPC's own complaints, at most one a second: a client could fill the log with them.
void LogFromGrpc(gpr_log_func_args* args) {
  static std::atomic<int64_t> last{0};
  if (args->severity != GPR_LOG_SEVERITY_ERROR) return;
  const int64_t now = absl::ToInt64Seconds(Clock::Real().SteadyNow());
  int64_t before = last.load(std::memory_order_relaxed);
  if (before == now || !last.compare_exchange_strong(before, now)) return;
  LogWarning(absl::StrCat("gRPC: ", ForMessage(args->message, 300)));
}

void SetUpProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    // A client could fill the log: protobuf writes a line for each string that is not UTF-8.
    google::protobuf::SetLogHandler(nullptr);
    gpr_set_log_function(LogFromGrpc);
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

GrpcServer::~GrpcServer() { Shutdown(absl::InfinitePast()); }

void GrpcServer::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  for (const auto& [name, service] : services_) health->SetServingStatus(name, serving);
  health->SetServingStatus("", serving);
}

void GrpcServer::Shutdown(absl::Time deadline) {
  if (down_ || server_ == nullptr) return;
  down_ = true;
  server_->Shutdown(absl::ToChronoTime(std::max(deadline, absl::UnixEpoch())));
  server_->Wait();
}

}  // namespace toolrack
