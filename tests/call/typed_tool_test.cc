#include "registry/typed_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "absl/strings/ascii.h"
#include "registry/base/json.h"
#include "registry/tool_server.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

enum class Unit { kCelsius, kFahrenheit };
inline auto DescribeEnum(Unit) {
  return EnumNames<Unit>{{"celsius", Unit::kCelsius}, {"fahrenheit", Unit::kFahrenheit}};
}

struct Place {
  double lat = 0, lon = 0;
  static auto Describe() {
    return Fields(Field("lat", &Place::lat, "").Min(-90).Max(90), Field("lon", &Place::lon, ""));
  }
};

struct Args {
  std::string zulu;
  bool flag = false;
  int8_t tiny = 0;
  int64_t wide = 0;
  uint64_t huge = 0;
  double ratio = 0;
  std::optional<int> maybe;
  std::vector<std::string> list;
  std::map<std::string, int> table;
  Place place;
  Unit unit = Unit::kCelsius;
  std::variant<int, std::string, Place> choice;
  std::vector<std::optional<Place>> places;

  static auto Describe() {
    return Fields(
        Field("zulu", &Args::zulu, "Says \"hi\"").MinLength(1).MaxLength(5),
        Field("flag", &Args::flag, "").Default(true), Field("tiny", &Args::tiny, "").Default(-3),
        Field("wide", &Args::wide, "").Default(0), Field("huge", &Args::huge, "").Default(0),
        Field("ratio", &Args::ratio, "").Min(0.5).Max(1).Default(0.75),
        Field("maybe", &Args::maybe, "").Min(1).Max(9),
        Field("list", &Args::list, "").MinItems(1).MaxItems(2).Default({"x"}),
        Field("table", &Args::table, "").Max(7).Default({}),
        Field("place", &Args::place, "Where").Default({}),
        Field("unit", &Args::unit, "").Default(Unit::kFahrenheit),
        Field("choice", &Args::choice, "Which").Default(5),
        Field("places", &Args::places, "").Default({}));
  }
};

// What each call sees, by way of a real server: schema, validation, decoding.
class TypedToolTest : public testing::Test {
 protected:
  TypedToolTest() : registrar_(*server_.TakeRegistrar()) {}

  absl::StatusOr<v1::ToolResult> Call(const std::string& name, const std::string& arguments) {
    std::optional<absl::StatusOr<v1::ToolResult>> out;
    server_.handle().Call(name, arguments,
                          [&out](absl::StatusOr<v1::ToolResult> value) { out = std::move(value); });
    if (!out.has_value()) return absl::UnknownError("no answer");
    return *out;
  }
  void Add(ToolFactory factory) {
    const absl::Status status = registrar_.Register(std::move(factory));
    ASSERT_TRUE(status.ok()) << status;
  }
  std::string Text(const std::string& name, const std::string& arguments) {
    const auto result = Call(name, arguments);
    if (!result.ok()) return result.status().ToString();
    return result->content_size() == 0 ? "" : result->content(0).text().text();
  }

  ToolServer server_;
  ToolRegistrar registrar_;
};

TEST_F(TypedToolTest, WritesTheSchemaInTheOrderOfDeclaration) {
  const ToolMeta meta = MakeTool(ToolSpec("all"), [](const Args&) {})().first;
  EXPECT_EQ(
      meta.input_schema(),
      R"({"type":"object","properties":{)"
      R"("zulu":{"type":"string","description":"Says \"hi\"","minLength":1,"maxLength":5},)"
      R"("flag":{"type":"boolean","default":true},)"
      R"("tiny":{"type":"integer","minimum":-128,"maximum":127,"default":-3},)"
      R"("wide":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807,)"
      R"("default":0},)"
      R"("huge":{"type":"integer","minimum":0,"maximum":18446744073709551615,"default":0},)"
      R"("ratio":{"type":"number","minimum":0.5,"maximum":1,"default":0.75},)"
      R"("maybe":{"type":"integer","minimum":1,"maximum":9},)"
      R"("list":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2,)"
      R"("default":["x"]},)"
      R"("table":{"type":"object","additionalProperties":{"type":"integer",)"
      R"("minimum":-2147483648,"maximum":7},"default":{}},)"
      R"("place":{"type":"object","description":"Where","properties":{)"
      R"("lat":{"type":"number","minimum":-90,"maximum":90},"lon":{"type":"number"}},)"
      R"("required":["lat","lon"],"additionalProperties":false,"default":{"lat":0,"lon":0}},)"
      R"("unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"fahrenheit"},)"
      R"("choice":{"description":"Which","anyOf":[)"
      R"({"type":"integer","minimum":-2147483648,"maximum":2147483647},{"type":"string"},)"
      R"({"type":"object","properties":{"lat":{"type":"number","minimum":-90,"maximum":90},)"
      R"("lon":{"type":"number"}},"required":["lat","lon"],"additionalProperties":false}],)"
      R"("default":5},)"
      R"("places":{"type":"array","items":{"type":"object","properties":{)"
      R"("lat":{"type":"number","minimum":-90,"maximum":90},"lon":{"type":"number"}},)"
      R"("required":["lat","lon"],"additionalProperties":false},"default":[]}},)"
      R"("required":["zulu"],"additionalProperties":false})");
  EXPECT_EQ(meta.description(), "Tool: all");
  EXPECT_EQ(MakeTool(ToolSpec("all"), [](const Args&) {})().first.input_schema(),
            meta.input_schema());
}

