#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/base/errors.h"
#include "registry/base/utf8.h"
#include "server/rpc/status.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

// What gRPC takes in its trailers is 8 KiB; beyond that the caller hears of nothing but that.
constexpr size_t kTrailers = 8 << 10;

// As most clients get it: the message percent-encoded, the details in base64.
size_t SizeOf(const grpc::Status& status) {
  size_t size = status.error_details().size() * 4 / 3;
  for (const char c : status.error_message()) size += c >= 0x20 && c < 0x7f && c != '%' ? 1 : 3;
  return size;
}

TEST(GrpcStatusTest, KeepsCodeReasonAndMetadata) {
  const absl::Status back = FromGrpc(ToGrpcStatus(ToolNotFound("ecko", {"echo"})));
  EXPECT_EQ(back.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(back), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(MetadataOf(back).at("nearest"), "echo");
}

// However long the texts in it are, the whole gets through, with its reason.
TEST(GrpcStatusTest, FitsIntoTheTrailersWhateverIsInIt) {
  const std::string text(100'000, 'x');
  std::string wide;
  while (wide.size() < 50'000) wide += "漢";
  std::vector<FieldFault> faults;
  for (int i = 0; i < 500; ++i)
    faults.push_back({"/a/" + text.substr(0, 300), wide.substr(0, 600)});
  std::vector<std::string> names(400, "a_tool_with_quite_a_long_name");
  for (const absl::Status& status :
       {RequestInvalid("renderer", "x", text), RequestInvalid(text, text, wide),
        ConfigInvalid("/c.yaml", text), ToolNotFound("x", names), ToolNotFound(text, {}),
        ArgumentsInvalid("t", "d", faults), InternalError("here", wide)}) {
    const grpc::Status wire = ToGrpcStatus(status);
    EXPECT_LE(SizeOf(wire), kTrailers - 500) << status.message().substr(0, 80);
    const absl::Status back = FromGrpc(wire);
    EXPECT_EQ(ReasonOf(back), ReasonOf(status));
    EXPECT_EQ(MetadataOf(back).size(), MetadataOf(status).size());
    EXPECT_TRUE(IsUtf8(back.message()));
    for (const auto& [key, value] : MetadataOf(back)) EXPECT_TRUE(IsUtf8(value)) << key;
  }
}

// Over a real wire: an error with long texts is still that error.
TEST(GrpcStatusTest, ALongErrorGetsThrough) {
  TestServer server;
  v1::CallToolRequest request;
  request.set_name("echo");
  std::string arguments = "{";
  for (int i = 0; i < 200; ++i) {
    arguments += "\"" + std::string(200, 'k') + std::to_string(i) + "\":1,";
  }
  request.set_arguments_json(arguments + "\"text\":1}");
  v1::CallToolResponse response;
  const absl::Status status =
      FromGrpc(server.Tools()->CallTool(NewContext().get(), request, &response));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_ARGUMENTS_INVALID) << status;
}

}  // namespace
}  // namespace toolrack
