#include "server/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/config_fields.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

std::string MistakesOf(const std::string& text) {
  std::vector<ConfigMistake> mistakes;
  ReadConfig(text, mistakes);
  return FormatMistakes("f.yaml", mistakes);
}

v1::Config Good(const std::string& text) {
  std::vector<ConfigMistake> mistakes;
  v1::Config config = ReadConfig(text, mistakes);
  EXPECT_EQ(FormatMistakes("f", mistakes), "");
  return config;
}

TEST(Config, ReadsEveryKindOfSetting) {
  const v1::Config config = Good(R"(
# A comment.
listen:
  runtime_dir: /run/x
  socket_mode: 0660
  tcp: ["127.0.0.1:7777", "[::1]:0"]
limits:
  max_message_bytes: 8MiB
  max_tools: 500
  default_call_timeout: 1m30s
log: { level: debug, calls: false }
tools:
  - name: fs__*
    disabled: true
    risk: dangerous
    timeout: 250ms
drain_grace: 0s
)");
  EXPECT_EQ(config.listen().runtime_dir(), "/run/x");
  EXPECT_EQ(config.listen().socket_mode(), "0660");
  ASSERT_EQ(config.listen().tcp_size(), 2);
  EXPECT_EQ(config.listen().tcp(1), "[::1]:0");
  EXPECT_EQ(config.limits().max_message_bytes(), 8u << 20);
  EXPECT_EQ(config.limits().max_tools(), 500u);
  EXPECT_EQ(FromProto(config.limits().default_call_timeout()), absl::Seconds(90));
  EXPECT_EQ(config.log().level(), "debug");
  EXPECT_TRUE(config.log().has_calls());
  EXPECT_FALSE(config.log().calls());
  ASSERT_EQ(config.tools_size(), 1);
  EXPECT_TRUE(config.tools(0).disabled());
  EXPECT_EQ(config.tools(0).risk(), v1::RISK_LEVEL_DANGEROUS);
  EXPECT_EQ(FromProto(config.tools(0).timeout()), absl::Milliseconds(250));
  EXPECT_TRUE(config.has_drain_grace());
}

TEST(Config, RendererRulesNameRenderersThatThereAre) {
  const v1::Config config = Good(R"(
renderers:
  o200k_file: /x/o200k_base.tiktoken
  rules:
    - models: ["acme-*", Acme/Rocket]
      renderers: [rolling_developer, harmony]
)");
  EXPECT_EQ(config.renderers().o200k_file(), "/x/o200k_base.tiktoken");
  EXPECT_EQ(config.renderers().rules(0).renderers(1), "harmony");
  EXPECT_EQ(
      MistakesOf("renderers:\n  rules:\n    - models: [a]\n      renderers: [harmony, harmny]\n"),
      "f.yaml:4:28: renderers.rules[0].renderers[1]: there is no renderer harmny; `toolrack "
      "renderers` lists them");
  const std::string bare =
      MistakesOf("renderers:\n  rules:\n    - models: ['']\n    - renderers: [claude]\n");
  EXPECT_NE(bare.find("renderers.rules[0]: needs `renderers`"), std::string::npos) << bare;
  EXPECT_NE(bare.find("renderers.rules[0].models[0]: must not be empty"), std::string::npos)
      << bare;
  EXPECT_NE(bare.find("renderers.rules[1]: needs `models`"), std::string::npos) << bare;
}

TEST(Config, ReadsJson) {
  const v1::Config config = Good(R"({
	"limits": {"max_tools": 5, "max_message_bytes": "64KiB", "max_arguments_bytes": 1024},
	"log": {"level": "error", "calls": true},
	"builtin": {"enabled": ["echo", "sleep"]}
})");
  EXPECT_EQ(config.limits().max_tools(), 5u);
  EXPECT_EQ(config.limits().max_message_bytes(), 64u << 10);
  EXPECT_EQ(config.builtin().enabled_size(), 2);
}

TEST(Config, TakesNothingAsTheDefaults) {
  for (const char* text : {"", "# nothing\n", "limits:\n", "{}", "---\n"}) {
    EXPECT_EQ(MistakesOf(text), "") << text;
  }
}

