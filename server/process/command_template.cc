#include "server/process/command_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

bool IsPropertyName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
}

absl::Status AppendScalar(const std::string& name, const nlohmann::json& value, std::string& out) {
  if (value.is_structured()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", name, "` must be one value, not ", value.is_array() ? "a list" : "a group",
        ": it becomes a part of one argument of a program."));
  }
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", name, "` has a NUL character; no argument of a program can."));
  }
  out += text;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ArgumentTemplate> ArgumentTemplate::Parse(absl::string_view text) {
  ArgumentTemplate out;
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) out.parts_.push_back({false, std::move(plain)});
    plain.clear();
  };
  if (text.find('\0') != text.npos) return absl::InvalidArgumentError("has a NUL character");
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '{' && c != '}') {
      plain.push_back(c);
    } else if (at + 1 < text.size() && text[at + 1] == c) {
      plain.push_back(c);
      ++at;
    } else if (c == '}') {
      return absl::InvalidArgumentError(
          "has a `}` without a `{` before it; write `}}` for a brace");
    } else {
      const size_t end = text.find('}', at);
      if (end == text.npos) {
        return absl::InvalidArgumentError(
            "has a `{` without a `}` after it; write `{{` for a brace");
      }
      const absl::string_view name = text.substr(at + 1, end - at - 1);
      if (!IsPropertyName(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("must have a property's name of A-Z, a-z, 0-9, `_`, `.` and `-` in its "
                         "braces; got `{",
                         ForMessage(name, 60), "}`"));
      }
      flush();
      out.parts_.push_back({true, std::string(name)});
      at = end;
    }
  }
  flush();
  return out;
}

std::vector<std::string> ArgumentTemplate::properties() const {
  std::vector<std::string> out;
  for (const Part& part : parts_) {
    if (part.property) out.push_back(part.text);
  }
  return out;
}

bool ArgumentTemplate::fixed() const {
  return std::none_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.property; });
}

absl::Status ArgumentTemplate::Append(const nlohmann::json& arguments,
                                      std::vector<std::string>& argv) const {
  if (bare()) {
    const std::string& name = parts_[0].text;
    const auto value = arguments.find(name);
    if (value == arguments.end()) return absl::OkStatus();
    if (value->is_array()) {
      for (const nlohmann::json& element : *value) {
        TR_RETURN_IF_ERROR(AppendScalar(name, element, argv.emplace_back()));
      }
      return absl::OkStatus();
    }
    return AppendScalar(name, *value, argv.emplace_back());
  }
  std::string out;
  for (const Part& part : parts_) {
    if (!part.property) {
      out += part.text;
      continue;
    }
    const auto value = arguments.find(part.text);
    if (value == arguments.end()) {
      return absl::InvalidArgumentError(absl::StrCat("`", part.text, "` is missing; give it."));
    }
    TR_RETURN_IF_ERROR(AppendScalar(part.text, *value, out));
  }
  argv.push_back(std::move(out));
  return absl::OkStatus();
}

}  // namespace toolrack
