#include "server/config_fields.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "registry/base/errors.h"
#include "server/config.h"
#include "server/rpc/address.h"

namespace toolrack {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The one table of defaults and ranges.
constexpr ConfigField kFields[] = {
    {"drain_grace", "20s", "0s", "24h", ""},
    {"listen.socket_mode", "0600", "", "", ""},
    {"limits.max_message_bytes", "4MiB", "64KiB", "256MiB", ""},
    {"limits.max_arguments_bytes", "1MiB", "1KiB", "256MiB", ""},
    {"limits.max_json_depth", "64", "4", "1000", ""},
    {"limits.max_schema_bytes", "256KiB", "1KiB", "16MiB", ""},
    {"limits.max_schema_nodes", "10000", "16", "1000000", ""},
    {"limits.max_schema_visits", "250000", "1000", "100000000", ""},
    {"limits.max_description_bytes", "64KiB", "256", "1MiB", ""},
    {"limits.max_tools", "100000", "1", "1000000", ""},
    {"limits.max_tools_per_worker", "10000", "1", "1000000", ""},
    {"limits.max_calls_in_flight", "10000", "1", "1000000", ""},
    {"limits.max_calls_per_principal", "10000", "1", "1000000", ""},
    {"limits.max_queue_per_worker", "1024", "1", "1000000", ""},
    {"limits.max_streams_per_connection", "1000", "1", "1000000", ""},
    {"limits.max_watchers", "1000", "1", "100000", ""},
    {"limits.max_watch_backlog", "4096", "16", "1000000", ""},
    {"limits.watch_history", "16384", "16", "10000000", ""},
    {"limits.grpc_memory_bytes", "256MiB", "16MiB", "64GiB", ""},
    {"limits.max_connections", "4096", "1", "100000", ""},
    {"limits.default_call_timeout", "5m", "1ms", "720h", ""},
    {"limits.blocking_threads", "4", "1", "256", ""},
    {"limits.max_pending_requests", "1024", "1", "100000", ""},
    {"limits.handshake_timeout", "10s", "10ms", "10m", ""},
    {"limits.max_calls_per_session", "1000", "1", "1000000", ""},
    {"limits.max_calls_per_backend", "", "0", "1000000", ""},
    {"limits.max_queue_per_tool", "1024", "1", "1000000", ""},
    {"limits.queue_timeout", "30s", "1ms", "24h", ""},
    {"limits.max_calls_per_minute", "", "0", "100000000", ""},
    {"limits.call_burst", "", "0", "1000000", ""},
    {"limits.max_idempotency_keys", "10000", "1", "10000000", ""},
    {"limits.idempotency_ttl", "10m", "1s", "720h", ""},
    {"pinning", "warn", "", "", "off|warn|enforce"},
    {"principals.scopes", "", "", "", "call|register|hook|render|admin"},
    {"policy.default_action", "allow", "", "", "allow|deny|ask"},
    {"policy.approval_ttl", "10m", "1s", "24h", ""},
    {"policy.max_approvals", "1000", "1", "100000", ""},
    {"policy.rules.action", "", "", "", "allow|deny|ask"},
    {"policy.rules.risks", "", "", "", "safe|caution|dangerous"},
    {"results.cache_ttl", "", "0s", "24h", ""},
    {"results.max_cache_bytes", "16MiB", "64KiB", "16GiB", ""},
    {"results.max_spill_bytes", "256MiB", "64KiB", "1024GiB", ""},
    {"tools.result_cap_bytes", "", "256", "16MiB", ""},
    {"tools.cache_ttl", "", "1ms", "24h", ""},
    {"breaker.failures", "5", "1", "1000000", ""},
    {"breaker.open_for", "10s", "1ms", "1h", ""},
    {"limits.max_sessions", "10000", "1", "1000000", ""},
    {"limits.session_idle", "1h", "1s", "720h", ""},
    {"limits.max_session_idle", "24h", "1s", "720h", ""},
    {"limits.max_loaded_tools", "1000", "1", "100000", ""},
    {"hooks.default_timeout", "1s", "1ms", "1h", ""},
    {"hooks.max_timeout", "10m", "1ms", "24h", ""},
    {"hooks.max_hooks", "100", "1", "10000", ""},
    {"hooks.max_queue", "4096", "1", "1000000", ""},
    {"workers.worker_grace", "30s", "1ms", "24h", ""},
    {"workers.ping_interval", "10s", "10ms", "1h", ""},
    {"workers.ping_timeout", "5s", "10ms", "1h", ""},
    {"workers.max_in_flight", "10000", "1", "1000000", ""},
    {"workers.max_workers", "1000", "1", "100000", ""},
    {"workers.max_attempts", "3", "1", "10", ""},
    {"validation.assert_format", "false", "", "", ""},
    {"validation.coerce", "false", "", "", ""},
    {"results.cap_bytes", "64KiB", "256", "16MiB", ""},
    {"results.ttl", "10m", "1s", "720h", ""},
    {"results.max_stored_bytes", "64MiB", "64KiB", "64GiB", ""},
    {"results.max_result_bytes", "16MiB", "1KiB", "256MiB", ""},
    {"log.level", "info", "", "", "debug|info|warning|error|off"},
    {"log.format", "text", "", "", "text|json"},
    {"log.calls", "true", "", "", ""},
    {"builtin.enabled", "", "", "", "echo|counter|current_time|calculator|sleep"},
    {"tools.timeout", "", "1ms", "720h", ""},
    {"audit.required", "false", "", "", ""},
    {"builtin.files.max_file_bytes", "1MiB", "1KiB", "256MiB", ""},
    {"builtin.files.max_entries", "1000", "1", "100000", ""},
    {"builtin.http.max_response_bytes", "1MiB", "1KiB", "256MiB", ""},
    {"builtin.http.timeout", "30s", "1ms", "1h", ""},
    {"builtin.memory.max_notes", "1000", "1", "1000000", ""},
    {"builtin.memory.max_note_bytes", "16KiB", "64", "1MiB", ""},
    {"builtin.commands.timeout", "30s", "1ms", "24h", ""},
    {"builtin.commands.max_output_bytes", "1MiB", "256", "256MiB", ""},
    {"builtin.commands.max_concurrency", "4", "1", "1000", ""},
    {"dispatcher.max_attempts", "5", "1", "1000", ""},
    {"dispatcher.max_malformed", "3", "1", "1000", ""},
    {"dispatcher.max_unknown_tool", "3", "1", "1000", ""},
    {"dispatcher.max_invalid_arguments", "3", "1", "1000", ""},
    {"dispatcher.no_coerce", "false", "", "", ""},
    {"dispatcher.max_calls_per_output", "64", "1", "10000", ""},
    {"dispatcher.max_output_bytes", "4MiB", "1KiB", "256MiB", ""},
};

bool IsSize(const FieldDescriptor& field) { return absl::EndsWith(field.name(), "_bytes"); }

// What is wrong, or empty.
template <typename T, typename Parse>
std::string CheckRange(T value, const ConfigField* row, absl::string_view text, Parse parse) {
  if (row == nullptr) return "";
  if ((*row->min != '\0' && value < *parse(row->min)) ||
      (*row->max != '\0' && value > *parse(row->max))) {
    return absl::StrCat("must be between ", row->min, " and ", row->max, "; got ",
                        ForMessage(text, 60));
  }
  return "";
}

absl::StatusOr<uint64_t> ParseCount(absl::string_view text) {
  uint64_t value = 0;
  // SimpleAtoi also takes spaces and a sign.
  if (text.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a whole number; got ", ForMessage(text, 60)));
  }
  return value;
}

absl::StatusOr<absl::Duration> ParseTime(absl::string_view text) {
  absl::Duration value;
  if (text.empty() || !absl::ParseDuration(text, &value) || value == absl::InfiniteDuration() ||
      value < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a duration like 30s, 1m30s or 250ms; got ", ForMessage(text, 60)));
  }
  return value;
}

std::string SetDuration(Message& message, const FieldDescriptor& field, const ConfigField* row,
                        absl::string_view text) {
  const absl::StatusOr<absl::Duration> value = ParseTime(text);
  if (!value.ok()) return std::string(value.status().message());
  const std::string range = CheckRange(*value, row, text, ParseTime);
  if (!range.empty()) return range;
  google::protobuf::Duration duration;
  duration.set_seconds(absl::ToInt64Seconds(*value));
  duration.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(*value - absl::Seconds(duration.seconds()))));
  message.GetReflection()->MutableMessage(&message, &field)->CopyFrom(duration);
  return "";
}