TEST(Config, ListsEveryMistakeAtOnceWithItsPlace) {
  EXPECT_EQ(MistakesOf(R"(listen:
  tcp: 127.0.0.1:1
  socket_mode: 0999
  sockt_group: x
limits:
  max_tols: 5
  max_message_bytes: 4MB
  max_arguments_bytes: 5
  max_tools: -1
  max_json_depth: [1]
  default_call_timeout: 5
  max_watchers: 1
  max_watchers: 2
workers: 7
results:
  ttl: forever
log:
  level: loud
  calls: "yes"
tools:
  - risk: deadly
  - name: a
    timeout: 0s
  - 5
zzz: 1
)"),
            R"(f.yaml:2:8: listen.tcp: must be a list; got 127.0.0.1:1
f.yaml:3:16: listen.socket_mode: must be an octal mode between 0000 and 0777 like 0600 or 0660; got 0999
f.yaml:4:3: listen.sockt_group: there is no such setting; did you mean `socket_group`?
f.yaml:6:3: limits.max_tols: there is no such setting; did you mean `max_tools`?
f.yaml:7:22: limits.max_message_bytes: must be a size like 4096, 64KiB, 4MiB or 1GiB; got 4MB
f.yaml:8:24: limits.max_arguments_bytes: must be between 1KiB and 256MiB; got 5
f.yaml:9:14: limits.max_tools: must be a whole number; got -1
f.yaml:10:19: limits.max_json_depth: must be one value; got a list
f.yaml:11:25: limits.default_call_timeout: must be a duration like 30s, 1m30s or 250ms; got 5
f.yaml:13:3: limits.max_watchers: stands twice; keep one of them
f.yaml:14:10: workers: must be a group of settings; got 7
f.yaml:16:8: results.ttl: must be a duration like 30s, 1m30s or 250ms; got forever
f.yaml:18:10: log.level: must be one of debug, info, warning, error, off; got loud
f.yaml:19:10: log.calls: must be true or false; got yes in quotes
f.yaml:21:5: tools[0]: needs `name`: a canonical tool name, `*` stands for any characters
f.yaml:21:11: tools[0].risk: must be one of safe, caution, dangerous; got deadly
f.yaml:23:14: tools[1].timeout: must be between 1ms and 720h; got 0s
f.yaml:24:5: tools[2]: must be a group of settings; got 5
f.yaml:24:5: tools[2]: needs `name`: a canonical tool name, `*` stands for any characters
f.yaml:25:1: zzz: there is no such setting; there are audit, breaker, builtin, dispatcher, drain_grace, hooks, limits, listen, log, pinning, policy, principals, renderers, results, state_dir, tools, validation, workers)");
}

TEST(Config, ListsMistakesOfPrincipalsRulesAndPatterns) {
  EXPECT_EQ(
      MistakesOf(R"(principals:
  - name: Alice
  - name: bob
    token_sha256: [mytoken]
    scopes: [fly]
    uids: [x1]
  - name: bob
    uids: [7, 7]
  - scopes: [call]
pinning: maybe
policy:
  default_action: perhaps
  rules:
    - tools: ["*"]
    - action: deny
      risks: [deadly]
results:
  scrub_patterns: ["a("]
)"),
      R"(f.yaml:2:11: principals[0].name: needs a `name` of 1 to 64 of a-z, 0-9, `.`, `_` and `-`; got Alice
f.yaml:4:20: principals[1].token_sha256[0]: must be the SHA-256 of a token, 64 hex digits; `toolrack token` makes both
f.yaml:5:14: principals[1].scopes[0]: must be one of call, register, hook, render, admin; got fly
f.yaml:6:12: principals[1].uids[0]: must be the number of a user; got x1
f.yaml:7:11: principals[2].name: bob stands twice; keep one of them
f.yaml:8:15: principals[2].uids[1]: 7 stands twice; a user is one principal
f.yaml:9:5: principals[3]: needs a `name` of 1 to 64 of a-z, 0-9, `.`, `_` and `-`; got none
f.yaml:10:10: pinning: must be one of off, warn, enforce; got maybe
f.yaml:12:19: policy.default_action: must be one of allow, deny, ask; got perhaps
f.yaml:14:7: policy.rules[0]: needs an `action`: allow, deny or ask
f.yaml:16:15: policy.rules[1].risks[0]: must be one of safe, caution, dangerous; got deadly
f.yaml:18:20: results.scrub_patterns[0]: must be a regular expression (RE2): missing ): a()");
}

TEST(Config, ListsMistakesOfTheBuiltInTools) {
  EXPECT_EQ(
      MistakesOf(R"(builtin:
  http:
    allow: [api.example.com, "*", "https://x/", "*.127.0.0.1", "a:99999"]
    methods: [GET, get, TRACE]
    timeout: 2h
)"),
      R"(f.yaml:3:30: builtin.http.allow[1]: must be a host like api.example.com or *.example.com, with :PORT if need be; got *
f.yaml:3:35: builtin.http.allow[2]: must be a host like api.example.com or *.example.com, with :PORT if need be; got https://x/
f.yaml:3:49: builtin.http.allow[3]: must not have `*.` before an address; got *.127.0.0.1
f.yaml:3:64: builtin.http.allow[4]: must be a host like api.example.com or *.example.com, with :PORT if need be; Port number was not a decimal number between 0 and 65535; got a:99999
f.yaml:4:20: builtin.http.methods[1]: must be a method in capitals like GET or POST, and not CONNECT or TRACE; got get
f.yaml:4:25: builtin.http.methods[2]: must be a method in capitals like GET or POST, and not CONNECT or TRACE; got TRACE
f.yaml:5:14: builtin.http.timeout: must be between 1ms and 1h; got 2h)");
}

