#include "client/cli/arguments.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/cli/address.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

v1::CallToolRequest Fill(const ArgumentOptions& options, const std::string& input = "") {
  std::istringstream in(input);
  v1::CallToolRequest request;
  const absl::Status status = FillArguments(options, in, request);
  EXPECT_TRUE(status.ok()) << status;
  return request;
}

absl::Status FillStatus(const ArgumentOptions& options, const std::string& input = "") {
  std::istringstream in(input);
  v1::CallToolRequest request;
  return FillArguments(options, in, request);
}

TEST(Arguments, NoneLeaveTheInputUnset) {
  EXPECT_EQ(Fill({}).input_case(), v1::CallToolRequest::INPUT_NOT_SET);
}

TEST(Arguments, JsonArrivesByteForByte) {
  const std::string json = " {\"b\": 18446744073709551615, \"a\" : 1.0}\n";
  EXPECT_EQ(Fill({.words = {json}}).arguments_json(), json);
  EXPECT_EQ(Fill({.data = json}).arguments_json(), json);
  EXPECT_EQ(Fill({.data = "-"}, json).arguments_json(), json);
  EXPECT_EQ(Fill({.data = "@-"}, json).arguments_json(), json);
  EXPECT_EQ(Fill({.data = "{broken"}).arguments_json(), "{broken");  // the daemon's verdict counts
}

TEST(Arguments, PairsMakeAnObjectInTheirOrder) {
  EXPECT_EQ(Fill({.words = {"z=1", "a:=9007199254740993", "t=a=\"b\""}}).arguments_json(),
            R"({"z":"1","a":9007199254740993,"t":"a=\"b\""})");
  EXPECT_EQ(Fill({.words = {"x=1"}, .pairs = {"y:=[1, 2]"}}).arguments_json(),
            R"({"x":"1","y":[1, 2]})");
  EXPECT_EQ(Fill({.words = {"empty="}}).arguments_json(), R"({"empty":""})");
}

TEST(Arguments, PlainTextIsSentAsText) {
  EXPECT_EQ(Fill({.text = "{not json"}).input_text(), "{not json");
  EXPECT_EQ(Fill({.text = "-"}, "line\n").input_text(), "line\n");
}

TEST(Arguments, AFileIsRead) {
  const auto path =
      std::filesystem::temp_directory_path() / ("toolrack-arguments-" + std::to_string(getpid()));
  std::ofstream(path) << "{\"from\":\"file\"}";
  EXPECT_EQ(Fill({.data = "@" + path.string()}).arguments_json(), "{\"from\":\"file\"}");
  std::filesystem::remove(path);
  EXPECT_TRUE(absl::IsInvalidArgument(FillStatus({.data = "@" + path.string()})));
}

TEST(Arguments, MistakesInTheCommandLineHaveNoReason) {
  for (const ArgumentOptions& options :
       {ArgumentOptions{.words = {"neither"}}, ArgumentOptions{.words = {"=x"}},
        ArgumentOptions{.words = {"a=1", "a=2"}}, ArgumentOptions{.words = {"a:={"}},
        ArgumentOptions{.words = {"a=1"}, .data = "{}"},
        ArgumentOptions{.data = "{}", .text = "x"}}) {
    const absl::Status status = FillStatus(options);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_UNSPECIFIED);
    EXPECT_FALSE(status.message().empty());
  }
}

TEST(Arguments, TextThatIsNotUtf8IsRefusedBeforeItIsSent) {
  const absl::Status status = FillStatus({.data = "-"}, "{\"a\":\"\xff\"}");
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_ARGUMENTS_NOT_JSON);
  EXPECT_EQ(MetadataOf(status)["offset"], "6");
}

Environment Variables(std::map<std::string, std::string> values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

std::string Resolve(const AddressOptions& options, Scope scope, const Environment& environment) {
  return ResolveAddress(options, scope, environment).value_or("error");
}

TEST(Address, TheMoreExplicitWins) {
  const Environment all = Variables({{"TOOLRACK_ADDRESS", "localhost:1"},
                                     {"TOOLRACK_RUNTIME_DIR", "/a"},
                                     {"XDG_RUNTIME_DIR", "/b"}});
  EXPECT_EQ(Resolve({.address = "unix:/x"}, Scope::kAgent, all), "unix:/x");
  EXPECT_EQ(Resolve({.address = "/x/agent.sock"}, Scope::kAgent, all), "unix:/x/agent.sock");
  EXPECT_EQ(Resolve({.runtime_dir = "/r/"}, Scope::kControl, all), "unix:/r/control.sock");
  EXPECT_EQ(Resolve({}, Scope::kAgent, all), "localhost:1");
  EXPECT_EQ(Resolve({}, Scope::kAgent, Variables({{"TOOLRACK_RUNTIME_DIR", "/a"}})),
            "unix:/a/agent.sock");
  EXPECT_EQ(Resolve({}, Scope::kControl, Variables({{"XDG_RUNTIME_DIR", "/nowhere"}})),
            "unix:/nowhere/toolrack/control.sock");
}

TEST(Address, ATooLongSocketPathIsNamed) {
  const auto address =
      ResolveAddress({.runtime_dir = "/" + std::string(120, 'x')}, Scope::kAgent, Variables({}));
  EXPECT_TRUE(absl::IsInvalidArgument(address.status()));
  EXPECT_NE(address.status().message().find("107"), absl::string_view::npos);
}

}  // namespace
}  // namespace toolrack
