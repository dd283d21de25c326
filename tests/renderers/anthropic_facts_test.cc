// The Messages API's documented rules, one test each, over all public tools at once. The names are
// those of the rules.
#include <set>

#include "renderers/history.h"
#include "renderers/lowering.h"
#include "renderers/provider_json.h"
#include "tests/renderers/real_tools.h"

namespace toolrack {
namespace {

constexpr char kUpfront[] = "anthropic";
constexpr char kDeferred[] = "anthropic_deferred";

class AnthropicFacts : public RealToolsTest {
 protected:
  // Of both, for every entry.
  template <typename Check>
  static void EachEntry(Check check) {
    for (const char* renderer : {kUpfront, kDeferred}) {
      ASSERT_GE(List(renderer).items.size(), RealTools().View().size());
      for (const JsonText& entry : List(renderer).items) check(entry);
    }
  }
  static bool IsDeferred(const JsonText& entry) {
    const JsonText* deferred = entry.Find("defer_loading");
    return deferred != nullptr && deferred->is_true();
  }
};

TEST_F(AnthropicFacts, A1NameIsOneTo64LettersDigitsUnderscoresHyphens) {
  EachEntry([](const JsonText& entry) {
    const absl::string_view name = entry.StringAt("name");
    EXPECT_TRUE(!name.empty() && name.size() <= 64) << name;
    EXPECT_EQ(
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
        absl::string_view::npos)
        << name;
  });
}

TEST_F(AnthropicFacts, A1TypeIsAbsentOrCustom) {
  EachEntry([](const JsonText& entry) {
    EXPECT_TRUE(entry.Find("type") == nullptr || entry.StringAt("type") == "custom");
  });
}

TEST_F(AnthropicFacts, A1DescriptionIsTheToolsOwnText) {
  std::map<std::string, std::string> wires;
  for (const v1::WireName& name : Rendered(kUpfront).wire_names()) {
    wires[name.name()] = name.wire_name();
  }
  std::map<std::string, std::string> told;
  for (const JsonText& entry : List(kUpfront).items) {
    told[std::string(entry.StringAt("name"))] = std::string(entry.StringAt("description"));
  }
  for (const v1::Tool* tool : RealTools().View()) {
    EXPECT_EQ(told[wires[tool->name()]], tool->description());
  }
}

TEST_F(AnthropicFacts, A1InputSchemaHasAnObjectRoot) {
  EachEntry([](const JsonText& entry) {
    const JsonText* schema = entry.Find("input_schema");
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->StringAt("type"), "object") << entry.StringAt("name");
  });
}

TEST_F(AnthropicFacts, A1NoCombinatorStandsAtTheRoot) {
  EachEntry([](const JsonText& entry) {
    for (const char* key : {"oneOf", "allOf", "anyOf"}) {
      EXPECT_EQ(entry.Find("input_schema")->Find(key), nullptr) << entry.StringAt("name");
    }
  });
}

TEST_F(AnthropicFacts, A1TopLevelPropertyNamesAreOneTo64OfTheirLetters) {
  EachEntry([](const JsonText& entry) {
    const JsonText* properties = entry.Find("input_schema")->Find("properties");
    if (properties == nullptr) return;
    for (const JsonMember& member : properties->members) {
      EXPECT_TRUE(!member.key.empty() && member.key.size() <= 64) << member.key;
      EXPECT_EQ(member.key.find_first_not_of(
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"),
                std::string::npos)
          << member.key;
    }
  });
}

TEST_F(AnthropicFacts, A1NamesAreUnique) {
  for (const char* renderer : {kUpfront, kDeferred}) {
    std::set<absl::string_view> names;
    for (const JsonText& entry : List(renderer).items) {
      EXPECT_TRUE(names.insert(entry.StringAt("name")).second) << entry.StringAt("name");
    }
  }
}

TEST_F(AnthropicFacts, A1DeferLoadingAndStrictAreBooleans) {
  for (const bool strict : {false, true}) {
    for (const JsonText& entry : List(kDeferred, strict).items) {
      for (const char* key : {"defer_loading", "strict"}) {
        const JsonText* value = entry.Find(key);
        EXPECT_TRUE(value == nullptr || value->kind == JsonText::Kind::kBool);
      }
    }
  }
}

TEST_F(AnthropicFacts, A1EntriesHaveNoUnknownField) {
  const std::set<std::string> known = {"name",   "description",   "input_schema", "type",
                                       "strict", "defer_loading", "cache_control"};
  EachEntry([&known](const JsonText& entry) {
    for (const JsonMember& member : entry.members) EXPECT_EQ(known.count(member.key), 1u);
  });
}

TEST_F(AnthropicFacts, A1CacheControlIsEphemeralAndNeverOnADeferredTool) {
  for (const char* renderer : {kUpfront, kDeferred}) {
    size_t breakpoints = 0;
    for (const JsonText& entry : List(renderer).items) {
      const JsonText* control = entry.Find("cache_control");
      if (control == nullptr) continue;
      ++breakpoints;
      EXPECT_EQ(WriteJson(*control), R"({"type":"ephemeral"})");
      EXPECT_FALSE(IsDeferred(entry));
    }
    EXPECT_EQ(breakpoints, 1u);  // options.max_breakpoints
  }
}

TEST_F(AnthropicFacts, A2AtLeastOneToolIsNotDeferred) {
  size_t deferred = 0, shown = 0;
  for (const JsonText& entry : List(kDeferred).items) ++(IsDeferred(entry) ? deferred : shown);
  EXPECT_GE(shown, 1u);
  EXPECT_EQ(deferred, RealTools().View().size());
  EXPECT_EQ(Rendered(kDeferred).strategy().discovery(), v1::DISCOVERY_META_TOOL);
}

TEST_F(AnthropicFacts, A2AtMostTenThousandToolsAreDeferred) {
  Tools many;
  for (int i = 0; i < 10050; ++i) {
    many.Add(absl::StrCat("t", i), "", R"({"type":"object","properties":{}})");
  }
  const auto rendered = Render(kDeferred, many);
  size_t deferred = 0;
  const JsonText tools = *ParseJsonText(ContentOf(rendered, "tools"));
  for (const JsonText& entry : tools.items) {
    deferred += IsDeferred(entry) ? 1 : 0;
  }
  EXPECT_EQ(deferred, 10000u);
  size_t said = 0;
  for (const v1::RenderWarning& warning : rendered.warnings()) said += warning.rule() == "left_out";
  EXPECT_EQ(said, 50u);
  EXPECT_EQ(rendered.deferred_size(), 10000);
}

TEST_F(AnthropicFacts, A2NoServerToolIsDeclaredBesideTheClientsSearch) {
  for (const JsonText& entry : List(kDeferred).items) {
    EXPECT_EQ(entry.StringAt("type").find("tool_search_tool"), absl::string_view::npos);
  }
}

TEST_F(AnthropicFacts, A3ReferencesNameToolsThatTheRequestDefines) {
  std::set<std::string> defined;
  for (const JsonText& entry : List(kDeferred).items) {
    defined.insert(std::string(entry.StringAt("name")));
  }
  std::vector<std::string> names;
  const auto view = RealTools().View();
  for (const v1::Tool* tool : view) names.push_back(tool->name());
  const auto loaded =
      RenderToolLoad(*FindRenderer(kDeferred), {view, {}, 0, {}, nullptr}, names, "toolu_1");
  const JsonText block = *ParseJsonText(loaded.fragments(0).json());
  EXPECT_EQ(block.StringAt("type"), "tool_result");
  EXPECT_EQ(block.StringAt("tool_use_id"), "toolu_1");
  ASSERT_EQ(block.Find("content")->items.size(), names.size());
  for (const JsonText& reference : block.Find("content")->items) {
    EXPECT_EQ(reference.members.size(), 2u);
    EXPECT_EQ(reference.StringAt("type"), "tool_reference");
    EXPECT_EQ(defined.count(std::string(reference.StringAt("tool_name"))), 1u);
  }
}

TEST_F(AnthropicFacts, A4ChangesStandInASystemMessageByReferenceAndResolve) {
  const auto view = RealTools().View();
  const auto changes = RenderChanges(*FindRenderer(kUpfront), {view, {}, 0, {}, nullptr},
                                     {view[0]->name(), "s0__gone"});
  ASSERT_EQ(changes.fragments_size(), 2);
  std::set<std::string> defined = {"s0__gone"};
  const JsonText appended = *ParseJsonText(changes.fragments(0).json());
  for (const JsonText& entry : appended.items) {
    // Hidden until it is added.
    EXPECT_TRUE(IsDeferred(entry));
    defined.insert(std::string(entry.StringAt("name")));
  }
  EXPECT_EQ(changes.fragments(1).placement(), v1::PLACEMENT_MID_CONVERSATION);
  const JsonText message = *ParseJsonText(changes.fragments(1).json());
  EXPECT_EQ(message.StringAt("role"), "system");
  size_t additions = 0, removals = 0;
  for (const JsonText& block : message.Find("content")->items) {
    ++(block.StringAt("type") == "tool_addition" ? additions : removals);
    const JsonText& tool = *block.Find("tool");
    EXPECT_EQ(tool.StringAt("type"), "tool_reference");
    EXPECT_EQ(tool.members.size(), 2u);
    EXPECT_EQ(defined.count(std::string(tool.StringAt("name"))), 1u) << tool.StringAt("name");
  }
  EXPECT_EQ(additions, view.size() - 1);
  EXPECT_EQ(removals, 1u);
}

TEST_F(AnthropicFacts, A4NoWordsOfAToolStandInASystemMessage) {
  const auto view = RealTools().View();
  for (const char* renderer : {kUpfront, kDeferred}) {
    const auto changes =
        RenderChanges(*FindRenderer(renderer), {view, {}, 0, {}, nullptr}, {"s0__gone"});
    for (const v1::Fragment& fragment : changes.fragments()) {
      if (fragment.role() != "system") continue;
      for (const v1::Tool* tool : view) {
        if (tool->description().size() < 20) continue;
        std::string quoted;
        AppendJsonEscaped(tool->description(), quoted);
        EXPECT_EQ(fragment.json().find(quoted), std::string::npos) << tool->name();
      }
    }
  }
}

TEST_F(AnthropicFacts, A5ToolChoiceIsTheCallers) {
  v1::RenderOptions options;
  options.add_allowed_tools(RealTools().View()[0]->name());
  for (const char* renderer : {kUpfront, kDeferred}) {
    const auto rendered = Render(renderer, RealTools(), options);
    EXPECT_EQ(ContentOf(rendered, "tool_choice"), "");
    EXPECT_EQ(ContentOf(rendered, "tools"), ContentOf(Rendered(renderer), "tools"));
  }
}

// One turn with a call of every tool, answered in the next.
std::vector<v1::Turn> AllCalled() {
  v1::Turn user, calls, results;
  user.set_role("user");
  user.set_text("Do all of it.");
  calls.set_role("assistant");
  results.set_role("tool");
  results.set_text("And?");
  int number = 0;
  for (const v1::Tool* tool : RealTools().View()) {
    v1::OutputCall& call = *calls.add_calls();
    call.set_call_id(absl::StrCat("toolu_", number++));
    call.set_name(tool->name());
    call.set_arguments_json(R"({"a":1})");
    if (number % 3 == 0)
      call.set_caller_json(R"({"type":"code_execution_20260120","tool_id":"s"})");
    v1::TurnResult& result = *results.add_results();
    *result.mutable_call() = call;
    result.mutable_result()->add_content()->mutable_text()->set_text("ok");
    result.mutable_result()->set_is_error(number % 5 == 0);
  }
  return {user, calls, results};
}

TEST_F(AnthropicFacts, A6AllResultsStandInTheNextUserMessageBeforeAnyText) {
  RenderWarnings warnings;
  const auto messages = RenderHistory(*FindRenderer(kUpfront), AllCalled(), {}, warnings);
  ASSERT_EQ(messages.size(), 3u);
  std::vector<std::string> called, answered;
  const JsonText asked = *ParseJsonText(messages[1].json());
  for (const JsonText& block : asked.Find("content")->items) {
    ASSERT_EQ(block.StringAt("type"), "tool_use");
    EXPECT_TRUE(block.Find("input")->is_object());
    called.emplace_back(block.StringAt("id"));
  }
  const JsonText answer = *ParseJsonText(messages[2].json());
  EXPECT_EQ(answer.StringAt("role"), "user");
  bool text = false;
  for (const JsonText& block : answer.Find("content")->items) {
    if (block.StringAt("type") == "text") {
      text = true;
      continue;
    }
    EXPECT_FALSE(text) << "a result behind text";
    ASSERT_EQ(block.StringAt("type"), "tool_result");
    answered.emplace_back(block.StringAt("tool_use_id"));
    const JsonText* error = block.Find("is_error");
    EXPECT_TRUE(error == nullptr || error->kind == JsonText::Kind::kBool);
    EXPECT_TRUE(block.Find("content")->is_string() || block.Find("content")->is_array());
  }
  EXPECT_EQ(called, answered);
  EXPECT_EQ(std::set<std::string>(called.begin(), called.end()).size(), called.size());
}

TEST_F(AnthropicFacts, A6AToolUseIsReadBackAsItWasWritten) {
  RenderWarnings warnings;
  const auto messages = RenderHistory(*FindRenderer(kUpfront), AllCalled(), {}, warnings);
  const auto view = RealTools().View();
  const OfferedTools offered(*FindRenderer(kUpfront), view);
  const auto read = ParseProviderJson(offered, messages[1].json());
  ASSERT_EQ(static_cast<size_t>(read.events_size()), view.size());
  for (size_t i = 0; i < view.size(); ++i) {
    EXPECT_EQ(read.events(static_cast<int>(i)).call().name(), view[i]->name());
  }
}

TEST_F(AnthropicFacts, A7TheCallerMakesTheRoundTrip) {
  RenderWarnings warnings;
  const std::vector<v1::Turn> turns = AllCalled();
  const auto messages = RenderHistory(*FindRenderer(kUpfront), turns, {}, warnings);
  const auto view = RealTools().View();
  const auto read =
      ParseProviderJson(OfferedTools(*FindRenderer(kUpfront), view), messages[1].json());
  for (int i = 0; i < read.events_size(); ++i) {
    EXPECT_EQ(read.events(i).call().caller_json(), turns[1].calls(i).caller_json());
  }
}

// What the strict subset has not, found anywhere in a schema.
std::string OutsideStrict(const JsonText& root) {
  std::string fault;
  EverySchema(root, [&](const JsonText& schema, const std::string& at, size_t) {
    const auto wrong = [&](absl::string_view what) {
      if (fault.empty()) fault = absl::StrCat(what, " at ", at);
    };
    for (const char* key :
         {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
          "maxLength", "maxItems", "uniqueItems", "not", "if", "then", "else", "oneOf",
          "patternProperties", "prefixItems", "dependentRequired", "dependentSchemas"}) {
      if (schema.Find(key) != nullptr) wrong(key);
    }
    if (const JsonText* least = schema.Find("minItems")) {
      if (least->text != "0" && least->text != "1") wrong("minItems");
    }
    if (schema.StringAt("type") == "object") {
      const JsonText* more = schema.Find("additionalProperties");
      if (more == nullptr || WriteJson(*more) != "false") wrong("an open object");
    }
    if (const JsonText* values = schema.Find("enum")) {
      for (const JsonText& value : values->items) {
        if (value.is_array() || value.is_object()) wrong("an enum of more than scalars");
      }
    }
    const std::set<std::string> formats = {"date-time", "time", "date", "duration", "email",
                                           "hostname",  "uri",  "ipv4", "ipv6",     "uuid"};
    if (const JsonText* format = schema.Find("format")) {
      if (formats.count(format->text) == 0) wrong("format");
    }
    if (const absl::string_view ref = schema.StringAt("$ref"); !ref.empty() && ref[0] != '#') {
      wrong("an external $ref");
    }
  });
  return fault;
}

TEST_F(AnthropicFacts, A8WhatIsMadeStrictIsInTheSubset) {
  size_t made = 0;
  for (const v1::Tool* tool : RealTools().View()) {
    const auto schema = ParseJsonText(tool->input_schema());
    if (!schema) continue;
    JsonText lowered = *schema;
    std::vector<LoweringNote> notes;
    std::string why;
    LowerSchema(SchemaTarget::kAnthropic, lowered, notes);
    if (!MakeStrict(SchemaTarget::kAnthropic, lowered, notes, why)) {
      EXPECT_FALSE(why.empty());
      continue;
    }
    ++made;
    EXPECT_EQ(OutsideStrict(lowered), "") << tool->name() << WriteJson(lowered);
  }
  EXPECT_GT(made, RealTools().View().size() / 2);
}

TEST_F(AnthropicFacts, A8ARequestHasAtMost20StrictTools24OptionalAnd16UnionParameters) {
  size_t strict = 0, optional = 0, unions = 0;
  for (const JsonText& entry : List(kUpfront, true).items) {
    if (entry.Find("strict") == nullptr) continue;
    ++strict;
    EverySchema(*entry.Find("input_schema"), [&](const JsonText& schema, const std::string& at,
                                                 size_t) {
      const JsonText* type = schema.Find("type");
      unions +=
          !at.empty() && (schema.Find("anyOf") != nullptr || (type != nullptr && type->is_array()));
      const JsonText* properties = schema.Find("properties");
      const JsonText* required = schema.Find("required");
      if (properties == nullptr) return;
      optional += properties->members.size() - (required == nullptr ? 0 : required->items.size());
    });
  }
  EXPECT_GT(strict, 0u);
  EXPECT_LE(strict, 20u);
  EXPECT_LE(optional, 24u);
  EXPECT_LE(unions, 16u);
}

}  // namespace
}  // namespace toolrack
