#include "tests/testing/server_fixture.h"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "internal/google_rpc.pb.h"
#include "registry/base/log.h"

namespace toolrack {

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  std::string path = absl::StrCat(base == nullptr ? "/tmp" : base, "/toolrack-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TestServer::TestServer(v1::Config config)
    : runtime_dir_(absl::StrCat(dir_.path(), "/run")), config_(std::move(config)) {
  config_.mutable_listen()->set_runtime_dir(runtime_dir_);
  if (config_.listen().tcp().empty()) config_.mutable_listen()->add_tcp("127.0.0.1:0");
  if (!config_.has_drain_grace()) config_.mutable_drain_grace()->set_seconds(1);
  if (config_.log().level().empty()) {
    config_.mutable_log()->set_level("warning");
    config_.mutable_log()->set_calls(false);
  }
  Start();
}

TestServer::~TestServer() { Stop(); }

void TestServer::Start() {
  static const bool quiet = StartLog({LogLevel::kWarning, "", false}).ok();
  (void)quiet;
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Create(config_);
  if (!server.ok()) {
    std::fprintf(stderr, "the daemon did not start: %s\n", server.status().ToString().c_str());
    std::abort();
  }
  server_ = *std::move(server);
}

void TestServer::Stop() { server_.reset(); }

void TestServer::Restart() {
  Stop();
  Start();
}

std::string TestServer::Address(absl::string_view scope) const {
  if (scope != "tcp") return absl::StrCat("unix:", runtime_dir_, "/", scope, ".sock");
  return server_->listeners().back().address();
}

std::shared_ptr<grpc::Channel> TestServer::Channel(absl::string_view scope) const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  // A daemon that restarts is found again soon.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  return grpc::CreateCustomChannel(Address(scope), grpc::InsecureChannelCredentials(), arguments);
}

std::unique_ptr<v1::ToolService::Stub> TestServer::Tools(absl::string_view scope) const {
  return v1::ToolService::NewStub(Channel(scope));
}
std::unique_ptr<v1::SessionService::Stub> TestServer::Sessions(absl::string_view scope) const {
  return v1::SessionService::NewStub(Channel(scope));
}
std::unique_ptr<v1::AdminService::Stub> TestServer::Admin() const {
  return v1::AdminService::NewStub(Channel("control"));
}
std::unique_ptr<v1::WorkerService::Stub> TestServer::Workers() const {
  return v1::WorkerService::NewStub(Channel("worker"));
}

std::unique_ptr<grpc::ClientContext> NewContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + kHung));
  return context;
}

absl::Status FromGrpc(const grpc::Status& status) {
  absl::Status out(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  google::rpc::Status wire;
  if (status.ok() || !wire.ParseFromString(status.error_details())) return out;
  for (const auto& detail : wire.details()) {
    out.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return out;
}

}  // namespace toolrack
