#include "server/rpc/status.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "internal/google_rpc.pb.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr size_t kMaxMessage = 2048;  // the message travels twice: grpc-message is percent-encoded
constexpr size_t kMaxDetails = 7 << 10;
constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

std::string Cut(const std::string& text, size_t max) {
  if (text.size() <= max) return text;
  return std::string(Utf8Prefix(text, max)) + "…";
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& given) {
  if (given.ok()) return grpc::Status::OK;
  absl::Status status = given;
  if (ReasonOf(status) == v1::ERROR_REASON_UNSPECIFIED) {
    status = InternalError("an error without a reason", given.message());
  }
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(Cut(std::string(status.message()), kMaxMessage));
  status.ForEachPayload([&wire](absl::string_view url, const absl::Cord& payload) {
    if (!absl::StartsWith(url, "type.googleapis.com/google.rpc.")) return;
    auto* detail = wire.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  for (int i = 1; i < wire.details_size(); ++i) {
    if (wire.details(i).type_url() == kErrorInfoUrl) wire.mutable_details()->SwapElements(0, i);
  }
  for (int i = 0; i < wire.details_size() && wire.ByteSizeLong() > kMaxDetails; ++i) {
    if (wire.details(i).type_url() != kBadRequestUrl) continue;
    google::rpc::BadRequest bad;
    bad.ParseFromString(wire.details(i).value());
    while (bad.field_violations_size() > 1 && wire.ByteSizeLong() > kMaxDetails) {
      bad.mutable_field_violations()->RemoveLast();
      wire.mutable_details(i)->set_value(bad.SerializeAsString());
    }
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), wire.message(),
                      wire.SerializeAsString());
}

}  // namespace toolrack
