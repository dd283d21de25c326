// sessions, session: what belongs to one conversation.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "client/cli/listing.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string ExpiryText(const v1::Session& session) {
  return session.has_expire_time() ? TimeText(session.expire_time()) : "while calls run, never";
}

void PrintSessions(CommandLine& line, const v1::ListSessionsResponse& response) {
  Table table({"SESSION", "OPENED", "EXPIRES", "CALLS", "RUNNING", "PRINCIPAL"});
  for (const v1::Session& session : response.sessions()) {
    table.Add({session.session_id(), TimeText(session.open_time()), ExpiryText(session),
               absl::StrCat(session.counters().calls()),
               absl::StrCat(session.counters().in_flight()), session.principal()});
  }
  table.Print(line.terminal().out, line.terminal().columns);
}

void PrintSession(CommandLine& line, const v1::Session& session) {
  const auto field = [&line](absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    line.PrintLine(Printable(absl::StrCat(name, ": ", value), Lines::kJoin));
  };
  field("session", session.session_id());
  field("principal", session.principal());
  field("renderer", session.renderer());
  field("model", session.model());
  field("opened", TimeText(session.open_time()));
  field("expires", ExpiryText(session));
  field("pinned to revision", absl::StrCat(session.pinned_revision()));
  const v1::SessionCounters& counters = session.counters();
  field("calls",
        absl::StrCat(counters.calls(), " ended, ", counters.tool_errors(), " tool errors, ",
                     counters.failed(), " failed, ", counters.in_flight(), " running"));
  field("instances", absl::StrJoin(session.instances(), ", "));
  for (const v1::LoadedTool& tool : session.loaded_tools()) field("loaded", tool.name());
  for (const v1::NotLoadedTool& tool : session.not_loaded()) {
    field("not loaded", absl::StrCat(tool.name(), ": ", tool.message()));
  }
  const std::map<std::string, std::string> metadata(session.metadata().begin(),
                                                    session.metadata().end());
  for (const auto& [key, value] : metadata) field(absl::StrCat("metadata ", key), value);
}

// Asks by `ask`, shows by `print`.
template <typename Response, typename Ask>
void Command(CLI::App* command, CommandLine& line, Ask ask,
             std::function<void(const Response&)> print) {
  command->callback([&line, ask, print] {
    line.Choose([&line, ask, print]() -> int {
      const auto client = line.Connect(Scope::kAgent);
      if (client == nullptr) return kExitUsage;
      return Show<Response>(line, ask(*client), print);
    });
  });
}

void AddOpen(CLI::App& group, CommandLine& line) {
  struct Options {
    v1::OpenSessionRequest request;
    std::vector<std::string> load, metadata;
    std::string ttl;
  };
  auto options = std::make_shared<Options>();
  CLI::App* open = group.add_subcommand("open", "Opens one and prints its id.");
  CLI::Option* renderer = open->add_option_function<std::string>(
      "--renderer", [options](const std::string& name) { options->request.set_renderer(name); },
      "The renderer of its prompts and outputs.");
  open->add_option_function<std::string>(
          "--model", [options](const std::string& name) { options->request.set_model(name); },
          "Instead: the renderer for this model.")
      ->excludes(renderer);
  open->add_option("--load", options->load, "A tool to load; may be repeated.")
      ->allow_extra_args(false);
  open->add_option("--ttl", options->ttl, "How long it may be idle, e.g. 10m.");
  open->add_option("--metadata", options->metadata, "key=text to write down; may be repeated.")
      ->allow_extra_args(false);
  open->callback([&line, options] {
    line.Choose([&line, options]() -> int {
      v1::OpenSessionRequest& request = options->request;
      for (const std::string& name : options->load) request.add_loaded_tools(name);
      for (const std::string& pair : options->metadata) {
        const size_t at = pair.find('=');
        if (at == std::string::npos) return line.FailUsage("--metadata takes key=text");
        (*request.mutable_metadata())[pair.substr(0, at)] = pair.substr(at + 1);
      }
      if (!options->ttl.empty()) {
        absl::Duration ttl;
        if (!absl::ParseDuration(options->ttl, &ttl) || ttl <= absl::ZeroDuration()) {
          return line.FailUsage("--ttl is no time; write 250ms, 10s or 1m30s");
        }
        const int64_t seconds = absl::IDivDuration(ttl, absl::Seconds(1), &ttl);
        request.mutable_ttl()->set_seconds(seconds);
        request.mutable_ttl()->set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(ttl)));
      }
      const auto client = line.Connect(Scope::kAgent);
      if (client == nullptr) return kExitUsage;
      return Show<v1::Session>(line, client->OpenSession(request, line.Options(kPatience)),
                               [&line](const v1::Session& session) {
                                 line.PrintLine(session.session_id());
                                 for (const v1::NotLoadedTool& tool : session.not_loaded()) {
                                   line.terminal().err
                                       << Printable(absl::StrCat("not loaded: ", tool.message()),
                                                    Lines::kJoin)
                                       << '\n';
                                 }
                               });
    });
  });
}

}  // namespace

