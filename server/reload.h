// What a configuration that is read again changes, and what of it holds at once.
#ifndef TOOLRACK_SERVER_RELOAD_H_
#define TOOLRACK_SERVER_RELOAD_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// Where a daemon's configuration comes from, checked, flags included. INVALID_ARGUMENT with all
// mistakes, or why it cannot be read.
struct ConfigSource {
  std::string file;  // for messages
  std::function<absl::StatusOr<v1::Config>()> read;
};

// The settings that differ, by path (`limits.max_tools`; lists as one), sorted.
std::vector<std::string> ChangedSettings(const v1::Config& before, const v1::Config& after);
// Whether a change of this setting holds without a restart: principals, the policy's rules, the log
// level.
bool HoldsAtOnce(absl::string_view path);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RELOAD_H_
