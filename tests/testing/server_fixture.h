// A real daemon in this process, on sockets of its own: the usual fixture of integration tests.
#ifndef TOOLRACK_TESTS_TESTING_SERVER_FIXTURE_H_
#define TOOLRACK_TESTS_TESTING_SERVER_FIXTURE_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/server.h"
#include "toolrack/v1/admin_service.grpc.pb.h"
#include "toolrack/v1/session_service.grpc.pb.h"
#include "toolrack/v1/tool_service.grpc.pb.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack {

// How long a test waits for what must come. Reached only when something hangs.
inline constexpr absl::Duration kHung = absl::Seconds(60);

// A folder that is gone with this object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TestServer {
 public:
  // Unix sockets in a folder of its own, TCP on a free loopback port; drains within a second unless
  // the config says otherwise. Aborts the test binary when the daemon does not start.
  explicit TestServer(v1::Config config = {});
  ~TestServer();  // stops the daemon at once

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  const std::string& runtime_dir() const { return runtime_dir_; }
  // The daemon ends and a new one starts in the same folder.
  void Restart();
  // Ends the daemon; nothing listens any more.
  void Stop();

  // `agent`, `worker`, `control`: `unix:…`; `tcp`: `127.0.0.1:PORT`.
  std::string Address(absl::string_view scope) const;
  // A connection of its own for each call.
  std::shared_ptr<grpc::Channel> Channel(absl::string_view scope) const;
  std::unique_ptr<v1::ToolService::Stub> Tools(absl::string_view scope = "agent") const;
  std::unique_ptr<v1::SessionService::Stub> Sessions(absl::string_view scope = "agent") const;
  std::unique_ptr<v1::AdminService::Stub> Admin() const;
  std::unique_ptr<v1::WorkerService::Stub> Workers() const;

 private:
  void Start();
  TempDir dir_;
  std::string runtime_dir_;
  v1::Config config_;
  std::unique_ptr<Server> server_;
};

// A client context that gives up after kHung.
std::unique_ptr<grpc::ClientContext> NewContext();

// A gRPC status with its details back as the error that the daemon made: ReasonOf, MetadataOf,
// FaultsOf and RetryDelayOf (registry/base/errors.h) work on it.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_SERVER_FIXTURE_H_
