// Which socket serves what; health; reflection; who may connect.
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "internal/health.grpc.pb.h"
#include "internal/reflection_v1.grpc.pb.h"
#include "registry/base/errors.h"
#include "server/rpc/runtime_dir.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

namespace health = grpc::health::v1;
namespace reflection = grpc::reflection::v1;

// Any method by its name, with an empty request.
grpc::Status CallByName(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
  grpc::GenericStub stub(channel);
  auto context = NewContext();
  grpc::ByteBuffer request(nullptr, 0), response;
  grpc::Slice empty;
  request = grpc::ByteBuffer(&empty, 1);
  absl::Notification done;
  grpc::Status status;
  stub.UnaryCall(context.get(), method, {}, &request, &response, [&](grpc::Status s) {
    status = std::move(s);
    done.Notify();
  });
  done.WaitForNotification();
  return status;
}

health::HealthCheckResponse::ServingStatus HealthOf(const std::shared_ptr<grpc::Channel>& channel,
                                                    const std::string& service) {
  auto stub = health::Health::NewStub(channel);
  health::HealthCheckRequest request;
  request.set_service(service);
  health::HealthCheckResponse response;
  const grpc::Status status = stub->Check(NewContext().get(), request, &response);
  return status.ok() ? response.status() : health::HealthCheckResponse::SERVICE_UNKNOWN;
}

TEST(Sockets, SayWhichSocketServesAService) {
  TestServer server;
  struct Case {
    const char* scope;
    const char* method;
    const char* socket;
  };
  for (const Case& one : {Case{"agent", "/toolrack.v1.AdminService/GetStatus", "control"},
                          Case{"agent", "/toolrack.v1.WorkerService/Attach", "worker"},
                          Case{"tcp", "/toolrack.v1.AdminService/Drain", "control"},
                          Case{"tcp", "/toolrack.v1.WorkerService/Attach", "worker"},
                          Case{"worker", "/toolrack.v1.AdminService/CancelCall", "control"}}) {
    const absl::Status status = FromGrpc(CallByName(server.Channel(one.scope), one.method));
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << one.method;
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_WRONG_SOCKET);
    EXPECT_EQ(MetadataOf(status)["socket"], server.Address(one.socket));
    EXPECT_TRUE(absl::StrContains(status.message(), server.Address(one.socket)));
  }
}

TEST(Sockets, DoNotKnowOtherMethods) {
  TestServer server;
  for (const char* method : {"/toolrack.v1.ToolService/NoSuchMethod", "/no.such.Service/Do",
                             "/toolrack.v1.toolservice/ListTools", "//", "/x"}) {
    const absl::Status status = FromGrpc(CallByName(server.Channel("control"), method));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << method;
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NOT_SUPPORTED) << method;
  }
}

