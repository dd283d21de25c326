#include "registry/builtin/builtin.h"

#include <gtest/gtest.h>

#include "registry/builtin/calculator.h"
#include "registry/tool_server.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

class BuiltinTest : public testing::Test {
 protected:
  BuiltinTest() : server_(&rig_.registry, "toolrackd", "") {
    absl::StatusOr<ToolRegistrar> registrar = server_.TakeRegistrar();
    const absl::Status status = registrar->RegisterAll(
        BuiltinTools({&rig_.clock, &rig_.timers, &rig_.executor}, v1::BuiltinConfig()));
    EXPECT_TRUE(status.ok()) << status;
  }

  Answer Call(const std::string& name, const std::string& arguments) {
    Answer answer;
    rig_.Start(Rig::Request(name, arguments), answer);
    rig_.executor.RunAll();
    EXPECT_EQ(answer.times, 1);
    EXPECT_TRUE(answer.status().ok()) << answer.status();
    return answer;
  }

  Rig rig_;
  ToolServer server_;
};

TEST_F(BuiltinTest, AreAllRegisteredWithoutAFinding) {
  const std::vector<ToolMeta> all = server_.handle().DefinitionsSorted();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name(), "calculator");
  EXPECT_EQ(all[4].name(), "sleep");
  for (const ToolMeta& tool : all) EXPECT_EQ(tool.findings_size(), 0) << tool.ShortDebugString();
  EXPECT_EQ(BuiltinToolNames(),
            (std::vector<std::string>{"echo", "counter", "current_time", "calculator", "sleep"}));
}

TEST_F(BuiltinTest, EchoGivesTheTextBack) {
  EXPECT_EQ(Call("echo", R"({"text":"héllo\n"})").text(), "héllo\n");
}

TEST_F(BuiltinTest, CounterKeepsItsStateAndShowsIt) {
  EXPECT_EQ(Call("counter", "").result().structured_json(), R"({"value":1})");
  EXPECT_EQ(Call("counter", R"({"increment":-5})").result().structured_json(), R"({"value":-4})");
  EXPECT_EQ(server_.handle().Get("counter")->second->StateJson(), R"({"value":-4})");
}

TEST_F(BuiltinTest, CurrentTimeKnowsZonesAndRefusesPaths) {
  EXPECT_EQ(Call("current_time", "").result().structured_json(),
            R"({"time":"2023-11-14T22:13:20+00:00","timezone":"UTC","weekday":"Tuesday",)"
            R"("unix_seconds":1700000000})");
  EXPECT_EQ(Call("current_time", R"({"format":"%Y"})").text().substr(0, 15), R"({"time":"2023",)");
  for (const char* bad : {"/etc/localtime", "../zoneinfo/UTC", "Mars/Base", ":UTC", ""}) {
    const Answer answer = Call("current_time", std::string(R"({"timezone":")") + bad + "\"}");
    EXPECT_EQ(answer.result().error().reason(), "TOOL_INVALID_ARGUMENT") << bad;
  }
}

TEST_F(BuiltinTest, SleepTellsHowFarItIsAndEndsInTime) {
  Answer answer;
  rig_.Start(Rig::Request("sleep", R"({"seconds":10,"steps":5})"), answer);
  rig_.timers.Advance(absl::Seconds(9.5));
  EXPECT_FALSE(answer.has());
  rig_.timers.Advance(absl::Seconds(1));
  ASSERT_TRUE(answer.has());
  EXPECT_EQ(answer.result().structured_json(), R"({"slept_seconds":10})");
  EXPECT_EQ(rig_.timers.armed(), 0u);
}

TEST_F(BuiltinTest, SleepHeedsTheStop) {
  Answer answer;
  StopSource stop = rig_.Start(Rig::Request("sleep", R"({"seconds":10})"), answer);
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(answer.times, 1);
  EXPECT_EQ(rig_.timers.armed(), 0u);
}

