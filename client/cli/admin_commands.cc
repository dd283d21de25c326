// status, workers, hooks, calls, cancel, enable, disable, drain: what the person on call does.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/command_line.h"
#include "client/cli/enum_text.h"
#include "client/cli/exit_code.h"
#include "client/cli/listing.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string Counts(const google::protobuf::Map<std::string, uint64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(absl::StrCat(count, " ", name));
  std::sort(parts.begin(), parts.end(), [](const std::string& a, const std::string& b) {
    return a.substr(a.find(' ')) < b.substr(b.find(' '));
  });
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

void PrintStatus(CommandLine& line, const v1::GetStatusResponse& status) {
  const auto field = [&line](absl::string_view name, absl::string_view value) {
    line.PrintLine(
        absl::StrFormat("%-10s %s", absl::StrCat(name, ":"), Printable(value, Lines::kJoin)));
  };
  field("state", status.state());
  field("version", status.version());
  field("up",
        absl::StrCat(DurationText(status.uptime()), " since ", TimeText(status.start_time())));
  field("epoch", status.epoch());
  field("revision",
        absl::StrCat(status.revision(), ", definitions ", status.definitions_revision()));
  field("tools", Counts(status.tools()));
  field("workers", absl::StrCat(status.workers()));
  field("sessions", absl::StrCat(status.sessions()));
  field("hooks", absl::StrCat(status.hooks()));
  if (!status.audit_file().empty()) {
    field("audit", absl::StrCat(status.audit_file(),
                                status.audit_lost() == 0
                                    ? ""
                                    : absl::StrCat(", ", status.audit_lost(), " records lost")));
  }
  field("calls",
        absl::StrCat(status.calls_in_flight(), " running; ended: ", Counts(status.calls())));
  field("watchers", absl::StrCat(status.watchers()));
  field("results",
        absl::StrCat(status.stored_results(), " kept, ", BytesText(status.stored_result_bytes())));
  field("process", absl::StrCat("pid ", status.pid(), ", ", BytesText(status.rss_bytes()), ", ",
                                status.threads(), " threads, ", status.open_fds(), " files"));
  for (const v1::ListenAddress& listener : status.listeners()) {
    field("listens", absl::StrCat(listener.address(), " (", listener.scope(), ")"));
  }
}

void PrintWorkers(CommandLine& line, const v1::ListWorkersResponse& response) {
  Table table({"NAME", "STATE", "TOOLS", "RUNNING", "QUEUED", "DONE", "IDLE", "NAMESPACES"});
  for (const v1::WorkerInfo& worker : response.workers()) {
    table.Add({worker.worker_name(), worker.state(), absl::StrCat(worker.tools()),
               absl::StrCat(worker.in_flight(), "/", worker.max_in_flight()),
               absl::StrCat(worker.queued()), absl::StrCat(worker.completed()),
               DurationText(worker.idle()), absl::StrJoin(worker.namespaces(), ",")});
  }
  table.Print(line.terminal().out, line.terminal().columns);
}

std::string PointsText(const v1::HookInfo& hook) {
  std::vector<std::string> points;
  for (const int point : hook.points()) points.push_back(HookPointText(point));
  return absl::StrJoin(points, ",");
}

void PrintHooks(CommandLine& line, const v1::ListHooksResponse& response) {
  Table table(
      {"NAME", "POINTS", "PRIORITY", "MODE", "EVENTS", "WAITING", "FAILED", "DROPPED", "VERDICTS"});
  for (const v1::HookInfo& hook : response.hooks()) {
    const bool closed = hook.failure_mode() == v1::HOOK_FAILURE_MODE_FAIL_CLOSED;
    table.Add({hook.hook_name(), PointsText(hook), absl::StrCat(hook.priority()),
               hook.observe_only() ? "observes" : (closed ? "fail_closed" : "fail_open"),
               absl::StrCat(hook.events()), absl::StrCat(hook.in_flight()),
               absl::StrCat(hook.failed()), absl::StrCat(hook.dropped()), Counts(hook.verdicts())});
  }
  table.Print(line.terminal().out, line.terminal().columns);
}