TEST_F(TypedToolTest, DecodesEveryType) {
  Args seen;
  Add(MakeTool(ToolSpec("all"), [&seen](const Args& args) { seen = args; }));
  ASSERT_TRUE(Call("all", R"({"zulu":"漢字","flag":false,"tiny":-128,
      "wide":-9223372036854775808,"huge":18446744073709551615,"ratio":1,"maybe":9.0,
      "list":["a","b"],"table":{"k":7},"place":{"lat":1,"lon":2.5},"unit":"celsius",
      "choice":{"lat":3,"lon":4},"places":[{"lat":0,"lon":0}]})")
                  .ok());
  EXPECT_EQ(seen.zulu, "漢字");
  EXPECT_FALSE(seen.flag);
  EXPECT_EQ(seen.tiny, -128);
  EXPECT_EQ(seen.wide, INT64_MIN);
  EXPECT_EQ(seen.huge, UINT64_MAX);
  EXPECT_EQ(seen.ratio, 1);
  EXPECT_EQ(seen.maybe, 9);
  EXPECT_EQ(seen.list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(seen.table.at("k"), 7);
  EXPECT_EQ(seen.place.lon, 2.5);
  EXPECT_EQ(seen.unit, Unit::kCelsius);
  EXPECT_EQ(std::get<Place>(seen.choice).lat, 3);
  ASSERT_EQ(seen.places.size(), 1u);

  ASSERT_TRUE(Call("all", R"({"zulu":"x"})").ok());
  EXPECT_TRUE(seen.flag);
  EXPECT_EQ(seen.tiny, -3);
  EXPECT_EQ(seen.ratio, 0.75);
  EXPECT_FALSE(seen.maybe.has_value());
  EXPECT_EQ(seen.list, std::vector<std::string>{"x"});
  EXPECT_EQ(seen.unit, Unit::kFahrenheit);
  EXPECT_EQ(std::get<int>(seen.choice), 5);
}

// The schema and the decoding say the same about any arguments: after validation, decoding does not
// fail, and what validation refuses, decoding refuses.
TEST_F(TypedToolTest, SchemaAndDecodingAgree) {
  const std::string schema = MakeTool(ToolSpec("all"), [](const Args&) {})().first.input_schema();
  const Schema::Compiled compiled = Schema::Compile(schema, {}, true);
  ASSERT_NE(compiled.schema, nullptr) << compiled.findings[0].message();
  const std::vector<std::string> values = {"null",
                                           "true",
                                           "1",
                                           "-129",
                                           "1.0",
                                           "1.5",
                                           "127",
                                           "128",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "1e300",
                                           "0.5",
                                           "\"\"",
                                           "\"celsius\"",
                                           "\"toolong\"",
                                           "\"漢字漢字漢\"",
                                           "[]",
                                           "[\"a\"]",
                                           "[\"a\",\"b\",\"c\"]",
                                           "[1]",
                                           "{}",
                                           R"({"k":7})",
                                           R"({"k":8})",
                                           R"({"lat":1,"lon":2})",
                                           R"({"lat":91,"lon":2})",
                                           R"({"lat":1,"lon":2,"x":3})",
                                           R"([{"lat":1,"lon":2}])",
                                           R"([{"lat":1}])"};
  const char* const names[] = {"zulu", "flag",  "tiny",  "wide", "huge",   "ratio",  "maybe",
                               "list", "table", "place", "unit", "choice", "places", "unknown"};
  int accepted = 0, refused = 0;
  for (const char* name : names) {
    for (const std::string& value : values) {
      std::string text = std::string("{\"zulu\":\"a\",\"") + name + "\":" + value + "}";
      if (name == std::string("zulu")) text = "{\"zulu\":" + value + "}";
      const absl::StatusOr<Json> json = ParseJsonOrStatus(text);
      ASSERT_TRUE(json.ok());
      Args args;
      const Decoded fault = JsonType<Args>::Decode(JsonView(&*json), {}, args);
      EXPECT_EQ(compiled.schema->Accepts(*json), fault == nullptr)
          << text << (fault == nullptr ? "" : fault->pointer + ": " + fault->message);
      ++(fault == nullptr ? accepted : refused);
    }
  }
  EXPECT_GT(accepted, 40);
  EXPECT_GT(refused, 200);
}

