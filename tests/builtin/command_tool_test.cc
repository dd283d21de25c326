// Programs as tools.
#include "server/process/command_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "registry/base/errors.h"
#include "registry/in_process_backend.h"
#include "registry/outcome.h"
#include "server/process/command_template.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "!" and what is wrong, else the arguments between `|`.
std::string Expand(const std::string& text, const json& arguments) {
  const absl::StatusOr<ArgumentTemplate> argument = ArgumentTemplate::Parse(text);
  if (!argument.ok()) return absl::StrCat("!", argument.status().message());
  std::vector<std::string> argv;
  const absl::Status status = argument->Append(arguments, argv);
  if (!status.ok()) return absl::StrCat("!", status.message());
  std::string out;
  for (const std::string& one : argv) absl::StrAppend(&out, one, "|");
  return out;
}

TEST(CommandTemplate, MakesOneArgumentOfEach) {
  const json args = {{"a", "x y; $(z) 'q' \n"},
                     {"n", 1.5},
                     {"t", true},
                     {"l", {"p", "q r", 3}},
                     {"e", json::array()},
                     {"o", {{"k", 1}}},
                     {"z", nullptr},
                     {"nul", std::string("a\0b", 3)}};
  EXPECT_EQ(Expand("plain", args), "plain|");
  EXPECT_EQ(Expand("", args), "|");
  EXPECT_EQ(Expand("{a}", args), "x y; $(z) 'q' \n|");
  EXPECT_EQ(Expand("--x={a}{n}", args), "--x=x y; $(z) 'q' \n1.5|");
  EXPECT_EQ(Expand("{n}", args), "1.5|");
  EXPECT_EQ(Expand("{t}", args), "true|");
  EXPECT_EQ(Expand("{z}", args), "null|");
  EXPECT_EQ(Expand("{l}", args), "p|q r|3|");
  EXPECT_EQ(Expand("{e}", args), "");
  EXPECT_EQ(Expand("{none}", args), "");
  EXPECT_EQ(Expand("{{a}} }}{{", args), "{a} }{|");
  EXPECT_EQ(Expand("{{{n}}}", args), "{1.5}|");
  for (const char* bad :
       {"x{none}", "x{l}", "{o}", "x{o}", "{nul}", "{", "}", "{}", "{a b}", "{a", "a}", "{a}}"}) {
    EXPECT_EQ(Expand(bad, args).substr(0, 1), "!") << bad;
  }
}

RC_GTEST_PROP(CommandTemplateProperty, AValueNeverBecomesMoreThanOneArgumentNorLess, ()) {
  const auto value = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  const auto before = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("-=x {}\t")));
  const json arguments = {{"v", value}};
  // Written as a text that stands for itself.
  std::string text;
  for (const char c : before) text += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  std::vector<std::string> argv;
  for (const std::string& one : {text, text + "{v}", std::string("{v}"), "{v}" + text}) {
    RC_ASSERT(ArgumentTemplate::Parse(one)->Append(arguments, argv).ok());
  }
  RC_ASSERT((argv == std::vector<std::string>{before, before + value, value, value + before}));
}

v1::CommandToolConfig Config(std::vector<std::string> argv) {
  v1::CommandToolConfig config;
  config.set_name("run");
  config.set_description("Runs.");
  for (std::string& one : argv) config.add_argv(std::move(one));
  config.mutable_timeout()->set_seconds(60);
  config.set_max_output_bytes(1000);
  config.set_max_concurrency(2);
  return config;
}

TEST(CommandTool, TellsEveryMistake) {
  EXPECT_THAT(CommandMistakes(Config({"/bin/echo", "{x}", "a{y}"})), IsEmpty());
  v1::CommandToolConfig bad = Config({"echo", "{"});
  bad.set_name("a b");
  bad.set_description("");
  bad.add_env("=x");
  bad.set_directory("here");
  std::vector<std::string> paths;
  for (const auto& [path, message] : CommandMistakes(bad)) paths.push_back(path);
  EXPECT_THAT(paths, ElementsAre("name", "", "argv[0]", "argv[1]", "env[0]", "directory"));
  v1::CommandToolConfig schema = Config({"/bin/echo", "{x}", "a{y}"});
  schema.set_input_schema(R"({"type":"object","properties":{"y":{"type":"string"}}})");
  schema.set_stdin_property("in");
  const auto mistakes = CommandMistakes(schema);
  ASSERT_EQ(mistakes.size(), 3u);
  EXPECT_THAT(mistakes[0].second, HasSubstr("`x`"));
  EXPECT_THAT(mistakes[1].second, HasSubstr("`in`"));
  EXPECT_EQ(mistakes[2].first, "argv[2]");
  schema.set_input_schema("[");
  EXPECT_EQ(CommandMistakes(schema)[0].first, "input_schema");
}