void PrintCalls(CommandLine& line, const v1::ListCallsResponse& response, bool refused) {
  if (!refused) {
    Table table({"CALL", "TOOL", "STATE", "AGE", "BACKEND", "PRINCIPAL"});
    for (const v1::CallInfo& call : response.calls()) {
      table.Add({call.call_id(), call.tool(), call.state(), DurationText(call.age()),
                 call.backend(), call.principal()});
    }
    table.Print(line.terminal().out, line.terminal().columns);
    return;
  }
  Table table({"TIME", "TOOL", "REASON", "PRINCIPAL", "MESSAGE"});
  for (const v1::Refusal& refusal : response.refusals()) {
    table.Add({TimeText(refusal.time()), refusal.tool(), refusal.reason(), refusal.principal(),
               refusal.message()});
  }
  table.Print(line.terminal().out, line.terminal().columns);
}

int Switch(CommandLine& line, const std::string& name, const std::string& category, bool enabled) {
  if (name.empty() == category.empty()) {
    return line.FailUsage("name a tool or a --category, not both");
  }
  v1::SetToolEnabledRequest request;
  if (category.empty()) {
    request.set_name(name);
  } else {
    request.set_category(category);
  }
  request.set_enabled(enabled);
  const auto client = line.Connect(Scope::kControl);
  if (client == nullptr) return kExitUsage;
  return Show<v1::SetToolEnabledResponse>(
      line, client->SetToolEnabled(request, line.Options(kPatience)),
      [&line](const v1::SetToolEnabledResponse& response) {
        for (const v1::Tool& tool : response.tools()) {
          line.PrintLine(Printable(absl::StrCat(tool.name(), " is ", ToolStateText(tool.state())),
                                   Lines::kJoin));
        }
        if (response.tools().empty()) line.PrintLine("nothing changed");
      });
}

void AddSwitch(CLI::App& app, CommandLine& line, const std::string& verb, const char* help,
               bool enabled) {
  auto name = std::make_shared<std::string>();
  auto category = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(verb, help);
  command->add_option("NAME", *name, "The tool.");
  command->add_option("--category", *category, "Every tool of a category, later ones too.");
  command->callback([&line, name, category, enabled] {
    line.Choose(
        [&line, name, category, enabled] { return Switch(line, *name, *category, enabled); });
  });
}

void AddListings(CLI::App& app, CommandLine& line) {
  app.add_subcommand("status", "The daemon at a glance.")->callback([&line] {
    line.Choose([&line]() -> int {
      const auto client = line.Connect(Scope::kControl);
      if (client == nullptr) return kExitUsage;
      return Show<v1::GetStatusResponse>(
          line, client->GetStatus(line.Options(kPatience)),
          [&line](const v1::GetStatusResponse& status) { PrintStatus(line, status); });
    });
  });
  app.add_subcommand("workers", "The workers that are attached, or lost a moment ago.")
      ->callback([&line] {
        line.Choose([&line]() -> int {
          const auto client = line.Connect(Scope::kControl);
          if (client == nullptr) return kExitUsage;
          const auto workers = AllPages(
              *client, &Client::ListWorkers,
              [](v1::ListWorkersResponse& r) { return r.mutable_workers(); },
              line.Options(kPatience));
          return Show<v1::ListWorkersResponse>(
              line, workers, [&line](const v1::ListWorkersResponse& r) { PrintWorkers(line, r); });
        });
      });
  app.add_subcommand("hooks", "The hooks, in the order in which they are asked.")
      ->callback([&line] {
        line.Choose([&line]() -> int {
          const auto client = line.Connect(Scope::kControl);
          if (client == nullptr) return kExitUsage;
          const auto hooks = AllPages(
              *client, &Client::ListHooks,
              [](v1::ListHooksResponse& r) { return r.mutable_hooks(); }, line.Options(kPatience));
          return Show<v1::ListHooksResponse>(
              line, hooks, [&line](const v1::ListHooksResponse& r) { PrintHooks(line, r); });
        });
      });
  auto refused = std::make_shared<bool>(false);
  CLI::App* calls = app.add_subcommand("calls", "The calls that are running.");
  calls->add_flag("--refused", *refused, "Instead the last calls that were refused, and why.");
  calls->callback([&line, refused] {
    line.Choose([&line, refused]() -> int {
      const auto client = line.Connect(Scope::kControl);
      if (client == nullptr) return kExitUsage;
      const auto all = AllPages(
          *client, &Client::ListCalls, [](v1::ListCallsResponse& r) { return r.mutable_calls(); },
          line.Options(kPatience));
      return Show<v1::ListCallsResponse>(
          line, all, [&](const v1::ListCallsResponse& r) { PrintCalls(line, r, *refused); });
    });
  });
}

}  // namespace

