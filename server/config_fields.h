// The table of settings and the reading of single values: shared by config.cc and config_reader.cc.
#ifndef TOOLRACK_SERVER_CONFIG_FIELDS_H_
#define TOOLRACK_SERVER_CONFIG_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// One setting. Values are written as in a file.
struct ConfigField {
  const char* path;      // without list positions: `tools.timeout`
  const char* fallback;  // empty: none
  const char* min;       // numbers, sizes and durations; empty: no bound
  const char* max;
  const char* choices;  // texts: `a|b|c`; empty: any
};

// Null for a setting without default and range.
const ConfigField* FindConfigField(absl::string_view path);

// Durations are read as one value, not as a message.
bool IsDuration(const google::protobuf::FieldDescriptor& field);

// Parses `text` by the type of `field` and sets it (or adds it, when repeated). What is wrong, or
// empty. `path` is the one for FindConfigField; `quoted`: it stood in quotes.
std::string SetConfigValue(google::protobuf::Message& message,
                           const google::protobuf::FieldDescriptor& field, absl::string_view path,
                           absl::string_view text, bool quoted);

// What is wrong with the settings of the built-in tools, beyond the table (config_builtin.cc).
struct ConfigMistake;
void CheckBuiltin(const v1::BuiltinConfig& config, std::vector<ConfigMistake>& mistakes);

// The lower-case names of an enum's values without their prefix, `|` between them.
std::string EnumChoices(const google::protobuf::EnumDescriptor& type);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_CONFIG_FIELDS_H_