std::string SetNumber(Message& message, const FieldDescriptor& field, const ConfigField* row,
                      absl::string_view text) {
  const auto parse = IsSize(field) ? ParseSize : ParseCount;
  const absl::StatusOr<uint64_t> value = parse(text);
  if (!value.ok()) return std::string(value.status().message());
  const std::string range = CheckRange(*value, row, text, parse);
  if (!range.empty()) return range;
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    message.GetReflection()->SetUInt64(&message, &field, *value);
    return "";
  }
  if (*value > UINT32_MAX) return absl::StrCat("must be at most ", UINT32_MAX, "; got ", text);
  message.GetReflection()->SetUInt32(&message, &field, static_cast<uint32_t>(*value));
  return "";
}

std::string EnumPrefix(const google::protobuf::EnumDescriptor& type) {
  const std::string& first = type.value(0)->name();
  return first.substr(0, first.size() - std::string("UNSPECIFIED").size());
}

bool IsSocketMode(absl::string_view text) {
  if (text.size() != 3 && !(text.size() == 4 && text[0] == '0')) return false;
  for (char c : text) {
    if (c < '0' || c > '7') return false;
  }
  return true;
}

std::string SetText(Message& message, const FieldDescriptor& field, const ConfigField* row,
                    absl::string_view text) {
  if (row != nullptr && *row->choices != '\0') {
    const std::vector<absl::string_view> choices = absl::StrSplit(row->choices, '|');
    bool known = false;
    for (absl::string_view choice : choices) known |= choice == text;
    if (!known) {
      return absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), "; got ",
                          text.empty() ? "nothing" : ForMessage(text, 60));
    }
  }
  if (absl::string_view(field.full_name()) == "toolrack.v1.ListenConfig.tcp") {
    const absl::StatusOr<TcpAddress> address = ParseTcpAddress(text);
    if (!address.ok()) return std::string(address.status().message());
  }
  if (absl::string_view(field.full_name()) == "toolrack.v1.ListenConfig.socket_mode" &&
      !IsSocketMode(text)) {
    return absl::StrCat("must be an octal mode between 0000 and 0777 like 0600 or 0660; got ",
                        text.empty() ? "nothing" : ForMessage(text, 60));
  }
  if (field.is_repeated()) {
    message.GetReflection()->AddString(&message, &field, std::string(text));
  } else {
    message.GetReflection()->SetString(&message, &field, std::string(text));
  }
  return "";
}

}  // namespace

