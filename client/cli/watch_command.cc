// watch: the registry as it changes.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/command_line.h"
#include "client/cli/enum_text.h"
#include "client/cli/exit_code.h"
#include "client/cli/text.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

struct WatchOptions {
  v1::WatchToolsRequest request;
  std::vector<std::string> categories;
  std::vector<std::string> namespaces;
  uint64_t count = UINT64_MAX;
  bool snapshot = false;
};

std::string EventText(const v1::WatchToolsResponse& event) {
  const auto tool = [](const v1::Tool& t) {
    return absl::StrCat(t.name(), "  ", ToolStateText(t.state()), "  ", t.description());
  };
  std::string kind;
  std::string text;
  switch (event.event_case()) {
    case v1::WatchToolsResponse::kAdded:
      kind = "added";
      text = tool(event.added());
      break;
    case v1::WatchToolsResponse::kUpdated:
      kind = "updated";
      text = tool(event.updated());
      break;
    case v1::WatchToolsResponse::kRemoved:
      kind = "removed";
      text = event.removed().name();
      break;
    case v1::WatchToolsResponse::kState:
      kind = "state";
      text = absl::StrCat(event.state().name(), "  ", ToolStateText(event.state().state()));
      break;
    case v1::WatchToolsResponse::kReset:
      kind = "reset";
      text = event.reset().reason();
      break;
    case v1::WatchToolsResponse::kSynced:
      kind = "synced";
      break;
    case v1::WatchToolsResponse::EVENT_NOT_SET:
      kind = "unknown";
      break;
  }
  if (text.empty()) return absl::StrFormat("%-6d %s", event.revision(), kind);
  return absl::StrFormat("%-6d %-8s %s", event.revision(), kind, Printable(text, Lines::kJoin));
}

int Watch(CommandLine& line, WatchOptions& options) {
  v1::WatchToolsRequest& request = options.request;
  *request.mutable_categories() = {options.categories.begin(), options.categories.end()};
  *request.mutable_namespaces() = {options.namespaces.begin(), options.namespaces.end()};
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const auto show = [&](const v1::WatchToolsResponse& event) {
    if (line.json()) {
      line.PrintJson(event, /*one_line=*/true);
    } else {
      const std::string text = EventText(event);
      const size_t columns = line.terminal().columns;
      line.PrintLine(columns > 0 ? CutToWidth(text, columns) : text);
    }
    line.terminal().out.flush();
    // The parts of a snapshot have no revision of their own: only a whole one can be resumed.
    if (event.revision() > 0) {
      request.set_epoch(event.epoch());
      request.set_from_revision(event.revision());
    }
    if (--options.count == 0 || (options.snapshot && event.has_synced())) return false;
    return static_cast<bool>(line.terminal().out);
  };
  while (true) {
    const absl::Status ended =
        client->WatchTools(request, show, line.Options(absl::InfiniteDuration()));
    // Dropped for reading too slowly, or for seeing by old rules: go on from what was seen last.
    if (ReasonOf(ended) == v1::ERROR_REASON_SLOW_READER) continue;
    if (ReasonOf(ended) == v1::ERROR_REASON_VIEW_CHANGED) continue;
    return ended.ok() ? kExitOk : line.Fail(ended);
  }
}

}  // namespace

void AddWatchCommand(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* watch =
      app.add_subcommand("watch", "Prints the tools, then every change, as it comes.");
  watch->add_option("--category", options->categories, "Only this category; may be repeated.");
  watch->add_option("--namespace", options->namespaces, "Only this namespace; may be repeated.");
  CLI::Option* epoch = watch->add_option_function<std::string>(
      "--epoch", [options](const std::string& text) { options->request.set_epoch(text); },
      "Go on where an earlier watch stopped: its last epoch …");
  watch
      ->add_option_function<uint64_t>(
          "--from", [options](const uint64_t& n) { options->request.set_from_revision(n); },
          "… and its last revision.")
      ->needs(epoch);
  watch->add_option("--count", options->count, "End after so many events.")
      ->check(CLI::PositiveNumber);
  watch->add_flag("--snapshot", options->snapshot, "End when everything there is was printed.");
  watch->callback(
      [&line, options] { line.Choose([&line, options] { return Watch(line, *options); }); });
}

}  // namespace toolrack
