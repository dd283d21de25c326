// Between Abseil's times and protobuf's. Thread-safe, no errors: what does not fit is cut.
#ifndef TOOLRACK_REGISTRY_BASE_PROTO_TIME_H_
#define TOOLRACK_REGISTRY_BASE_PROTO_TIME_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace toolrack {

absl::Duration ToDuration(const google::protobuf::Duration& duration);
void SetDuration(absl::Duration from, google::protobuf::Duration& to);
void SetTimestamp(absl::Time from, google::protobuf::Timestamp& to);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_PROTO_TIME_H_
