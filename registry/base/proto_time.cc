#include "registry/base/proto_time.h"

namespace toolrack {

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void SetDuration(absl::Duration from, google::protobuf::Duration& to) {
  const int64_t seconds = absl::IDivDuration(from, absl::Seconds(1), &from);
  to.set_seconds(seconds);
  to.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(from)));
}

void SetTimestamp(absl::Time from, google::protobuf::Timestamp& to) {
  absl::Duration since = from - absl::UnixEpoch();
  int64_t seconds = absl::IDivDuration(since, absl::Seconds(1), &since);
  if (since < absl::ZeroDuration()) {
    since += absl::Seconds(1);
    --seconds;
  }
  to.set_seconds(seconds);
  to.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(since)));
}

}  // namespace toolrack
