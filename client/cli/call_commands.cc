// call, explain, read-result: running a tool.
#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments.h"
#include "client/cli/command_line.h"
#include "client/cli/enum_text.h"
#include "client/cli/exit_code.h"
#include "client/cli/progress.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
// The daemon's own TIMEOUT says more than a deadline that gRPC runs into: it gets the first word.
constexpr absl::Duration kTimeoutLead = absl::Seconds(2);

struct CallOptions {
  v1::CallToolRequest request;
  ArgumentOptions arguments;
  bool stream = false;
  bool coerce = false;
  bool no_coerce = false;
};

// What stands for a part that is no text.
std::string Mark(absl::string_view kind, absl::string_view what, size_t bytes) {
  return absl::StrCat("[", kind, " ", what, ", ", BytesText(bytes), "]");
}

void PrintContent(CommandLine& line, const v1::Content& content) {
  switch (content.content_case()) {
    case v1::Content::kText:
      return line.PrintText(content.text().text());
    case v1::Content::kJson:
      return line.PrintText(content.json().json());
    case v1::Content::kImage:
      return line.PrintText(
          Mark("image", content.image().mime_type(), content.image().data().size()));
    case v1::Content::kAudio:
      return line.PrintText(
          Mark("audio", content.audio().mime_type(), content.audio().data().size()));
    case v1::Content::kResourceLink:
      return line.PrintText(absl::StrCat("[link ", content.resource_link().name(), " ",
                                         content.resource_link().uri(), "]"));
    case v1::Content::kResource:
      if (content.resource().has_text()) return line.PrintText(content.resource().text());
      return line.PrintText(
          Mark("resource", content.resource().uri(), content.resource().blob().size()));
    case v1::Content::CONTENT_NOT_SET:
      return;
  }
}

int PrintResponse(CommandLine& line, const v1::CallToolResponse& response) {
  const v1::ToolResult& result = response.result();
  for (const v1::Content& content : result.content()) PrintContent(line, content);
  if (result.content().empty()) line.PrintText(result.structured_json());
  std::ostream& err = line.terminal().err;
  for (const v1::Repair& repair : response.repairs()) {
    err << Printable(absl::StrCat("mended ", repair.pointer(), ": ", repair.kind(), ", ",
                                  repair.before(), " -> ", repair.after()),
                     Lines::kJoin)
        << '\n';
  }
  if (result.truncated()) {
    err << "cut: the whole has " << BytesText(result.total_bytes());
    if (!result.result_handle().empty()) {
      err << "; `toolrack read-result " << Printable(result.result_handle(), Lines::kJoin)
          << "` gives it";
    }
    err << '\n';
  }
  if (!result.is_error()) return kExitOk;
  err << "the tool failed (" << Printable(result.error().reason(), Lines::kJoin) << ")\n";
  return kExitToolFailed;
}

// Arguments and flags into the request; kExitOk when all is well.
int FinishRequest(CommandLine& line, CallOptions& options) {
  const absl::Status filled = FillArguments(options.arguments, line.terminal().in, options.request);
  if (!filled.ok()) {
    return ReasonOf(filled) == v1::ERROR_REASON_UNSPECIFIED ? line.FailUsage(filled.message())
                                                            : line.Fail(filled);
  }
  if (options.coerce || options.no_coerce) options.request.set_coerce(options.coerce);
  return kExitOk;
}

int Call(CommandLine& line, CallOptions& options) {
  if (const int code = FinishRequest(line, options); code != kExitOk) return code;
  RequestOptions request_options = line.Options(absl::InfiniteDuration());
  if (request_options.timeout != absl::InfiniteDuration()) {
    const int64_t nanos = absl::ToInt64Nanoseconds(request_options.timeout);
    options.request.mutable_timeout()->set_seconds(nanos / 1000000000);
    options.request.mutable_timeout()->set_nanos(static_cast<int>(nanos % 1000000000));
    request_options.timeout += kTimeoutLead;
  }
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  absl::StatusOr<v1::CallToolResponse> response;
  if (options.stream) {
    ProgressBar bar(line.terminal().err, line.terminal().err_is_tty, line.terminal().columns);
    response = client->CallToolStream(
        options.request,
        [&line, &bar](const v1::CallToolStreamResponse& event) {
          if (line.json()) return line.PrintJson(event, /*one_line=*/true);
          if (event.has_progress()) bar.Show(event.progress());
          if (event.has_log()) bar.Say(event.log());
        },
        request_options);
  } else {
    response = client->CallTool(options.request, request_options);
  }
  if (!response.ok()) return line.Fail(response.status());
  if (line.json()) {
    if (!options.stream) line.PrintJson(*response);
    return response->result().is_error() ? kExitToolFailed : kExitOk;
  }
  return PrintResponse(line, *response);
}

