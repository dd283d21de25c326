#include "server/process/command_tool.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"
#include "registry/outcome.h"
#include "server/process/command_template.h"

namespace toolrack {
namespace {

constexpr size_t kTailBytes = 4 << 10;  // of standard error, in a result

absl::Duration Timeout(const v1::CommandToolConfig& config) {
  return absl::Seconds(config.timeout().seconds()) + absl::Nanoseconds(config.timeout().nanos());
}

// Each `{NAME}`, and the one for standard input, once, in their order.
std::vector<std::string> PropertiesOf(const v1::CommandToolConfig& config) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  };
  for (const std::string& text : config.argv()) {
    const absl::StatusOr<ArgumentTemplate> argument = ArgumentTemplate::Parse(text);
    if (!argument.ok()) continue;
    for (const std::string& name : argument->properties()) add(name);
  }
  if (!config.stdin_property().empty()) add(config.stdin_property());
  return out;
}

std::string DerivedSchema(const v1::CommandToolConfig& config) {
  nlohmann::ordered_json schema = {{"type", "object"},
                                   {"properties", nlohmann::ordered_json::object()}};
  for (const std::string& name : PropertiesOf(config)) {
    schema["properties"][name] = {{"type", "string"}};
    schema["required"].push_back(name);
  }
  schema["additionalProperties"] = false;
  return schema.dump();
}

std::string Tail(absl::string_view bytes) {
  const std::string text = ReplaceInvalidUtf8(bytes);
  const absl::string_view tail = Utf8Suffix(text, kTailBytes);
  return absl::StrCat(tail.size() < text.size() ? "…" : "", tail);
}

v1::ToolResult Failure(const std::string& tool, const RunResult& run) {
  std::map<std::string, std::string> metadata;
  std::string text = absl::StrCat("The program of ", tool, " ");
  if (run.signal != 0) {
    absl::StrAppend(&text, "was ended by signal ", run.signal, " (", strsignal(run.signal), ").");
    metadata["signal"] = absl::StrCat(run.signal);
  } else {
    absl::StrAppend(&text, "ended with exit code ", run.exit_code, ".");
    metadata["exit_code"] = absl::StrCat(run.exit_code);
  }
  if (!run.errors.empty()) {
    absl::StrAppend(&text, " The end of its standard error:\n", Tail(run.errors));
  } else if (!run.output.empty()) {
    absl::StrAppend(&text, " The end of its output:\n", Tail(run.output));
  } else {
    absl::StrAppend(&text, " It wrote nothing.");
  }
  return ErrorResult(v1::ERROR_REASON_EXECUTION_FAILED, text, metadata);
}

v1::ToolResult Success(const std::string& tool, RunResult run) {
  v1::ToolResult result;
  const bool cut = run.output_bytes > run.output.size();
  std::string output = std::move(run.output);
  if (cut) {
    // Not for a character that the cut went through.
    const size_t good = FirstInvalidUtf8(output);
    if (output.size() - good < 4) output.resize(good);
  }
  const size_t given = output.size();
  v1::Content& content = *result.add_content();
  if (IsUtf8(output)) {
    content.mutable_text()->set_text(std::move(output));
  } else {
    content.mutable_resource()->set_uri(absl::StrCat("urn:toolrack:", tool, ":stdout"));
    content.mutable_resource()->set_mime_type("application/octet-stream");
    content.mutable_resource()->set_blob(std::move(output));
  }
  if (cut) {
    result.add_content()->mutable_text()->set_text(absl::StrCat(
        "(The output was cut: these are the first ", given, " of ", run.output_bytes, " bytes.)"));
  }
  nlohmann::ordered_json data = {{"exit_code", 0}, {"output_bytes", run.output_bytes}};
  data["output_cut"] = cut;
  if (!run.errors.empty()) data["stderr"] = Tail(run.errors);
  result.set_structured_json(data.dump());
  return result;
}

absl::Status NotStarted(const std::string& tool, const absl::Status& status) {
  const std::string why(status.message());
  if (absl::IsUnavailable(status)) return ToolNotStarted(tool, "toolrack", why);
  if (absl::IsInvalidArgument(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat("The arguments are too long for a program: ", why, ". Give shorter ones."));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("The program of ", tool, " was not started: ", why,
                   ". This tool does not work until its settings (builtin.commands) are mended; "
                   "use another one."));
}

class CommandTool : public Tool {
 public:
  CommandTool(const v1::CommandToolConfig& config, ProcessRunner* runner)
      : config_(config), runner_(runner) {
    for (const std::string& text : config.argv()) {
      arguments_.push_back(*ArgumentTemplate::Parse(text));
    }
  }

  void Execute(ToolCall call, ToolDone done) override {
    RunSpec spec;
    for (const ArgumentTemplate& argument : arguments_) {
      const absl::Status status = argument.Append(*call.arguments, spec.spawn.argv);
      if (!status.ok()) return done(status);
    }
    if (!config_.stdin_property().empty()) {
      const auto input = call.arguments->find(config_.stdin_property());
      spec.spawn.input = true;
      if (input != call.arguments->end()) {
        spec.input = input->is_string() ? input->get<std::string>() : input->dump();
      }
    }
    spec.spawn.env.assign(config_.env().begin(), config_.env().end());
    spec.spawn.directory = config_.directory().empty() ? "/" : config_.directory();
    spec.timeout = Timeout(config_);
    spec.max_output_bytes = config_.max_output_bytes();
    const StopToken stop = call.stop;
    runner_->Run(std::move(spec), stop,
                 [name = config_.name(), timeout = Timeout(config_), stop,
                  done = std::move(done)](absl::StatusOr<RunResult> run) mutable {
                   done(Outcome(name, timeout, stop, std::move(run)));
                 });
  }