const ConfigField* FindConfigField(absl::string_view path) {
  for (const ConfigField& field : kFields) {
    if (path == field.path) return &field;
  }
  return nullptr;
}

bool IsDuration(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type()->full_name() == "google.protobuf.Duration";
}

std::string EnumChoices(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  const std::string prefix = EnumPrefix(type);
  for (int i = 1; i < type.value_count(); ++i) {
    names.push_back(absl::AsciiStrToLower(type.value(i)->name().substr(prefix.size())));
  }
  return absl::StrJoin(names, "|");
}

std::string SetConfigValue(Message& message, const FieldDescriptor& field, absl::string_view path,
                           absl::string_view text, bool quoted) {
  const ConfigField* row = FindConfigField(path);
  if (IsDuration(field)) return SetDuration(message, field, row, text);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return SetText(message, field, row, text);
    case FieldDescriptor::CPPTYPE_BOOL:
      if (quoted || (text != "true" && text != "false")) {
        return absl::StrCat("must be true or false; got ", ForMessage(text, 60),
                            quoted ? " in quotes" : "");
      }
      message.GetReflection()->SetBool(&message, &field, text == "true");
      return "";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return SetNumber(message, field, row, text);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value = field.enum_type()->FindValueByName(
          absl::StrCat(EnumPrefix(*field.enum_type()), absl::AsciiStrToUpper(text)));
      if (value == nullptr || value->number() == 0) {
        return absl::StrCat("must be one of ",
                            absl::StrReplaceAll(EnumChoices(*field.enum_type()), {{"|", ", "}}),
                            "; got ", ForMessage(text, 60));
      }
      message.GetReflection()->SetEnum(&message, &field, value);
      return "";
    }
    default:
      return "cannot be set in a file";
  }
}

}  // namespace toolrack
