// The arguments of a call, from the command line.
#ifndef TOOLRACK_CLIENT_CLI_ARGUMENTS_H_
#define TOOLRACK_CLIENT_CLI_ARGUMENTS_H_

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

struct ArgumentOptions {
  std::vector<std::string> words = {};   // one JSON text, or pairs
  std::vector<std::string> pairs = {};   // --arg: `key=text` or `key:=json`
  std::optional<std::string> data = {};  // -d: JSON text, `@file`, `@-` or `-` (standard input)
  std::optional<std::string> text = {};  // --text: plain text, `@file`, `@-` or `-`
};

// Sets `request.input`; at most one of the four forms may be used, none leaves it unset. JSON text
// is not looked at, only whether it is UTF-8: the daemon judges it, and it arrives byte for byte.
// Pairs make an object with the keys in the order given. An error without a reason is a mistake in
// the command line; one with ARGUMENTS_NOT_JSON is a mistake in the text.
absl::Status FillArguments(const ArgumentOptions& options, std::istream& in,
                           v1::CallToolRequest& request);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_ARGUMENTS_H_