 private:
  static absl::StatusOr<v1::ToolResult> Outcome(const std::string& name, absl::Duration timeout,
                                                const StopToken& stop,
                                                absl::StatusOr<RunResult> run) {
    if (!run.ok() && absl::IsCancelled(run.status())) {
      return CallCancelled(name, StopReasonName(stop.reason()), Executed::kNo);
    }
    if (!run.ok()) return NotStarted(name, run.status());
    if (run->why == RunResult::Why::kTimeout || stop.reason() == StopReason::kDeadline) {
      return CallTimeout(name, timeout, Executed::kMaybe);
    }
    if (run->why == RunResult::Why::kStopped) {
      return CallCancelled(name, StopReasonName(stop.reason()), Executed::kMaybe);
    }
    if (run->signal != 0 || run->exit_code != 0) return Failure(name, *run);
    return Success(name, *std::move(run));
  }

  const v1::CommandToolConfig config_;
  ProcessRunner* const runner_;
  std::vector<ArgumentTemplate> arguments_;
};

using Mistakes = std::vector<std::pair<std::string, std::string>>;

// Each placeholder is a property of the schema; one within a text is there in every call.
void CheckSchema(const v1::CommandToolConfig& config, Mistakes& mistakes) {
  const nlohmann::json schema =
      nlohmann::json::parse(config.input_schema(), nullptr, /*allow_exceptions=*/false);
  if (!schema.is_object()) {
    mistakes.emplace_back("input_schema", "must be a JSON Schema, an object, as text");
    return;
  }
  const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
  std::set<std::string> required;
  for (const nlohmann::json& name : schema.value("required", nlohmann::json::array())) {
    if (name.is_string()) required.insert(name.get<std::string>());
  }
  for (const std::string& name : PropertiesOf(config)) {
    if (properties.is_object() && properties.contains(name)) continue;
    mistakes.emplace_back("input_schema", absl::StrCat("needs the property `", name,
                                                       "`, which argv or stdin_property uses"));
  }
  for (int i = 0; i < config.argv_size(); ++i) {
    const absl::StatusOr<ArgumentTemplate> argument = ArgumentTemplate::Parse(config.argv(i));
    if (!argument.ok() || argument->bare()) continue;
    for (const std::string& name : argument->properties()) {
      if (required.contains(name)) continue;
      mistakes.emplace_back(
          absl::StrCat("argv[", i, "]"),
          absl::StrCat("`{", name,
                       "}` within a text needs the property in every call: make it "
                       "`required` in input_schema"));
    }
  }
}

}  // namespace

Mistakes CommandMistakes(const v1::CommandToolConfig& config) {
  Mistakes mistakes;
  const std::string& name = config.name();
  constexpr char kLegal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  if (name.empty() || name.size() > 128 || name.find_first_not_of(kLegal) != name.npos ||
      absl::StrContains(name, "__")) {
    mistakes.emplace_back(name.empty() ? "" : "name",
                          absl::StrCat("needs a `name` of 1 to 128 of A-Z, a-z, 0-9, `_`, `.` and "
                                       "`-`, without `__`; got ",
                                       name.empty() ? "none" : ForMessage(name, 60)));
  }
  if (config.description().empty()) {
    mistakes.emplace_back("", "needs a `description` that tells a model what the tool does");
  }
  if (config.argv().empty()) {
    mistakes.emplace_back("", "needs `argv`: the program's absolute path and its arguments");
  }
  for (int i = 0; i < config.argv_size(); ++i) {
    const std::string here = absl::StrCat("argv[", i, "]");
    const absl::StatusOr<ArgumentTemplate> argument = ArgumentTemplate::Parse(config.argv(i));
    if (!argument.ok()) {
      mistakes.emplace_back(here, std::string(argument.status().message()));
    } else if (i == 0 &&
               (!argument->fixed() || config.argv(0).empty() || config.argv(0).front() != '/')) {
      mistakes.emplace_back(here, absl::StrCat("must be the absolute path of a program, without "
                                               "`{NAME}`; got ",
                                               ForMessage(config.argv(0), 60)));
    }
  }
  for (int i = 0; i < config.env_size(); ++i) {
    const size_t equals = config.env(i).find('=');
    if (equals == 0 || equals == std::string::npos) {
      // Its value may be a secret.
      mistakes.emplace_back(absl::StrCat("env[", i, "]"), "must be NAME=VALUE");
    }
  }
  if (!config.directory().empty() && config.directory().front() != '/') {
    mistakes.emplace_back("directory", absl::StrCat("must be an absolute path; got ",
                                                    ForMessage(config.directory(), 60)));
  }
  if (!config.input_schema().empty()) CheckSchema(config, mistakes);
  return mistakes;
}

ToolFactory MakeCommandTool(const v1::CommandToolConfig& config, ProcessRunner* runner) {
  return [config, runner] {
    ToolMeta meta;
    meta.set_name(config.name());
    meta.set_description(config.description());
    meta.set_input_schema(config.input_schema().empty() ? DerivedSchema(config)
                                                        : config.input_schema());
    meta.add_categories("system");
    meta.mutable_annotations()->set_read_only(config.read_only());
    meta.mutable_annotations()->set_destructive(config.destructive());
    meta.mutable_annotations()->set_open_world(true);
    *meta.mutable_timeout() = config.timeout();
    meta.set_max_concurrency(config.max_concurrency());
    return std::pair<ToolMeta, std::shared_ptr<Tool>>(
        std::move(meta), std::make_shared<CommandTool>(config, runner));
  };
}

}  // namespace toolrack
