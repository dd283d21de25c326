// The command `toolrack`: what all of its subcommands share.
#ifndef TOOLRACK_CLIENT_CLI_COMMAND_LINE_H_
#define TOOLRACK_CLIENT_CLI_COMMAND_LINE_H_

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/address.h"
#include "client/client.h"
#include "google/protobuf/message.h"

namespace CLI {
class App;
}

namespace toolrack {

// The world around the command, so that tests can give it another one.
struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool out_is_tty = false;
  bool err_is_tty = false;
  size_t columns = 0;  // of `out`; 0: unknown, or no terminal
  Environment environment;
  StopToken stop;  // Ctrl-C
};

// One run of the command. Not thread-safe.
class CommandLine {
 public:
  explicit CommandLine(Terminal& terminal) : terminal_(terminal) {}

  // Options that every subcommand takes.
  void AddGlobalOptions(CLI::App& app);
  // Called by the chosen subcommand: what to do, and its exit code.
  void Choose(std::function<int()> run) { run_ = std::move(run); }
  int Run() { return run_ ? run_() : 0; }

  Terminal& terminal() { return terminal_; }
  bool json() const { return json_; }
  // --timeout, or `fallback` when it was not given.
  RequestOptions Options(absl::Duration fallback) const;
  // A client for the socket of `scope`, which is not connected yet. On failure the error has been
  // shown and nullptr is returned: exit with kExitUsage.
  std::unique_ptr<Client> Connect(Scope scope);

  // Shows an error as a person or (--json, on standard output) a program wants it. Gives the code
  // to exit with.
  int Fail(const absl::Status& status);
  // A mistake in the command line itself: kExitUsage.
  int FailUsage(absl::string_view message);

  // A message as one JSON document in proto3's mapping: proto field names, every field that is not
  // in a oneof or optional, 64-bit numbers as strings. `one_line` for streams.
  void PrintJson(const google::protobuf::Message& message, bool one_line = false);
  // Untrusted text with its lines: harmless on a terminal, byte for byte elsewhere. Ends the line.
  void PrintText(absl::string_view text);
  void PrintLine(absl::string_view line) { terminal_.out << std::string(line) << '\n'; }

 private:
  Terminal& terminal_;
  AddressOptions address_options_;
  std::string timeout_;
  std::string token_;
  std::string token_file_;
  bool json_ = false;
  std::string address_;  // once resolved, for error texts
  std::function<int()> run_;
};

// Adds the subcommands of one file each.
void AddCatalogueCommands(CLI::App& app, CommandLine& line);  // list, describe, search
void AddCallCommands(CLI::App& app, CommandLine& line);       // call, explain, read-result
void AddWatchCommand(CLI::App& app, CommandLine& line);       // watch
void AddSessionCommands(CLI::App& app, CommandLine& line);    // sessions, session …
void AddAdminCommands(CLI::App& app, CommandLine& line);      // status, workers, calls, cancel …
void AddAuditCommand(CLI::App& app, CommandLine& line);       // audit
void AddPromptCommands(CLI::App& app, CommandLine& line);     // render, parse, renderers, resolve
void AddDispatchCommand(CLI::App& app, CommandLine& line);    // dispatch
// approvals, approve, deny, approve-tool, token: who may what.
void AddAccessCommands(CLI::App& app, CommandLine& line);
void AddProbeCommands(CLI::App& app, CommandLine& line);  // health, version

// The whole command; `arguments` without the program's name. Gives the exit code.
int RunToolrack(std::vector<std::string> arguments, Terminal& terminal);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_COMMAND_LINE_H_