void AddSessionCommands(CLI::App& app, CommandLine& line) {
  auto all = std::make_shared<bool>(false);
  CLI::App* sessions = app.add_subcommand("sessions", "Your sessions, the oldest first.");
  sessions->add_flag("--all", *all, "Everybody's, by control.sock.");
  sessions->callback([&line, all] {
    line.Choose([&line, all]() -> int {
      const auto client = line.Connect(*all ? Scope::kControl : Scope::kAgent);
      if (client == nullptr) return kExitUsage;
      const auto found = AllPages(
          *client, &Client::ListSessions,
          [](v1::ListSessionsResponse& r) { return r.mutable_sessions(); },
          line.Options(kPatience));
      return Show<v1::ListSessionsResponse>(
          line, found, [&line](const v1::ListSessionsResponse& r) { PrintSessions(line, r); });
    });
  });

  CLI::App* group = app.add_subcommand("session", "Opens, shows and closes a session.");
  group->require_subcommand(1);
  AddOpen(*group, line);

  auto show_request = std::make_shared<v1::GetSessionRequest>();
  CLI::App* show = group->add_subcommand("show", "Shows one, whole.");
  show->add_option("SESSION", *show_request->mutable_session_id(), "Its id.")->required();
  Command<v1::Session>(
      show, line,
      [&line, show_request](Client& client) {
        return client.GetSession(*show_request, line.Options(kPatience));
      },
      [&line](const v1::Session& session) { PrintSession(line, session); });

  auto close_request = std::make_shared<v1::CloseSessionRequest>();
  CLI::App* close = group->add_subcommand("close", "Ends one, with its instances and results.");
  close->add_option("SESSION", *close_request->mutable_session_id(), "Its id.")->required();
  Command<v1::CloseSessionResponse>(
      close, line,
      [&line, close_request](Client& client) {
        return client.CloseSession(*close_request, line.Options(kPatience));
      },
      [&line](const v1::CloseSessionResponse& response) {
        line.PrintLine(absl::StrCat("closed after ", response.counters().calls(), " calls"));
      });

  auto load_request = std::make_shared<v1::LoadToolsRequest>();
  auto load_names = std::make_shared<std::vector<std::string>>();
  CLI::App* load = group->add_subcommand("load", "Adds tools to the loaded set.");
  load->add_option("SESSION", *load_request->mutable_session_id(), "Its id.")->required();
  load->add_option("TOOLS", *load_names, "Canonical names.")->required();
  Command<v1::LoadToolsResponse>(
      load, line,
      [&line, load_request, load_names](Client& client) {
        for (const std::string& name : *load_names) load_request->add_names(name);
        return client.LoadTools(*load_request, line.Options(kPatience));
      },
      [&line](const v1::LoadToolsResponse& response) {
        for (const v1::LoadedTool& tool : response.loaded()) {
          line.PrintLine(Printable(absl::StrCat("loaded ", tool.name()), Lines::kJoin));
        }
        for (const std::string& name : response.already_loaded()) {
          line.PrintLine(Printable(absl::StrCat("already loaded ", name), Lines::kJoin));
        }
        for (const v1::NotLoadedTool& tool : response.not_loaded()) {
          line.PrintLine(Printable(absl::StrCat("not loaded: ", tool.message()), Lines::kJoin));
        }
      });

  auto unload_request = std::make_shared<v1::UnloadToolsRequest>();
  auto unload_names = std::make_shared<std::vector<std::string>>();
  CLI::App* unload = group->add_subcommand("unload", "Takes tools out of the loaded set.");
  unload->add_option("SESSION", *unload_request->mutable_session_id(), "Its id.")->required();
  unload->add_option("TOOLS", *unload_names, "Canonical names.")->required();
  Command<v1::UnloadToolsResponse>(
      unload, line,
      [&line, unload_request, unload_names](Client& client) {
        for (const std::string& name : *unload_names) unload_request->add_names(name);
        return client.UnloadTools(*unload_request, line.Options(kPatience));
      },
      [&line](const v1::UnloadToolsResponse& response) {
        for (const std::string& name : response.unloaded()) {
          line.PrintLine(Printable(absl::StrCat("unloaded ", name), Lines::kJoin));
        }
        if (response.unloaded().empty()) line.PrintLine("nothing was loaded of that");
      });
}

}  // namespace toolrack