TEST_F(BuiltinTest, TheConfigurationChoosesAmongThem) {
  v1::BuiltinConfig config;
  config.add_enabled("sleep");
  config.add_enabled("echo");
  const BuiltinParts parts{&rig_.clock, &rig_.timers, &rig_.executor};
  ASSERT_EQ(BuiltinTools(parts, config).size(), 2u);
  EXPECT_EQ(BuiltinTools(parts, config)[0]().first.name(), "echo");
  config.set_disable_all(true);
  EXPECT_TRUE(BuiltinTools(parts, config).empty());
}

struct Sum {
  const char* expression;
  double value;
};

TEST(CalculatorTest, KnowsArithmetic) {
  for (const Sum& sum : std::vector<Sum>{{"1 + 2 * 3", 7},
                                         {"(1+2)*3", 9},
                                         {"-2^2", -4},
                                         {"2^-1", 0.5},
                                         {"2^3^2", 512},
                                         {"7 % 4", 3},
                                         {"-7 % 4", -3},
                                         {"--3", 3},
                                         {"1e3/.5", 2000},
                                         {"sqrt(16) + abs(-1)", 5},
                                         {"MAX(1, 2, 3) - min(4, 5)", -1},
                                         {"log(1000)", 3},
                                         {"log(8, 2)", 3},
                                         {"ln(e)", 1},
                                         {"floor(1.7)+ceil(1.2)+round(2.5)", 6},
                                         {"cos(pi)", -1},
                                         {"exp(0)", 1},
                                         {"1e3e", 0}}) {
    const absl::StatusOr<double> value = Calculate(sum.expression);
    if (absl::string_view(sum.expression) == "1e3e") {
      EXPECT_FALSE(value.ok());
      continue;
    }
    ASSERT_TRUE(value.ok()) << sum.expression << ": " << value.status();
    EXPECT_DOUBLE_EQ(*value, sum.value) << sum.expression;
  }
}

TEST(CalculatorTest, SaysWhereTheFaultIs) {
  struct Case {
    std::string expression;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"1 +", "At position 4: expected a number, but the expression ends."},
           {"", "At position 1: expected a number, but the expression ends."},
           {"2 * (3", "At position 7: expected `)`, but the expression ends."},
           {"1 / 0", "At position 3: division by zero."},
           {"0 ^ -1", "At position 3: division by zero."},
           {"5 % 0", "At position 3: division by zero."},
           {"1 $ 2", "At position 3: expected an operator or the end, got \"$ 2\"."},
           {"2 3", "At position 3: expected an operator or the end, got \"3\"."},
           {"system(1)",
            "At position 1: there is no \"system\"; there are sqrt, abs, min, max, floor, ceil, "
            "round, log, ln, exp, sin, cos, tan, pi and e."},
           {"sqrt(-1)", "At position 1: the result is not a number: outside the domain."},
           {"ln(0)", "At position 1: the result is not a number: outside the domain."},
           {"sqrt(1, 2)", "At position 1: sqrt takes one value."},
           {"1e308*10", "At position 6: the result is too large."},
           {"1e999", "At position 1: the number is out of range."},
           {".", "At position 1: expected a number, got \".\"."}}) {
    const absl::StatusOr<double> value = Calculate(c.expression);
    ASSERT_FALSE(value.ok()) << c.expression;
    EXPECT_EQ(value.status().message(), c.message);
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(CalculatorTest, IsBoundedInLengthAndDepth) {
  EXPECT_FALSE(Calculate(std::string(kMaxExpressionBytes + 1, '1')).ok());
  EXPECT_TRUE(Calculate(std::string(40, '(') + "1" + std::string(40, ')')).ok());
  EXPECT_FALSE(Calculate(std::string(400, '(') + "1" + std::string(400, ')')).ok());
  std::string powers = "1";
  for (int i = 0; i < 400; ++i) powers += "^1";
  EXPECT_FALSE(Calculate(powers).ok());
  EXPECT_TRUE(Calculate(std::string(900, '-') + "1").ok());
}

}  // namespace
}  // namespace toolrack