TEST_F(TypedToolTest, SaysInPlainWordsWhatCouldNotBeRead) {
  const auto fault_of = [](const std::string& text) {
    const Json json = Json::parse(text);
    Args args;
    const Decoded fault = JsonType<Args>::Decode(JsonView(&json), {}, args);
    return fault == nullptr ? "" : fault->pointer + ": " + fault->message;
  };
  EXPECT_EQ(fault_of("{}"), "/zulu: it is missing");
  EXPECT_EQ(fault_of(R"({"zulu":5})"), "/zulu: expected a string, got an integer");
  EXPECT_EQ(fault_of(R"({"zulu":"a","tiny":300})"), "/tiny: expected an integer from -128 to 127");
  EXPECT_EQ(fault_of(R"({"zulu":"a","list":["x",1]})"),
            "/list/1: expected a string, got an integer");
  EXPECT_EQ(fault_of(R"({"zulu":"a","a/b~c":1})"), "/a~1b~0c: there is no such member");
  EXPECT_EQ(fault_of(R"({"zulu":"a","unit":"kelvin"})"),
            "/unit: expected one of: celsius, fahrenheit");
  EXPECT_THAT(fault_of(R"({"zulu":"a","choice":[]})"), HasSubstr("none of the alternatives fits"));
}

struct Reply {
  std::string name;
  std::optional<int> count;
  std::vector<bool> flags;
  static auto Describe() {
    return Fields(Field("name", &Reply::name, ""), Field("count", &Reply::count, ""),
                  Field("flags", &Reply::flags, ""));
  }
};

TEST_F(TypedToolTest, TurnsWhatAFunctionReturnsIntoAResult) {
  Add(MakeTool(ToolSpec("nothing"), [] {}));
  Add(MakeTool(ToolSpec("text"), [] { return std::string("plain \"text\""); }));
  Add(MakeTool(ToolSpec("literal"), [] { return "literal"; }));
  Add(MakeTool(ToolSpec("number"), [] { return 2.5; }));
  Add(MakeTool(ToolSpec("whole"), [] { return int64_t{9007199254740993}; }));
  Add(MakeTool(ToolSpec("yes"), [] { return true; }));
  Add(MakeTool(ToolSpec("object"), [] { return Reply{"n", std::nullopt, {true, false}}; }));
  Add(MakeTool(ToolSpec("maybe"), []() -> absl::StatusOr<std::vector<int>> {
    return std::vector<int>{1, 2};
  }));
  Add(MakeTool(ToolSpec("status"), [] { return absl::OkStatus(); }));
  Add(MakeTool(ToolSpec("raw_result"), [] {
    v1::ToolResult result = TextResult("own");
    result.set_summary("short");
    return result;
  }));
  EXPECT_EQ(Call("nothing", "")->content_size(), 0);
  EXPECT_EQ(Text("text", ""), "plain \"text\"");
  EXPECT_EQ(Call("text", "")->structured_json(), "");
  EXPECT_EQ(Text("literal", ""), "literal");
  EXPECT_EQ(Text("number", ""), "2.5");
  EXPECT_EQ(Call("number", "")->structured_json(), "2.5");
  EXPECT_EQ(Text("whole", ""), "9007199254740993");
  EXPECT_EQ(Text("yes", ""), "true");
  EXPECT_EQ(Call("object", "")->structured_json(), R"({"name":"n","flags":[true,false]})");
  EXPECT_EQ(Text("object", ""), R"({"name":"n","flags":[true,false]})");
  EXPECT_EQ(Text("maybe", ""), "[1,2]");
  EXPECT_EQ(Call("status", "")->content_size(), 0);
  EXPECT_EQ(Call("raw_result", "")->summary(), "short");
}

