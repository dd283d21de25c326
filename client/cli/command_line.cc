#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/error_report.h"
#include "client/cli/exit_code.h"
#include "client/cli/text.h"
#include "google/protobuf/util/json_util.h"

namespace toolrack {
namespace {

// CLI::Validator: empty when the text is a duration like `10s`.
std::string CheckDuration(const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return "";
  return absl::StrCat("\"", text, "\" is no time; write 250ms, 10s or 1m30s");
}

// CLI11 takes a word in brackets for a list where several words may stand. A guard in front, taken
// off again by every option, keeps such a word whole.
constexpr char kGuard = '\x01';

void GuardBrackets(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (absl::StartsWith(argument, "[")) argument.insert(argument.begin(), kGuard);
  }
}

void TakeGuardsOff(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->transform([](std::string text) {
      if (!text.empty() && text.front() == kGuard) text.erase(text.begin());
      return text;
    });
  }
  for (CLI::App* subcommand : app.get_subcommands({})) TakeGuardsOff(*subcommand);
}

}  // namespace

void CommandLine::AddGlobalOptions(CLI::App& app) {
  app.add_option("--address", address_options_.address,
                 "Where the daemon is: unix:PATH or host:port. Else $TOOLRACK_ADDRESS.");
  app.add_option("--runtime-dir", address_options_.runtime_dir,
                 "Folder of the daemon's sockets. Else $TOOLRACK_RUNTIME_DIR, "
                 "$XDG_RUNTIME_DIR/toolrack, /run/toolrack.");
  app.add_option("--token", token_,
                 "The bearer token to come with. Else the one in --token-file, $TOOLRACK_TOKEN. "
                 "Others may see a command line: prefer those.");
  app.add_option("--token-file", token_file_, "A file with the token.")->check(CLI::ExistingFile);
  app.add_option("--timeout", timeout_, "The longest to wait, e.g. 10s.")->check(CheckDuration);
  app.add_flag("--json", json_, "Print JSON for programs instead of text for people.");
}

RequestOptions CommandLine::Options(absl::Duration fallback) const {
  RequestOptions options;
  options.timeout = fallback;
  if (!timeout_.empty()) absl::ParseDuration(timeout_, &options.timeout);
  options.stop = terminal_.stop;
  options.token = token_;
  if (options.token.empty() && !token_file_.empty()) {
    std::ifstream file(token_file_);
    std::getline(file, options.token);
    options.token = std::string(absl::StripAsciiWhitespace(options.token));
  }
  if (options.token.empty()) options.token = terminal_.environment("TOOLRACK_TOKEN").value_or("");
  return options;
}

std::unique_ptr<Client> CommandLine::Connect(Scope scope) {
  const absl::StatusOr<std::string> address =
      ResolveAddress(address_options_, scope, terminal_.environment);
  if (!address.ok()) {
    FailUsage(address.status().message());
    return nullptr;
  }
  address_ = *address;
  return Client::Make(address_);
}

int CommandLine::Fail(const absl::Status& status) {
  if (json_) {
    PrintLine(ErrorJson(status));
  } else {
    terminal_.err << ErrorText(status, address_);
  }
  return ExitCodeFor(status);
}

int CommandLine::FailUsage(absl::string_view message) {
  terminal_.err << "toolrack: " << Printable(message, Lines::kKeep) << '\n';
  return kExitUsage;
}

void CommandLine::PrintJson(const google::protobuf::Message& message, bool one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = !one_line;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) {
    terminal_.err << "toolrack: the answer does not go into JSON: " << status.ToString() << '\n';
    return;
  }
  while (absl::EndsWith(text, "\n")) text.pop_back();
  PrintLine(text);
}

void CommandLine::PrintText(absl::string_view text) {
  if (text.empty()) return;
  const std::string shown =
      terminal_.out_is_tty ? Printable(text, Lines::kKeep) : std::string(text);
  terminal_.out << shown;
  if (!absl::EndsWith(shown, "\n")) terminal_.out << '\n';
}

int RunToolrack(std::vector<std::string> arguments, Terminal& terminal) {
  CLI::App app("Talks to toolrackd, the registry of tools for language models.", "toolrack");
  CommandLine line(terminal);
  line.AddGlobalOptions(app);
  app.fallthrough();  // the global options may stand after the subcommand
  app.require_subcommand(1);
  app.footer(kExitCodeHelp);
  AddCatalogueCommands(app, line);
  AddCallCommands(app, line);
  AddWatchCommand(app, line);
  AddSessionCommands(app, line);
  AddAdminCommands(app, line);
  AddPromptCommands(app, line);
  AddDispatchCommand(app, line);
  AddAccessCommands(app, line);
  AddAuditCommand(app, line);
  AddProbeCommands(app, line);
  GuardBrackets(arguments);
  TakeGuardsOff(app);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, terminal.out, terminal.err) == 0 ? kExitOk : kExitUsage;
  }
  const int code = line.Run();
  terminal.out.flush();
  terminal.err.flush();
  return code;
}

}  // namespace toolrack
