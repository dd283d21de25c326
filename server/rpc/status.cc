#include "server/rpc/status.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "internal/google_rpc.pb.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

// gRPC takes 8 KiB of trailers and says nothing of an error with more. The message travels twice:
// in the details, which are base64 for most clients, and percent-encoded as grpc-message.
constexpr size_t kMaxTrailers = 7600;
constexpr size_t kMaxMessage = 2048;
constexpr size_t kMaxEncodedMessage = 2560;
constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";

std::string Cut(const std::string& text, size_t max) {
  if (text.size() <= max) return text;
  return std::string(Utf8Prefix(text, max)) + "…";
}

// As grpc-message.
size_t EncodedSize(absl::string_view message) {
  size_t size = 0;
  for (const char c : message) size += c >= 0x20 && c < 0x7f && c != '%' ? 1 : 3;
  return size;
}

// No text of a detail longer than `max`.
void CutTexts(google::protobuf::Any& detail, size_t max) {
  if (detail.type_url() == kErrorInfoUrl) {
    google::rpc::ErrorInfo info;
    info.ParseFromString(detail.value());
    for (auto& [key, value] : *info.mutable_metadata()) value = Cut(value, max);
    detail.set_value(info.SerializeAsString());
  } else if (detail.type_url() == kBadRequestUrl) {
    google::rpc::BadRequest bad;
    bad.ParseFromString(detail.value());
    for (auto& violation : *bad.mutable_field_violations()) {
      violation.set_field(Cut(violation.field(), max));
      violation.set_description(Cut(violation.description(), max));
    }
    detail.set_value(bad.SerializeAsString());
  }
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
  std::string message = Cut(std::string(status.message()), kMaxMessage);
  while (EncodedSize(message) > kMaxEncodedMessage) message = Cut(message, message.size() * 3 / 4);
  const size_t max_details = (kMaxTrailers - EncodedSize(message)) * 3 / 4;
  wire.set_message(std::move(message));
  status.ForEachPayload([&wire](absl::string_view url, const absl::Cord& payload) {
    if (!absl::StartsWith(url, "type.googleapis.com/google.rpc.")) return;
    auto* detail = wire.add_details();
    detail->set_type_url(std::string(url));
    detail->set_value(std::string(payload));
  });
  for (int i = 1; i < wire.details_size(); ++i) {
    if (wire.details(i).type_url() == kErrorInfoUrl) wire.mutable_details()->SwapElements(0, i);
  }
  for (int i = 0; i < wire.details_size() && wire.ByteSizeLong() > max_details; ++i) {
    if (wire.details(i).type_url() != kBadRequestUrl) continue;
    google::rpc::BadRequest bad;
    bad.ParseFromString(wire.details(i).value());
    while (bad.field_violations_size() > 1 && wire.ByteSizeLong() > max_details) {
      bad.mutable_field_violations()->RemoveLast();
      wire.mutable_details(i)->set_value(bad.SerializeAsString());
    }
  }
  // Longer than gRPC lets through, it would be told as a fault of the transport.
  for (size_t max = 1024; max >= 64 && wire.ByteSizeLong() > max_details; max /= 4) {
    for (auto& detail : *wire.mutable_details()) CutTexts(detail, max);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), wire.message(),
                      wire.SerializeAsString());
}

}  // namespace toolrack
