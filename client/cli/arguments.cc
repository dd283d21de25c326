#include "client/cli/arguments.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/status_macros.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

std::string ReadAll(std::istream& in) {
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The text itself, or what `@file`, `@-` and `-` stand for.
absl::StatusOr<std::string> Load(const std::string& given, std::istream& in) {
  if (given == "-" || given == "@-") return ReadAll(in);
  if (!absl::StartsWith(given, "@")) return given;
  const std::string path = given.substr(1);
  std::ifstream file(path, std::ios::binary);
  std::string text = ReadAll(file);
  if (!file.is_open() || file.bad()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  }
  return text;
}

absl::StatusOr<std::string> ObjectOf(const std::vector<std::string>& pairs) {
  std::set<std::string> keys;
  std::string object = "{";
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", ForMessage(pair), "\" is neither JSON nor key=text nor key:=json"));
    }
    const bool json = equals >= 2 && pair[equals - 1] == ':';
    const std::string key = pair.substr(0, json ? equals - 1 : equals);
    const std::string value = pair.substr(equals + 1);
    if (!keys.insert(key).second) {
      return absl::InvalidArgumentError(absl::StrCat("\"", ForMessage(key), "\" is given twice"));
    }
    if (!IsUtf8(pair)) return absl::InvalidArgumentError("a pair is not UTF-8");
    if (json) {
      const auto parsed = ParseJsonOrStatus(value);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(ForMessage(key), ":= needs JSON: ", parsed.status().message()));
      }
    }
    absl::StrAppend(&object, object.size() > 1 ? "," : "", JsonQuote(key), ":",
                    json ? value : JsonQuote(value));
  }
  return object + "}";
}

}  // namespace

absl::Status FillArguments(const ArgumentOptions& options, std::istream& in,
                           v1::CallToolRequest& request) {
  const int forms = static_cast<int>(!options.words.empty() || !options.pairs.empty()) +
                    static_cast<int>(options.data.has_value()) +
                    static_cast<int>(options.text.has_value());
  if (forms > 1) {
    return absl::InvalidArgumentError("give the arguments in one form: words, -d or --text");
  }
  std::string text;
  if (options.text.has_value()) {
    TR_ASSIGN_OR_RETURN(text, Load(*options.text, in));
  } else if (options.data.has_value()) {
    TR_ASSIGN_OR_RETURN(text, Load(*options.data, in));
  } else if (options.words.size() == 1 && options.pairs.empty() &&
             absl::StartsWith(absl::StripLeadingAsciiWhitespace(options.words[0]), "{")) {
    text = options.words[0];
  } else if (forms == 1) {
    std::vector<std::string> pairs = options.words;
    pairs.insert(pairs.end(), options.pairs.begin(), options.pairs.end());
    TR_ASSIGN_OR_RETURN(text, ObjectOf(pairs));
  } else {
    return absl::OkStatus();
  }
  if (const size_t wrong = FirstInvalidUtf8(text); wrong < text.size()) {
    return ArgumentsNotJson(request.name(), wrong, "it is not UTF-8");
  }
  if (options.text.has_value()) {
    request.set_input_text(text);
  } else {
    request.set_arguments_json(text);
  }
  return absl::OkStatus();
}

}  // namespace toolrack
