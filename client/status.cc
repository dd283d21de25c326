#include "client/status.h"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "internal/google_rpc.pb.h"
#include "registry/base/errors.h"

namespace toolrack {

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  int code = static_cast<int>(status.error_code());
  if (code < 1 || code > 16) code = static_cast<int>(absl::StatusCode::kUnknown);
  absl::Status out(static_cast<absl::StatusCode>(code), status.error_message());
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return out;
  for (const google::protobuf::Any& detail : details.details()) {
    out.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return out;
}

absl::Status FromGrpcCallStatus(const grpc::Status& status, absl::string_view tool) {
  absl::Status out = FromGrpcStatus(status);
  // The daemon always says why; only gRPC's own UNAVAILABLE comes without a reason.
  if (absl::IsUnavailable(out) && ReasonOf(out) == v1::ERROR_REASON_UNSPECIFIED &&
      !absl::StartsWith(out.message(), "failed to connect")) {
    return OutcomeUnknown(tool, "the daemon");
  }
  return out;
}

}  // namespace toolrack
