// dispatch: makes the calls of what a model wrote, and shows what it is told.
#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

struct DispatchSettings {
  v1::DispatchRequest request;
  v1::OpenSessionRequest session;  // to open for this one output, when no session is named
  std::string file = "-";
  bool provider = false;
};

// What the tool said of itself in short, else how its result begins.
std::string FirstWords(const v1::ToolResult& result) {
  if (!result.summary().empty()) return result.summary();
  for (const v1::Content& part : result.content()) {
    if (part.has_text()) return part.text().text().substr(0, part.text().text().find('\n'));
  }
  return result.structured_json();
}

std::string NameOf(const v1::DispatchOutcome& outcome) {
  if (!outcome.tool().empty()) return outcome.tool();
  return outcome.call().wire_name().empty() ? "(no call)" : outcome.call().wire_name();
}

void Print(CommandLine& line, const v1::DispatchResponse& response) {
  for (const v1::DispatchOutcome& outcome : response.outcomes()) {
    line.PrintText(absl::StrCat("call      ", outcome.call().call_id(), " ", NameOf(outcome), " ",
                                outcome.call().arguments_json()));
    for (const v1::Repair& repair : outcome.repairs()) {
      line.PrintText(absl::StrCat("repair    ", repair.pointer(), " ", repair.kind()));
    }
    if (outcome.has_status()) {
      line.PrintText(
          absl::StrCat("not run   ", outcome.status().reason(), ": ", outcome.status().message()));
    } else {
      line.PrintText(absl::StrCat(outcome.result().is_error() ? "failed    " : "result    ",
                                  FirstWords(outcome.result())));
    }
  }
  for (const std::string& name : response.loaded_tools()) line.PrintText("loaded    " + name);
  for (const v1::OutMessage& message : response.messages()) {
    line.PrintText(absl::StrCat("append    ", message.role()));
    line.PrintText(message.has_json() ? message.json() : message.text());
  }
  if (!response.text().empty()) line.PrintText("text      " + response.text());
  const v1::DispatchRetry& retry = response.retry();
  if (retry.attempt() > 0) {
    line.PrintText(absl::StrCat(
        "faulty    ", retry.attempt(), " so far, ",
        retry.exhausted() ? "exhausted: " + retry.spent() : absl::StrCat(retry.left(), " left")));
  }
}

// 0: everything ran well, or there was nothing to run; 1: a tool failed; else what the first call
// that could not be run would have ended `toolrack call` with.
int CodeOf(const v1::DispatchResponse& response) {
  int code = kExitOk;
  for (const v1::DispatchOutcome& outcome : response.outcomes()) {
    if (outcome.has_status()) {
      return ExitCodeFor(absl::Status(static_cast<absl::StatusCode>(outcome.status().code()), ""));
    }
    if (outcome.result().is_error()) code = kExitToolFailed;
  }
  return code;
}

int Dispatch(CommandLine& line, DispatchSettings& settings) {
  const bool own = settings.request.session_id().empty();
  if (own == (settings.session.target_case() == v1::OpenSessionRequest::TARGET_NOT_SET)) {
    return line.FailUsage("one of --session, --renderer and --model");
  }
  std::stringstream text;
  if (settings.file == "-") {
    text << line.terminal().in.rdbuf();
  } else {
    std::ifstream in(settings.file, std::ios::binary);
    if (!in) return line.FailUsage(absl::StrCat("cannot read ", settings.file));
    text << in.rdbuf();
  }
  if (settings.provider) {
    settings.request.set_provider_json(text.str());
  } else {
    settings.request.set_text(text.str());
  }
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  if (own) {
    const auto session = client->OpenSession(settings.session, line.Options(kPatience));
    if (!session.ok()) return line.Fail(session.status());
    settings.request.set_session_id(session->session_id());
  }
  const auto response = client->Dispatch(settings.request, line.Options(absl::InfiniteDuration()));
  if (own) {
    v1::CloseSessionRequest close;
    close.set_session_id(settings.request.session_id());
    const auto closed = client->CloseSession(close, line.Options(kPatience));
    if (response.ok() && !closed.ok()) return line.Fail(closed.status());
  }
  if (!response.ok()) return line.Fail(response.status());
  if (line.json()) {
    line.PrintJson(*response);
  } else {
    Print(line, *response);
  }
  return CodeOf(*response);
}

}  // namespace

void AddDispatchCommand(CLI::App& app, CommandLine& line) {
  auto settings = std::make_shared<DispatchSettings>();
  CLI::App* dispatch = app.add_subcommand(
      "dispatch", "Makes the calls of what a model wrote and shows what to append.");
  dispatch->add_option("FILE", settings->file, "The output; - is standard input.");
  dispatch->add_option_function<std::string>(
      "--session", [settings](const std::string& id) { settings->request.set_session_id(id); },
      "The session of the conversation.");
  dispatch->add_option_function<std::string>(
      "--renderer", [settings](const std::string& name) { settings->session.set_renderer(name); },
      "Instead: a session for this one output, with this renderer.");
  dispatch->add_option_function<std::string>(
      "--model", [settings](const std::string& name) { settings->session.set_model(name); },
      "The same with the renderer for this model.");
  dispatch->add_option_function<std::string>(
      "--turn", [settings](const std::string& id) { settings->request.set_turn_id(id); },
      "The turn whose retries are counted.");
  dispatch->add_flag("--provider", settings->provider, "It is a provider's JSON.");
  dispatch->callback(
      [&line, settings] { line.Choose([&line, settings] { return Dispatch(line, *settings); }); });
}

}  // namespace toolrack
