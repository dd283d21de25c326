// Text for a terminal: how wide it is, and made harmless.
//
// Descriptions and results come from strangers. Printed raw they could move the cursor, recolour or
// reorder what stands around them, so nothing but printable characters gets through.
//
// Pure, thread-safe.
#ifndef TOOLRACK_CLIENT_CLI_TEXT_H_
#define TOOLRACK_CLIENT_CLI_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace toolrack {

enum class Lines { kKeep, kJoin };

// Control characters (C0, DEL, C1), the bidi controls and U+2028/2029 become `\x1b`, `\u202e`;
// ill-formed UTF-8 becomes U+FFFD. kKeep leaves line feeds and tabs, kJoin makes each run of
// white space one blank and drops it at both ends.
std::string Printable(absl::string_view text, Lines lines);

// Columns on a terminal: East Asian wide characters and emoji 2, combining marks 0. Source: the
// blocks of Unicode's EastAsianWidth.txt, in ranges. `text` must be printable UTF-8.
size_t DisplayWidth(absl::string_view text);
// The longest prefix of at most `width` columns, its last one `…` when something was cut.
std::string CutToWidth(absl::string_view text, size_t width);

// `250ms`, `1.5s`, `3m12s`, `2h5m`, `4d3h`: two parts at most.
std::string DurationText(const google::protobuf::Duration& duration);
// RFC 3339 in UTC, whole seconds; `-` when unset.
std::string TimeText(const google::protobuf::Timestamp& time);
// `512 B`, `1.5 KiB`, `64 MiB`.
std::string BytesText(uint64_t bytes);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_TEXT_H_