TEST(Sockets, AreOnlyForTheirOwner) {
  TestServer server;
  for (const char* scope : {"agent", "worker", "control"}) {
    struct stat info;
    ASSERT_EQ(::stat(absl::StrCat(server.runtime_dir(), "/", scope, ".sock").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
}

TEST(Sockets, TakeModeAndGroupFromTheConfig) {
  v1::Config config;
  config.mutable_listen()->set_socket_mode("0660");
  config.mutable_listen()->set_socket_group(absl::StrCat(::getgid()));
  TestServer server(std::move(config));
  struct stat info;
  ASSERT_EQ(::stat((server.runtime_dir() + "/agent.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_EQ(info.st_gid, ::getgid());
}

TEST(Sockets, AreToldWithTheirRealPort) {
  TestServer server;
  v1::GetStatusResponse status;
  ASSERT_TRUE(server.Admin()->GetStatus(NewContext().get(), {}, &status).ok());
  ASSERT_EQ(status.listeners_size(), 4);
  EXPECT_EQ(status.listeners(0).address(), server.Address("agent"));
  EXPECT_EQ(status.listeners(1).scope(), "worker");
  EXPECT_EQ(status.listeners(2).connections(), 1u);
  EXPECT_EQ(status.listeners(3).scope(), "agent");
  EXPECT_TRUE(absl::StartsWith(status.listeners(3).address(), "127.0.0.1:"));
  EXPECT_FALSE(absl::EndsWith(status.listeners(3).address(), ":0"));
}

TEST(Sockets, AreFreeAgainWhenTheDaemonEnds) {
  TestServer server;
  server.Restart();
  EXPECT_EQ(HealthOf(server.Channel("agent"), ""), health::HealthCheckResponse::SERVING);
  server.Stop();
  EXPECT_EQ(::access((server.runtime_dir() + "/agent.sock").c_str(), F_OK), -1);
}

TEST(Sockets, BelongToOneDaemon) {
  TestServer server;
  v1::Config config;
  config.mutable_listen()->set_runtime_dir(server.runtime_dir());
  EXPECT_EQ(Server::Create(config).status().code(), absl::StatusCode::kAlreadyExists);
  TempDir other;
  config.mutable_listen()->set_runtime_dir(other.path());
  config.mutable_listen()->add_tcp(server.Address("tcp"));
  EXPECT_EQ(Server::Create(config).status().code(), absl::StatusCode::kAlreadyExists);
  // The first is as it was.
  EXPECT_EQ(HealthOf(server.Channel("agent"), ""), health::HealthCheckResponse::SERVING);
  EXPECT_EQ(HealthOf(server.Channel("tcp"), ""), health::HealthCheckResponse::SERVING);
}

TEST(Sockets, AreTakenOverFromADaemonThatDied) {
  TempDir dir;
  v1::Config config;
  config.mutable_listen()->set_runtime_dir(dir.path() + "/run");
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Create(config);
  ASSERT_TRUE(server.ok()) << server.status();
  // A daemon that is killed leaves its sockets behind.
  const std::string socket = dir.path() + "/run/agent.sock";
  ASSERT_EQ(::rename(socket.c_str(), (socket + ".kept").c_str()), 0);
  server->reset();
  ASSERT_EQ(::rename((socket + ".kept").c_str(), socket.c_str()), 0);
  EXPECT_TRUE(Server::Create(config).ok());
}

TEST(Health, IsToldForEveryServiceOfTheSocket) {
  TestServer server;
  for (const char* service : {"", "toolrack.v1.ToolService"}) {
    for (const char* scope : {"agent", "worker", "control", "tcp"}) {
      EXPECT_EQ(HealthOf(server.Channel(scope), service), health::HealthCheckResponse::SERVING);
    }
  }
  EXPECT_EQ(HealthOf(server.Channel("control"), "toolrack.v1.AdminService"),
            health::HealthCheckResponse::SERVING);
  EXPECT_EQ(HealthOf(server.Channel("agent"), "toolrack.v1.AdminService"),
            health::HealthCheckResponse::SERVICE_UNKNOWN);
}

class ReflectionTest : public testing::Test {
 protected:
  reflection::ServerReflectionResponse Ask(const std::string& scope,
                                           const reflection::ServerReflectionRequest& request) {
    auto stub = reflection::ServerReflection::NewStub(server_.Channel(scope));
    auto context = NewContext();
    auto stream = stub->ServerReflectionInfo(context.get());
    reflection::ServerReflectionResponse response;
    EXPECT_TRUE(stream->Write(request));
    EXPECT_TRUE(stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return response;
  }
  // The names of the files that came.
  static std::vector<std::string> Files(const reflection::ServerReflectionResponse& response) {
    std::vector<std::string> names;
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      names.push_back(file.name());
    }
    return names;
  }
  TestServer server_;
};

TEST_F(ReflectionTest, ListsTheServicesOfTheSocket) {
  reflection::ServerReflectionRequest request;
  request.set_list_services("");
  const auto names = [&](const char* scope) {
    std::vector<std::string> out;
    const reflection::ServerReflectionResponse response = Ask(scope, request);
    for (const auto& one : response.list_services_response().service()) {
      out.push_back(one.name());
    }
    return out;
  };
  EXPECT_EQ(names("agent"), (std::vector<std::string>{
                                "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                "grpc.reflection.v1alpha.ServerReflection",
                                "toolrack.v1.DispatcherService", "toolrack.v1.RendererService",
                                "toolrack.v1.SessionService", "toolrack.v1.ToolService"}));
  EXPECT_EQ(names("control").size(), 10u);
}

TEST_F(ReflectionTest, GivesAFileWithAllThatItImports) {
  reflection::ServerReflectionRequest request;
  request.set_host("h");
  request.set_file_containing_symbol("toolrack.v1.ToolService");
  const reflection::ServerReflectionResponse response = Ask("agent", request);
  EXPECT_EQ(response.valid_host(), "h");
  EXPECT_EQ(response.original_request().file_containing_symbol(), "toolrack.v1.ToolService");
  const std::vector<std::string> files = Files(response);
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(files[0], "toolrack/v1/tool_service.proto");
  const std::set<std::string> all(files.begin(), files.end());
  EXPECT_EQ(all.size(), files.size());
  for (const char* needed : {"toolrack/v1/tool.proto", "toolrack/v1/result.proto",
                             "google/protobuf/duration.proto", "google/protobuf/struct.proto"}) {
    EXPECT_EQ(all.count(needed), 1u) << needed;
  }
}

TEST_F(ReflectionTest, KnowsTheDetailsOfErrorsAndTheStandardServices) {
  for (const char* symbol :
       {"google.rpc.Status", "google.rpc.ErrorInfo", "google.rpc.BadRequest.FieldViolation",
        "google.rpc.RetryInfo", "grpc.health.v1.Health.Check",
        "grpc.reflection.v1.ServerReflection", "toolrack.v1.CallToolRequest.arguments_json"}) {
    reflection::ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    EXPECT_FALSE(Files(Ask("agent", request)).empty()) << symbol;
  }
  reflection::ServerReflectionRequest request;
  request.set_file_by_filename("toolrack/v1/error.proto");
  EXPECT_EQ(Files(Ask("agent", request)), (std::vector<std::string>{"toolrack/v1/error.proto"}));
}

TEST_F(ReflectionTest, SaysWhatItDoesNotHave) {
  reflection::ServerReflectionRequest request;
  const auto code = [&] { return Ask("agent", request).error_response().error_code(); };
  EXPECT_EQ(code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_file_containing_symbol("no.such.Thing");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.set_file_by_filename("no.proto");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.mutable_file_containing_extension()->set_containing_type("google.protobuf.FieldOptions");
  request.mutable_file_containing_extension()->set_extension_number(99999);
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("no.such.Type");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("toolrack.v1.Tool");
  EXPECT_EQ(Ask("agent", request).all_extension_numbers_response().extension_number_size(), 0);
}

TEST_F(ReflectionTest, AnswersManyQuestionsOnOneStreamInOrder) {
  auto stub = reflection::ServerReflection::NewStub(server_.Channel("agent"));
  auto context = NewContext();
  auto stream = stub->ServerReflectionInfo(context.get());
  for (int i = 0; i < 50; ++i) {
    reflection::ServerReflectionRequest request;
    request.set_host(absl::StrCat(i));
    request.set_file_containing_symbol("toolrack.v1.ToolService");
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  for (int i = 0; i < 50; ++i) {
    reflection::ServerReflectionResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.valid_host(), absl::StrCat(i));
    // What the stream has had is not sent again, but what was asked for is.
    EXPECT_EQ(Files(response).size() > 1, i == 0);
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ReflectionTest, AlsoSpeaksTheOldVersion) {
  // The messages are the same; only the service's name differs.
  grpc::GenericStub stub(server_.Channel("agent"));
  EXPECT_NE(CallByName(server_.Channel("agent"),
                       "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace toolrack
