#include "server/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "registry/base/errors.h"
#include "registry/call/scrub.h"
#include "renderers/catalog.h"
#include "server/config_fields.h"
#include "server/rpc/address.h"
#include "server/tools/http_request.h"

namespace toolrack {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxConfigBytes = 1 << 20;

// A single value as a file would have it; empty: not set.
std::string TextOf(const Message& message, const FieldDescriptor& field, int index) {
  const auto* reflection = message.GetReflection();
  if (IsDuration(field)) {
    if (!reflection->HasField(message, &field)) return "";
    return absl::FormatDuration(FromProto(
        static_cast<const google::protobuf::Duration&>(reflection->GetMessage(message, &field))));
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return index < 0 ? reflection->GetString(message, &field)
                       : reflection->GetRepeatedString(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32: {
      const uint32_t value = reflection->GetUInt32(message, &field);
      return value == 0 ? "" : absl::StrCat(value);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t value = reflection->GetUInt64(message, &field);
      return value == 0 ? "" : absl::StrCat(value);
    }
    default:
      return "";  // every bool and every enum value of a message is legal
  }
}

void CheckMessage(const Message& message, const std::string& path, const std::string& row_path,
                  std::vector<ConfigMistake>& mistakes) {
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor& field = *descriptor->field(i);
    const auto* reflection = message.GetReflection();
    const int size = field.is_repeated() ? reflection->FieldSize(message, &field) : 1;
    for (int at = 0; at < size; ++at) {
      std::string here = path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
      const std::string row =
          row_path.empty() ? field.name() : absl::StrCat(row_path, ".", field.name());
      if (field.is_repeated()) absl::StrAppend(&here, "[", at, "]");
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field)) {
        CheckMessage(field.is_repeated() ? reflection->GetRepeatedMessage(message, &field, at)
                                         : reflection->GetMessage(message, &field),
                     here, row, mistakes);
        continue;
      }
      const std::string text = TextOf(message, field, field.is_repeated() ? at : -1);
      if (text.empty()) continue;
      std::unique_ptr<Message> scratch(message.New());
      const std::string wrong = SetConfigValue(*scratch, field, row, text, true);
      if (!wrong.empty()) mistakes.push_back({0, 0, here, wrong});
    }
  }
}

void ApplyDefaults(Message& message, const std::string& path) {
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor& field = *descriptor->field(i);
    const std::string here = path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
    const auto* reflection = message.GetReflection();
    const bool group = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field);
    if (field.is_repeated()) {
      for (int at = 0; group && at < reflection->FieldSize(message, &field); ++at) {
        ApplyDefaults(*reflection->MutableRepeatedMessage(&message, &field, at), here);
      }
      continue;
    }
    if (group) {
      ApplyDefaults(*reflection->MutableMessage(&message, &field), here);
      continue;
    }
    const ConfigField* row = FindConfigField(here);
    if (row == nullptr || *row->fallback == '\0') continue;
    // Without presence HasField means: not zero.
    if (message.GetReflection()->HasField(message, &field)) continue;
    SetConfigValue(message, field, here, row->fallback, false);
  }
}

std::string DefaultRuntimeDir() {
  const char* xdg = std::getenv("XDG_RUNTIME_DIR");
  if (xdg != nullptr && *xdg == '/') return absl::StrCat(xdg, "/toolrack");
  return "/run/toolrack";
}

}  // namespace

LogLevel LogLevelOf(absl::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return LogLevel::kInfo;
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

absl::StatusOr<uint64_t> ParseSize(absl::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(text[digits])) ++digits;
  uint64_t value = 0;
  const absl::string_view unit = text.substr(digits);
  int shift = -1;
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "KiB") shift = 10;
  if (unit == "MiB") shift = 20;
  if (unit == "GiB") shift = 30;
  if (digits == 0 || shift < 0 || !absl::SimpleAtoi(text.substr(0, digits), &value) ||
      value > (UINT64_MAX >> shift)) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be a size like 4096, 64KiB, 4MiB or 1GiB; got ",
                     text.empty() ? "nothing" : ForMessage(text, 60)));
  }
  return value << shift;
}