TEST_F(TypedToolTest, ReportsErrorsByTheirKind) {
  Add(MakeTool(ToolSpec("fails"), [](const Place& place) -> absl::StatusOr<double> {
    if (place.lat == 1) return absl::InvalidArgumentError("lat must not be 1");
    if (place.lat == 2) return absl::UnavailableError("no network");
    if (place.lat == 3) return absl::InternalError("assertion");
    if (place.lat == 4) throw std::runtime_error("thrown");
    if (place.lat == 5) throw 5;
    return place.lat;
  }));
  const auto reason = [this](const std::string& lat) {
    const auto result = Call("fails", R"({"lon":0,"lat":)" + lat + "}");
    return result->error().reason() + "|" + result->content(0).text().text();
  };
  EXPECT_EQ(reason("0"), "|0");
  EXPECT_EQ(reason("1"), "TOOL_INVALID_ARGUMENT|lat must not be 1");
  EXPECT_EQ(reason("2"), "EXECUTION_FAILED|no network");
  EXPECT_EQ(reason("3"), "TOOL_INTERNAL|assertion");
  EXPECT_EQ(reason("4"), "TOOL_INTERNAL|The tool ran into a fault of its own: thrown");
  EXPECT_THAT(reason("5"), HasSubstr("TOOL_INTERNAL|"));
}

TEST_F(TypedToolTest, PlainTextToolsTakeTextOrJson) {
  Add(MakeTool(ToolSpec("upper", "Upper case."),
               [](absl::string_view text) { return absl::AsciiStrToUpper(text); }));
  Add(MakeTool(ToolSpec("same"), [](std::string text) { return text; }));
  const ToolMeta meta = server_.handle().Get("upper")->first;
  EXPECT_TRUE(meta.raw_input());
  EXPECT_THAT(meta.input_schema(), HasSubstr("\"input\""));
  EXPECT_EQ(Text("upper", R"({"input":"abc"})"), "ABC");
  EXPECT_EQ(Text("upper", R"("abc")"), "ABC");
  EXPECT_EQ(Text("same", R"("x")"), "x");
  EXPECT_EQ(ReasonOf(Call("upper", "{}").status()), v1::ERROR_REASON_ARGUMENTS_INVALID);
}

TEST_F(TypedToolTest, FunctionsSeeTheirCall) {
  Add(MakeTool(ToolSpec("context"), [](const Place& place, const CallContext& context) {
    return absl::StrCat(place.lat, " ", context.principal);
  }));
  Add(MakeTool(ToolSpec("call"), [](ToolCall& call) { return call.arguments_json; }));
  EXPECT_EQ(Text("context", R"({"lat":1,"lon":2})"), "1 toolrack");
  EXPECT_EQ(Text("call", "{ }"), "{ }");
  EXPECT_EQ(server_.handle().Get("call")->first.input_schema(),
            R"({"type":"object","properties":{},"additionalProperties":false})");
  EXPECT_EQ(ReasonOf(Call("call", R"({"x":1})").status()), v1::ERROR_REASON_ARGUMENTS_INVALID);
}

TEST_F(TypedToolTest, MayAnswerLaterFromAnotherThread) {
  std::vector<ToolReply<std::string>> replies;
  Add(MakeTool(ToolSpec("later"), [&replies](Place place, ToolReply<std::string> reply) {
    if (place.lat == 0) replies.push_back(reply);
  }));
  std::optional<absl::StatusOr<v1::ToolResult>> out;
  int times = 0;
  const auto done = [&](absl::StatusOr<v1::ToolResult> value) {
    out = std::move(value);
    ++times;
  };
  server_.handle().Call("later", R"({"lat":0,"lon":0})", done);
  EXPECT_FALSE(out.has_value());
  std::thread([&replies] { replies[0](std::string("now")); }).join();
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ((*out)->content(0).text().text(), "now");
  replies[0](std::string("again"));
  EXPECT_EQ(times, 1);
  // A reply that is dropped ends the call too.
  server_.handle().Call("later", R"({"lat":1,"lon":0})", done);
  EXPECT_EQ(times, 2);
  EXPECT_EQ((*out)->error().reason(), "TOOL_INTERNAL");
}