void AddAdminCommands(CLI::App& app, CommandLine& line) {
  AddListings(app, line);

  auto cancel_request = std::make_shared<v1::CancelCallRequest>();
  CLI::App* cancel = app.add_subcommand("cancel", "Ends a running call.");
  cancel->add_option("CALL", *cancel_request->mutable_call_id(), "Its id.")->required();
  cancel->callback([&line, cancel_request] {
    line.Choose([&line, cancel_request]() -> int {
      const auto client = line.Connect(Scope::kControl);
      if (client == nullptr) return kExitUsage;
      return Show<v1::CancelCallResponse>(
          line, client->CancelCall(*cancel_request, line.Options(kPatience)),
          [&line](const v1::CancelCallResponse& response) {
            line.PrintLine(absl::StrCat("told ", response.cancelled(),
                                        response.cancelled() == 1 ? " call" : " calls", " to end"));
          });
    });
  });

  AddSwitch(app, line, "enable", "Switches a tool, or a category of tools, on.", true);
  AddSwitch(app, line, "disable", "Switches a tool, or a category of tools, off.", false);

  auto reload_request = std::make_shared<v1::ReloadConfigRequest>();
  CLI::App* reload = app.add_subcommand("reload", "Reads the daemon's configuration file again.");
  reload->add_flag_callback(
      "--check", [reload_request] { reload_request->set_check_only(true); },
      "Only say what it would change.");
  reload->callback([&line, reload_request] {
    line.Choose([&line, reload_request]() -> int {
      const auto client = line.Connect(Scope::kControl);
      if (client == nullptr) return kExitUsage;
      return Show<v1::ReloadConfigResponse>(
          line, client->ReloadConfig(*reload_request, line.Options(kPatience)),
          [&line](const v1::ReloadConfigResponse& response) {
            for (const std::string& path : response.applied()) {
              line.PrintLine(absl::StrCat("holds now      ", path));
            }
            for (const std::string& path : response.needs_restart()) {
              line.PrintLine(absl::StrCat("needs restart  ", path));
            }
            if (response.applied().empty() && response.needs_restart().empty()) {
              line.PrintLine("nothing changed");
            }
          });
    });
  });

  auto worker = std::make_shared<std::string>();
  auto grace = std::make_shared<std::string>();
  CLI::App* drain =
      app.add_subcommand("drain", "Takes no new calls, lets those running finish, then lets go.");
  drain->add_option("WORKER", *worker, "Only this worker; else the daemon, which then exits.");
  drain->add_option("--grace", *grace, "How long running calls get, e.g. 20s.");
  drain->callback([&line, worker, grace] {
    line.Choose([&line, worker, grace]() -> int {
      v1::DrainRequest request;
      request.set_worker_name(*worker);
      absl::Duration wait;
      if (!grace->empty()) {
        if (!absl::ParseDuration(*grace, &wait) || wait < absl::ZeroDuration()) {
          return line.FailUsage("--grace is no time; write 250ms, 10s or 1m30s");
        }
        request.mutable_grace()->set_seconds(absl::ToInt64Seconds(wait));
        request.mutable_grace()->set_nanos(static_cast<int>(
            absl::ToInt64Nanoseconds(wait - absl::Seconds(absl::ToInt64Seconds(wait)))));
      }
      const auto client = line.Connect(Scope::kControl);
      if (client == nullptr) return kExitUsage;
      return Show<v1::DrainResponse>(
          line, client->Drain(request, line.Options(kPatience)),
          [&line](const v1::DrainResponse& response) {
            line.PrintLine(absl::StrCat("draining, ", response.calls_in_flight(), " running"));
          });
    });
  });
}

}  // namespace toolrack