TEST(Config, ListsMistakesOfTheFileTools) {
  EXPECT_EQ(MistakesOf(R"(builtin:
  files:
    root: srv/files
    max_file_bytes: 1
  commands:
    - name: sleep
      description: d
      argv: ["/bin/sleep", "{seconds}", "x{"]
    - argv: [true, "{a b}"]
      env: [NOTHING]
      timeout: 0s
)"),
            R"(f.yaml:3:11: builtin.files.root: must be an absolute path; got srv/files
f.yaml:4:21: builtin.files.max_file_bytes: must be between 1KiB and 256MiB; got 1
f.yaml:6:13: builtin.commands[0].name: sleep is another built-in tool's name already; give another
f.yaml:8:41: builtin.commands[0].argv[2]: has a `{` without a `}` after it; write `{{` for a brace
f.yaml:9:7: builtin.commands[1]: needs a `name` of 1 to 128 of A-Z, a-z, 0-9, `_`, `.` and `-`, without `__`; got none
f.yaml:9:7: builtin.commands[1]: needs a `description` that tells a model what the tool does
f.yaml:9:14: builtin.commands[1].argv[0]: must be the absolute path of a program, without `{NAME}`; got true
f.yaml:9:20: builtin.commands[1].argv[1]: must have a property's name of A-Z, a-z, 0-9, `_`, `.` and `-` in its braces; got `{a b}`
f.yaml:10:13: builtin.commands[1].env[0]: must be NAME=VALUE
f.yaml:11:16: builtin.commands[1].timeout: must be between 1ms and 24h; got 0s)");
}

TEST(Config, GivesEachElementOfAListItsDefaults) {
  const v1::Config config =
      WithDefaults(Good("builtin: {commands: [{name: a, description: d, argv: [/bin/true], "
                        "max_concurrency: 7}]}\n"));
  const v1::CommandToolConfig& command = config.builtin().commands(0);
  EXPECT_EQ(FromProto(command.timeout()), absl::Seconds(30));
  EXPECT_EQ(command.max_output_bytes(), 1u << 20);
  EXPECT_EQ(command.max_concurrency(), 7u);
}

TEST(Config, SaysWhereTheTextIsNoYaml) {
  EXPECT_EQ(MistakesOf("limits:\n  max_tools: [1\n").substr(0, 7), "f.yaml:");
  EXPECT_EQ(MistakesOf("a: 1\n---\nb: 2\n"),
            "f.yaml:1:1: a: there is no such setting; there are audit, breaker, builtin, "
            "dispatcher, drain_grace, "
            "hooks, limits, listen, log, pinning, policy, principals, renderers, results, "
            "state_dir, tools, "
            "validation, workers\n"
            "f.yaml:3:1: there is more than one document (`---`); keep one");
}

TEST(Config, RefusesAnAddressThatIsNotLoopbackUnlessToldSo) {
  EXPECT_EQ(
      MistakesOf("listen:\n  tcp: [\"0.0.0.0:7777\"]\n"),
      "f.yaml:2:9: listen.tcp[0]: 0.0.0.0:7777 is not a loopback address: anybody who can reach "
      "it could call tools, without encryption. Listen on 127.0.0.1, or set "
      "listen.insecure_remote (--insecure-remote)");
  EXPECT_EQ(MistakesOf("listen:\n  tcp: [\"0.0.0.0:7777\"]\n  insecure_remote: true\n"), "");
  EXPECT_EQ(MistakesOf("listen:\n  tcp: [\"127.8.9.1:0\", \"localhost:1\", \"[::1]:2\"]\n"), "");
}

TEST(Config, FindsMistakesBetweenSettings) {
  EXPECT_EQ(MistakesOf("limits:\n  max_arguments_bytes: 8MiB\n"),
            "f.yaml:2:24: limits.max_arguments_bytes: must not be over limits.max_message_bytes "
            "(4194304); got 8388608");
}

TEST(Config, BoundsTheListOfMistakes) {
  std::string text;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, "k", i, ": 1\n");
  std::vector<ConfigMistake> mistakes;
  ReadConfig(text, mistakes);
  ASSERT_EQ(mistakes.size(), 101u);
  EXPECT_EQ(mistakes.back().message, "and more: mend these first");
  EXPECT_EQ(MistakesOf(std::string((1 << 20) + 1, '#')), "f.yaml: the text is larger than 1 MiB");
}