std::string FormatMistakes(absl::string_view file, const std::vector<ConfigMistake>& mistakes) {
  return absl::StrJoin(mistakes, "\n", [file](std::string* out, const ConfigMistake& mistake) {
    absl::StrAppend(out, file);
    if (mistake.line > 0) absl::StrAppend(out, ":", mistake.line, ":", mistake.column);
    absl::StrAppend(out, ": ");
    if (!mistake.path.empty()) absl::StrAppend(out, mistake.path, ": ");
    absl::StrAppend(out, mistake.message);
  });
}

namespace {

bool IsPrincipalName(absl::string_view name) {
  constexpr char kLegal[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= 64 && name.find_first_not_of(kLegal) == name.npos &&
         absl::ascii_isalnum(static_cast<unsigned char>(name.front()));
}

// Principals, rules, renderers and patterns: what the table of fields cannot say.
void CheckAccess(const v1::Config& config, std::vector<ConfigMistake>& mistakes) {
  const auto wrong = [&mistakes](std::string path, std::string message) {
    mistakes.push_back({0, 0, std::move(path), std::move(message)});
  };
  std::set<std::string> names, tokens, uids;
  for (int i = 0; i < config.principals_size(); ++i) {
    const v1::PrincipalConfig& principal = config.principals(i);
    const std::string path = absl::StrCat("principals[", i, "]");
    if (!IsPrincipalName(principal.name())) {
      wrong(principal.name().empty() ? path : path + ".name",
            absl::StrCat("needs a `name` of 1 to 64 of a-z, 0-9, `.`, `_` and `-`; got ",
                         principal.name().empty() ? "none" : ForMessage(principal.name(), 60)));
    } else if (!names.insert(principal.name()).second) {
      wrong(path + ".name", absl::StrCat(principal.name(), " stands twice; keep one of them"));
    }
    for (int t = 0; t < principal.token_sha256_size(); ++t) {
      const std::string hash = absl::AsciiStrToLower(principal.token_sha256(t));
      const std::string here = absl::StrCat(path, ".token_sha256[", t, "]");
      if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != hash.npos) {
        // Not shown: it may be the token itself.
        wrong(here, "must be the SHA-256 of a token, 64 hex digits; `toolrack token` makes both");
      } else if (!tokens.insert(hash).second) {
        wrong(here, "stands twice; a token belongs to one principal");
      }
    }
    for (int u = 0; u < principal.uids_size(); ++u) {
      const std::string& uid = principal.uids(u);
      const std::string here = absl::StrCat(path, ".uids[", u, "]");
      uint32_t number = 0;
      if (!absl::SimpleAtoi(uid, &number) || absl::StrCat(number) != uid) {
        wrong(here, absl::StrCat("must be the number of a user; got ", ForMessage(uid, 60)));
      } else if (!uids.insert(uid).second) {
        wrong(here, absl::StrCat(uid, " stands twice; a user is one principal"));
      }
    }
  }
  for (int i = 0; i < config.policy().rules_size(); ++i) {
    if (config.policy().rules(i).action().empty()) {
      wrong(absl::StrCat("policy.rules[", i, "]"), "needs an `action`: allow, deny or ask");
    }
  }
  const v1::HttpToolConfig& http = config.builtin().http();
  for (int i = 0; i < http.allow_size(); ++i) {
    const std::string fault = HttpHostMistake(http.allow(i));
    if (!fault.empty()) {
      wrong(absl::StrCat("builtin.http.allow[", i, "]"),
            absl::StrCat(fault, "; got ", ForMessage(http.allow(i), 60)));
    }
  }
  for (int i = 0; i < http.methods_size(); ++i) {
    const std::string fault = HttpMethodMistake(http.methods(i));
    if (!fault.empty()) {
      wrong(absl::StrCat("builtin.http.methods[", i, "]"),
            absl::StrCat(fault, "; got ", ForMessage(http.methods(i), 60)));
    }
  }
  for (int i = 0; i < config.renderers().rules_size(); ++i) {
    const v1::RendererRule& rule = config.renderers().rules(i);
    const std::string path = absl::StrCat("renderers.rules[", i, "]");
    if (rule.models().empty()) {
      wrong(path, "needs `models`: model ids or provider schemes, `*` stands for any characters");
    }
    if (rule.renderers().empty()) {
      wrong(path, "needs `renderers`: names of renderers, best first");
    }
    for (int m = 0; m < rule.models_size(); ++m) {
      if (rule.models(m).empty())
        wrong(absl::StrCat(path, ".models[", m, "]"), "must not be empty");
    }
    for (int r = 0; r < rule.renderers_size(); ++r) {
      if (FindRenderer(rule.renderers(r)).ok()) continue;
      wrong(absl::StrCat(path, ".renderers[", r, "]"),
            absl::StrCat("there is no renderer ", ForMessage(rule.renderers(r), 60),
                         "; `toolrack renderers` lists them"));
    }
  }
  for (int i = 0; i < config.results().scrub_patterns_size(); ++i) {
    const std::string fault = Scrubber::PatternFault(config.results().scrub_patterns(i));
    if (!fault.empty()) {
      wrong(absl::StrCat("results.scrub_patterns[", i, "]"),
            absl::StrCat("must be a regular expression (RE2): ", ForMessage(fault, 120)));
    }
  }
}

}  // namespace

