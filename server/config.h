// The daemon's configuration: what a file may say, what holds when it says nothing.
//
// Every setting is a field of v1::Config; one table (config.cc) gives each its default and its
// range. A file is YAML or JSON by the field names; all its mistakes are reported at once.
#ifndef TOOLRACK_SERVER_CONFIG_H_
#define TOOLRACK_SERVER_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "registry/base/log.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// One thing that is wrong. `line` and `column` count from 1; 0: no place in a file.
struct ConfigMistake {
  int line = 0;
  int column = 0;
  std::string path;  // e.g. `limits.max_tools`, `tools[2].risk`
  std::string message;
};

// `FILE:LINE:COLUMN: PATH: MESSAGE`, one line each, in the order of the file.
std::string FormatMistakes(absl::string_view file, const std::vector<ConfigMistake>& mistakes);

// Reads a text of at most 1 MiB. `mistakes` gets everything that is wrong; the result holds what
// could be read and is only good when there is none.
v1::Config ReadConfig(absl::string_view text, std::vector<ConfigMistake>& mistakes);

// Reads a file. It must belong to root or to the process's user and not be writable by others.
// INVALID_ARGUMENT with all mistakes as the message.
absl::StatusOr<v1::Config> LoadConfigFile(const std::string& file);

// What is wrong with a config that was not read from a file (flags, tests): the same rules.
std::vector<ConfigMistake> CheckConfig(const v1::Config& config);

// The level of a log, by its name in the configuration.
LogLevel LogLevelOf(absl::string_view name);

// Every unset field gets its default. `listen.runtime_dir` is taken from the environment.
v1::Config WithDefaults(v1::Config config);

// `4096`, `64KiB`, `4MiB`, `1GiB`. INVALID_ARGUMENT with a line that says what is wrong.
absl::StatusOr<uint64_t> ParseSize(absl::string_view text);

absl::Duration FromProto(const google::protobuf::Duration& duration);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_CONFIG_H_