TEST(Config, GivesEverySettingItsDefault) {
  const v1::Config config = WithDefaults({});
  EXPECT_EQ(config.limits().max_message_bytes(), 4u << 20);
  EXPECT_EQ(config.limits().max_tools(), 100000u);
  EXPECT_EQ(FromProto(config.drain_grace()), absl::Seconds(20));
  EXPECT_EQ(FromProto(config.workers().worker_grace()), absl::Seconds(30));
  EXPECT_EQ(config.results().cap_bytes(), 64u << 10);
  EXPECT_EQ(config.log().level(), "info");
  EXPECT_TRUE(config.log().calls());
  EXPECT_EQ(config.listen().socket_mode(), "0600");
  EXPECT_FALSE(config.listen().runtime_dir().empty());
  EXPECT_TRUE(CheckConfig(config).empty());
}

TEST(Config, KeepsWhatWasSetWhenDefaultsAreApplied) {
  const v1::Config config = WithDefaults(Good("drain_grace: 0s\nlog: {calls: false}\n"));
  EXPECT_EQ(FromProto(config.drain_grace()), absl::ZeroDuration());
  EXPECT_FALSE(config.log().calls());
}

// Every number, size and duration has a default within its range: nothing is forgotten in the
// table.
void ExpectRows(const google::protobuf::Descriptor& type, const std::string& path) {
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    const std::string here = path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
    if (field.message_type() != nullptr && !IsDuration(field)) {
      if (!field.is_repeated()) ExpectRows(*field.message_type(), here);
      continue;
    }
    const bool counts = IsDuration(field) ||
                        field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT32 ||
                        field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT64;
    if (counts) {
      EXPECT_NE(FindConfigField(here), nullptr) << here << " has no default and no range";
    }
  }
}
TEST(Config, HasARowForEveryBound) { ExpectRows(*v1::Config::descriptor(), ""); }

TEST(Config, ChecksWhatDidNotComeFromAFile) {
  v1::Config config;
  config.mutable_limits()->set_max_message_bytes(1);
  config.mutable_log()->set_level("loud");
  config.mutable_listen()->add_tcp("nowhere");
  config.mutable_workers()->mutable_worker_grace()->set_seconds(-1);
  EXPECT_EQ(FormatMistakes("flags", CheckConfig(config)),
            "flags: listen.tcp[0]: must be a numeric HOST:PORT like 127.0.0.1:7777, [::1]:7777 or "
            "localhost:0; got nowhere\n"
            "flags: limits.max_message_bytes: must be between 64KiB and 256MiB; got 1\n"
            "flags: workers.worker_grace: must be a duration like 30s, 1m30s or 250ms; got -1s\n"
            "flags: log.level: must be one of debug, info, warning, error, off; got loud\n"
            "flags: limits.max_arguments_bytes: must not be over limits.max_message_bytes (1); got "
            "1048576");
}

TEST(ConfigFile, IsRefusedWhenOthersCouldHaveWrittenIt) {
  TempDir dir;
  const std::string file = dir.path() + "/c.yaml";
  std::ofstream(file) << "drain_grace: 3s\n";
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(LoadConfigFile(file)->drain_grace().seconds(), 3);
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(LoadConfigFile(file).status().message(),
            absl::StrCat(file, ": everybody may write it; take that away with chmod o-w"));
  EXPECT_EQ(LoadConfigFile(dir.path()).status().message(),
            absl::StrCat(dir.path(), ": is not a file"));
  EXPECT_EQ(LoadConfigFile(dir.path() + "/no").status().message(),
            absl::StrCat(dir.path(), "/no: cannot be read: No such file or directory"));
}

TEST(ConfigFile, TellsItsMistakesWithTheFilesName) {
  TempDir dir;
  const std::string file = dir.path() + "/c.yaml";
  std::ofstream(file) << "drain_grace: 3\n";
  EXPECT_EQ(
      LoadConfigFile(file).status().message(),
      absl::StrCat(file, ":1:14: drain_grace: must be a duration like 30s, 1m30s or 250ms; got 3"));
}

TEST(Size, IsANumberWithABinaryUnit) {
  EXPECT_EQ(*ParseSize("0"), 0u);
  EXPECT_EQ(*ParseSize("17B"), 17u);
  EXPECT_EQ(*ParseSize("64KiB"), 65536u);
  EXPECT_EQ(*ParseSize("4MiB"), 4194304u);
  EXPECT_EQ(*ParseSize("1GiB"), 1073741824u);
  for (const char* bad : {"", "KiB", "1KB", "1 KiB", "-1", "1.5MiB", "99999999999999999999",
                          "17179869184GiB", "1kib"}) {
    EXPECT_FALSE(ParseSize(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace toolrack