class CommandToolTest : public testing::Test {
 protected:
  absl::StatusOr<v1::ToolResult> Call(const v1::CommandToolConfig& config, const json& arguments) {
    EXPECT_THAT(CommandMistakes(config), IsEmpty());
    ToolCall call;
    call.arguments = std::make_shared<const json>(arguments);
    call.stop = stop_.token();
    call.reporter = SilentReporter();
    auto over = std::make_shared<absl::Notification>();
    auto out = std::make_shared<absl::StatusOr<v1::ToolResult>>(absl::UnknownError("it hangs"));
    MakeCommandTool(config, &runner_)().second->Execute(
        std::move(call), [over, out](absl::StatusOr<v1::ToolResult> result) {
          *out = std::move(result);
          over->Notify();
        });
    over->WaitForNotificationWithTimeout(kHung);
    return *out;
  }
  StopSource stop_;
  ProcessRunner runner_;
};

TEST_F(CommandToolTest, DefinesItselfFromItsSettings) {
  v1::CommandToolConfig config = Config({"/bin/echo", "{b}", "x{a}", "{b}"});
  config.set_stdin_property("text");
  config.set_read_only(true);
  const ToolMeta meta = MakeCommandTool(config, &runner_)().first;
  EXPECT_EQ(meta.input_schema(),
            R"({"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"},)"
            R"("text":{"type":"string"}},"required":["b","a","text"],)"
            R"("additionalProperties":false})");
  EXPECT_TRUE(meta.annotations().read_only());
  EXPECT_FALSE(meta.annotations().destructive());
  EXPECT_TRUE(meta.annotations().open_world());
  EXPECT_EQ(meta.timeout().seconds(), 60);
  EXPECT_EQ(meta.max_concurrency(), 2u);
}

TEST_F(CommandToolTest, RunsWithoutAShell) {
  const auto result = Call(Config({"/usr/bin/printf", "%s|", "{a}", "{l}", "-{a}"}),
                           {{"a", "$(id) `id` ; *"}, {"l", {"1", "2 3"}}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->content(0).text().text(), "$(id) `id` ; *|1|2 3|-$(id) `id` ; *|");
  EXPECT_EQ(result->structured_json(), R"({"exit_code":0,"output_bytes":37,"output_cut":false})");
}

TEST_F(CommandToolTest, WritesAPropertyToItsInput) {
  v1::CommandToolConfig config = Config({"/usr/bin/tr", "a-z", "A-Z"});
  config.set_stdin_property("text");
  EXPECT_EQ(Call(config, {{"text", "héllo"}})->content(0).text().text(), "HéLLO");
}

TEST_F(CommandToolTest, GivesTheEndOfStandardErrorOnFailure) {
  const auto result = Call(
      Config({"/bin/sh", "-c", "echo out; yes x | head -c 9000 >&2; echo bad thing >&2; exit 3"}),
      json::object());
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->is_error());
  EXPECT_EQ(result->error().reason(), "EXECUTION_FAILED");
  EXPECT_EQ(result->error().metadata().at("exit_code"), "3");
  const std::string text = result->content(0).text().text();
  EXPECT_THAT(text, HasSubstr("The program of run ended with exit code 3."));
  EXPECT_THAT(text, testing::EndsWith("bad thing\n"));
  EXPECT_LT(text.size(), 5000u);
  const auto killed = Call(Config({"/bin/sh", "-c", "kill -9 $$"}), json::object());
  EXPECT_EQ(killed->error().metadata().at("signal"), "9");
}

TEST_F(CommandToolTest, CutsWhatIsTooLongAndSaysSo) {
  const auto result = Call(
      Config({"/bin/sh", "-c", "printf x; yes é | tr -d '\\n' | head -c 5000"}), json::object());
  ASSERT_EQ(result->content_size(), 2);
  EXPECT_EQ(result->content(0).text().text().size(), 999u);
  EXPECT_EQ(result->content(1).text().text(),
            "(The output was cut: these are the first 999 of 5001 bytes.)");
}

TEST_F(CommandToolTest, GivesOtherOutputAsBytes) {
  const auto result = Call(Config({"/usr/bin/printf", "\\377\\376"}), json::object());
  EXPECT_EQ(result->content(0).resource().blob(), "\xff\xfe");
}

TEST_F(CommandToolTest, SaysWhatToDoWhenItsProgramIsMissing) {
  const auto result = Call(Config({"/no/such/program"}), json::object());
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(IsBackendFailure(result.status()));
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("/no/such/program cannot be started: No such file or directory. This tool "
                        "does not work until its settings (builtin.commands) are mended"));
}

TEST_F(CommandToolTest, TimesOut) {
  v1::CommandToolConfig config = Config({"/bin/sleep", "1000"});
  config.mutable_timeout()->set_seconds(0);
  config.mutable_timeout()->set_nanos(50'000'000);
  const absl::Status status = Call(config, json::object()).status();
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TIMEOUT);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace toolrack