std::vector<ConfigMistake> CheckConfig(const v1::Config& config) {
  std::vector<ConfigMistake> mistakes;
  CheckMessage(config, "", "", mistakes);
  for (int i = 0; i < config.listen().tcp_size(); ++i) {
    const absl::StatusOr<TcpAddress> address = ParseTcpAddress(config.listen().tcp(i));
    if (address.ok() && !address->loopback && !config.listen().insecure_remote()) {
      mistakes.push_back(
          {0, 0, absl::StrCat("listen.tcp[", i, "]"),
           absl::StrCat(config.listen().tcp(i),
                        " is not a loopback address: anybody who can reach it could "
                        "call tools, without encryption. Listen on 127.0.0.1, or set "
                        "listen.insecure_remote (--insecure-remote)")});
    }
  }
  for (int i = 0; i < config.tools_size(); ++i) {
    if (config.tools(i).name().empty()) {
      mistakes.push_back({0, 0, absl::StrCat("tools[", i, "]"),
                          "needs `name`: a canonical tool name, `*` stands for any characters"});
    }
  }
  CheckBuiltin(config.builtin(), mistakes);
  CheckAccess(config, mistakes);
  const v1::Config whole = WithDefaults(config);
  if (whole.limits().max_arguments_bytes() > whole.limits().max_message_bytes()) {
    mistakes.push_back({0, 0, "limits.max_arguments_bytes",
                        absl::StrCat("must not be over limits.max_message_bytes (",
                                     whole.limits().max_message_bytes(), "); got ",
                                     whole.limits().max_arguments_bytes())});
  }
  return mistakes;
}

v1::Config WithDefaults(v1::Config config) {
  ApplyDefaults(config, "");
  if (config.listen().runtime_dir().empty()) {
    config.mutable_listen()->set_runtime_dir(DefaultRuntimeDir());
  }
  return config;
}

absl::StatusOr<v1::Config> LoadConfigFile(const std::string& file) {
  struct stat info;
  if (::stat(file.c_str(), &info) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": cannot be read: ", strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": is not a file"));
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": belongs to uid ", info.st_uid,
        ": it must belong to root or to the daemon's own user (uid ", ::geteuid(), ")"));
  }
  if ((info.st_mode & S_IWOTH) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": everybody may write it; take that away with chmod o-w"));
  }
  if (static_cast<uint64_t>(info.st_size) > kMaxConfigBytes) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": is larger than 1 MiB"));
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return absl::InvalidArgumentError(absl::StrCat(file, ": cannot be read"));
  std::vector<ConfigMistake> mistakes;
  v1::Config config = ReadConfig(text.str(), mistakes);
  if (!mistakes.empty()) return absl::InvalidArgumentError(FormatMistakes(file, mistakes));
  return config;
}

}  // namespace toolrack