class Account {
 public:
  int64_t Deposit(const Place& place) { return total_ += static_cast<int64_t>(place.lat); }
  int64_t Total() const { return total_; }
  std::string StateJson() const { return absl::StrCat("{\"total\":", total_.load(), "}"); }

 private:
  std::atomic<int64_t> total_{0};
};

TEST_F(TypedToolTest, MethodsShareAnObjectOrHaveOneEach) {
  auto account = std::make_shared<Account>();
  Add(MakeTool(ToolSpec("deposit"), account, &Account::Deposit));
  Add(MakeTool(ToolSpec("total"), account, &Account::Total));
  const ToolFactory own = MakeTool<Account>(ToolSpec("own"), &Account::Deposit);
  Add(own);
  EXPECT_EQ(Text("deposit", R"({"lat":5,"lon":0})"), "5");
  EXPECT_EQ(Text("total", ""), "5");
  EXPECT_EQ(Text("own", R"({"lat":2,"lon":0})"), "2");
  EXPECT_EQ(server_.handle().Get("total")->second->StateJson(), R"({"total":5})");
  EXPECT_EQ(own().second->StateJson(), R"({"total":0})");
}

TEST_F(TypedToolTest, BlockingFunctionsRunOnTheExecutor) {
  ManualExecutor executor(1);
  Add(MakeBlockingTool(&executor, ToolSpec("blocks"), [](const Place& place) {
    if (place.lat == 9) throw std::runtime_error("thrown on the pool");
    return place.lat;
  }));
  std::optional<absl::StatusOr<v1::ToolResult>> first, second;
  server_.handle().Call("blocks", R"({"lat":9,"lon":0})", [&first](auto value) { first = value; });
  EXPECT_FALSE(first.has_value());
  server_.handle().Call("blocks", R"({"lat":1,"lon":0})",
                        [&second](auto value) { second = value; });
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(ReasonOf(second->status()), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_TRUE(SurelyNotExecuted(second->status()));
  executor.RunAll();
  EXPECT_EQ((*first)->error().reason(), "TOOL_INTERNAL");
}

TEST_F(TypedToolTest, TheSpecSaysTheRest) {
  const ToolMeta meta = MakeTool(ToolSpec("t", "Does t.")
                                     .Title("T")
                                     .Category("file")
                                     .Category("my-own")
                                     .ReadOnly()
                                     .Idempotent()
                                     .Destructive(false)
                                     .Timeout(absl::Milliseconds(1500))
                                     .MaxConcurrency(4)
                                     .Example("do t")
                                     .AlwaysLoad()
                                     .PerSession(),
                                 [] {})()
                            .first;
  EXPECT_EQ(meta.title(), "T");
  EXPECT_EQ(meta.categories(1), "my-own");
  EXPECT_TRUE(meta.annotations().read_only());
  EXPECT_FALSE(meta.annotations().destructive());
  EXPECT_TRUE(meta.annotations().has_destructive());
  EXPECT_FALSE(meta.annotations().has_open_world());
  EXPECT_EQ(meta.timeout().seconds(), 1);
  EXPECT_EQ(meta.timeout().nanos(), 500'000'000);
  EXPECT_EQ(meta.max_concurrency(), 4u);
  EXPECT_TRUE(meta.always_load());
  EXPECT_EQ(meta.scope(), v1::TOOL_SCOPE_SESSION);
}

struct Tree {
  std::vector<Tree> children;
  static auto Describe() { return Fields(Field("children", &Tree::children, "")); }
};

TEST_F(TypedToolTest, ATypeThatContainsItselfIsRefusedByName) {
  const absl::Status status = registrar_.Register(MakeTool(ToolSpec("tree"), [](const Tree&) {}));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_DEFINITION_INVALID);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tree"));
}

TEST(TypedJsonTest, NumbersReadBackAsTheyWere) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    std::string text;
    AppendJson(value, text);
    if (!std::isfinite(value)) {
      EXPECT_EQ(text, "null");
      continue;
    }
    const absl::StatusOr<Json> back = ParseJsonOrStatus(text);
    ASSERT_TRUE(back.ok()) << text;
    ASSERT_EQ(back->get<double>(), value) << text;
  }
}

}  // namespace
}  // namespace toolrack
