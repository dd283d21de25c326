// health, version: for supervisors and bug reports.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);

struct HealthOptions {
  bool live = false;
  bool ready = false;
  std::string service;
};

// Alive is a daemon that answers at all, ready is one that serves.
int Health(CommandLine& line, const HealthOptions& options) {
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const absl::Status status = client->CheckHealth(options.service, line.Options(kPatience));
  const bool answered = status.ok() || status.message() == "NOT_SERVING";
  if (!answered || (!status.ok() && !options.live)) return line.Fail(status);
  const std::string word = status.ok() ? "SERVING" : "NOT_SERVING";
  line.PrintLine(line.json() ? absl::StrCat("{\"status\":", JsonQuote(word), "}") : word);
  return kExitOk;
}

}  // namespace

void AddProbeCommands(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<HealthOptions>();
  CLI::App* health = app.add_subcommand("health", "Says whether the daemon can be used.");
  CLI::Option* live = health->add_flag("--live", options->live, "It answers, even when draining.");
  health
      ->add_flag("--ready", options->ready,
                 "It takes calls (this is what is asked without a flag).")
      ->excludes(live);
  health->add_option("--service", options->service, "One service, e.g. toolrack.v1.ToolService.");
  health->callback(
      [&line, options] { line.Choose([&line, options] { return Health(line, *options); }); });

  app.add_subcommand("version", "Prints the version of this command.")->callback([&line] {
    line.Choose([&line]() -> int {
      line.PrintLine(line.json() ? absl::StrCat("{\"version\":", JsonQuote(TOOLRACK_VERSION), "}")
                                 : absl::StrCat("toolrack ", TOOLRACK_VERSION));
      return kExitOk;
    });
  });
}

}  // namespace toolrack
