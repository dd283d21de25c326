#include "client/status.h"

#include <gtest/gtest.h>

#include "client/cli/error_report.h"
#include "registry/base/errors.h"
#include "tests/client/fake_rack.h"

namespace toolrack {
namespace {

TEST(ClientStatus, DetailsBecomePayloads) {
  const absl::Status sent = BackendUnavailable("echo", "w");
  const absl::Status received = FromGrpcStatus(OnTheWire(sent));
  EXPECT_EQ(received, sent);
  EXPECT_EQ(RetryDelayOf(received), absl::Seconds(1));
}

TEST(ClientStatus, RubbishInTheDetailsLosesNothingElse) {
  const absl::Status received =
      FromGrpcStatus(grpc::Status(grpc::StatusCode::NOT_FOUND, "gone", "\xff rubbish"));
  EXPECT_TRUE(absl::IsNotFound(received));
  EXPECT_EQ(received.message(), "gone");
  EXPECT_TRUE(
      absl::IsUnknown(FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(31), "odd"))));
}

TEST(ErrorReport, ATextFromAStrangerCannotDriveTheTerminal) {
  const std::string text = ErrorText(absl::NotFoundError("x\x1b[2J"), "");
  EXPECT_EQ(text, "error: x\\x1b[2J (NOT_FOUND)\n");
}

}  // namespace
}  // namespace toolrack