int Explain(CommandLine& line, CallOptions& options) {
  if (const int code = FinishRequest(line, options); code != kExitOk) return code;
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const auto explained = client->ExplainCall(options.request, line.Options(kPatience));
  if (!explained.ok()) return line.Fail(explained.status());
  const v1::CallVerdict& verdict = explained->verdict();
  if (line.json()) {
    line.PrintJson(*explained);
  } else {
    Table table({"STEP", "OUTCOME", "DETAIL"});
    for (const v1::ExplainStep& step : explained->steps()) {
      table.Add({step.name(), ExplainText(step.outcome()), step.detail()});
    }
    table.Print(line.terminal().out, line.terminal().columns);
    if (verdict.would_run()) {
      line.PrintLine("it would run");
    } else {
      // The message lists the faults in the lines after its first.
      const absl::string_view message = verdict.message();
      line.PrintLine(Printable(
          absl::StrCat("it would be refused: ", GrpcCodeText(verdict.code()), ", ",
                       verdict.reason(), ": ",
                       verdict.faults().empty() ? message : message.substr(0, message.find('\n'))),
          Lines::kKeep));
      for (const v1::ArgumentFault& fault : verdict.faults()) {
        line.PrintLine(Printable(absl::StrCat("  ", fault.pointer().empty() ? "(root)" : "",
                                              fault.pointer(), ": ", fault.message()),
                                 Lines::kKeep));
      }
    }
  }
  // A script asks to know: the code that the call itself would give.
  return ExitCodeFor(absl::Status(static_cast<absl::StatusCode>(verdict.code()), ""));
}

struct ReadOptions {
  std::string handle;
  uint64_t offset = 0;
  uint64_t length = UINT64_MAX;
  std::string file;
};

int Read(CommandLine& line, const ReadOptions& options) {
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  v1::ReadResultRequest request;
  request.set_handle(options.handle);
  request.set_offset(options.offset);
  std::string whole;
  v1::ReadResultResponse part;
  do {
    request.set_length(std::min<uint64_t>(options.length - whole.size(), 1 << 20));
    auto read = client->ReadResult(request, line.Options(kPatience));
    if (!read.ok()) return line.Fail(read.status());
    part = *std::move(read);
    whole += part.data();
    request.set_offset(options.offset + whole.size());
  } while (!part.eof() && !part.data().empty() && whole.size() < options.length);
  if (!options.file.empty()) {
    std::ofstream file(options.file, std::ios::binary);
    if (!file.write(whole.data(), static_cast<std::streamsize>(whole.size())).flush()) {
      return line.FailUsage(absl::StrCat("cannot write ", options.file));
    }
  } else if (line.json()) {
    part.set_data(whole);
    line.PrintJson(part);
  } else if (line.terminal().out_is_tty) {
    line.PrintText(whole);
  } else {
    line.terminal().out << whole;
  }
  return kExitOk;
}

void AddCallOptions(CLI::App& command, CallOptions& options) {
  v1::CallToolRequest& request = options.request;
  command
      .add_option_function<std::string>(
          "NAME", [&request](const std::string& name) { request.set_name(name); },
          "The tool's canonical name.")
      ->required();
  command.add_option("ARGUMENTS", options.arguments.words,
                     "A JSON object, or pairs: key=text, key:=json.");
  command.add_option("--arg", options.arguments.pairs, "key=text or key:=json; may be repeated.")
      ->allow_extra_args(false);
  command.add_option("-d,--data", options.arguments.data,
                     "The arguments as JSON text, @FILE, or - for standard input.");
  command.add_option("--text", options.arguments.text,
                     "Plain text for a tool that takes it; @FILE or - as for -d.");
  const auto text = [&command](const char* name, const char* help, std::string* field) {
    command.add_option(name, *field, help);
  };
  text("--session", "The session that the call belongs to.", request.mutable_session_id());
  text("--call-id", "An id of your own.", request.mutable_call_id());
  text("--idempotency-key", "The same key gives the first outcome again.",
       request.mutable_idempotency_key());
  text("--approval", "The approval that was granted for this very call.",
       request.mutable_approval_id());
  text("--digest", "Refuse when the tool's digest is another.", request.mutable_expected_digest());
  CLI::Option* coerce =
      command.add_flag("--coerce", options.coerce, "Mend arguments by the schema.");
  command.add_flag("--no-coerce", options.no_coerce, "Take arguments as they are.")
      ->excludes(coerce);
}

}  // namespace

void AddCallCommands(CLI::App& app, CommandLine& line) {
  auto call_options = std::make_shared<CallOptions>();
  CLI::App* call = app.add_subcommand("call", "Calls a tool and prints its result.");
  AddCallOptions(*call, *call_options);
  call->add_flag("--stream", call_options->stream, "Show progress and logs while it runs.");
  call->callback([&line, call_options] {
    line.Choose([&line, call_options] { return Call(line, *call_options); });
  });

  auto explain_options = std::make_shared<CallOptions>();
  CLI::App* explain =
      app.add_subcommand("explain", "Says what would happen to a call, without doing it.");
  AddCallOptions(*explain, *explain_options);
  explain->callback([&line, explain_options] {
    line.Choose([&line, explain_options] { return Explain(line, *explain_options); });
  });

  auto read_options = std::make_shared<ReadOptions>();
  CLI::App* read = app.add_subcommand("read-result", "Prints a result that was cut, whole.");
  read->add_option("HANDLE", read_options->handle, "From the result.")->required();
  read->add_option("--offset", read_options->offset, "First byte.");
  read->add_option("--length", read_options->length, "At most so many bytes.");
  read->add_option("-o,--output", read_options->file, "Write to a file.");
  read->callback([&line, read_options] {
    line.Choose([&line, read_options] { return Read(line, *read_options); });
  });
}

}  // namespace toolrack
