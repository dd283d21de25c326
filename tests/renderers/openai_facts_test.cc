// OpenAI's documented rules, one test each, over all public tools at once. The names are those of
// the rules.
#include <algorithm>
#include <set>

#include "renderers/history.h"
#include "renderers/lowering.h"
#include "renderers/provider_json.h"
#include "tests/renderers/real_tools.h"

namespace toolrack {
namespace {

constexpr char kChat[] = "openai_chat";
constexpr char kResponses[] = "openai_responses";
constexpr char kDeferred[] = "openai_responses_deferred";

class OpenAiFacts : public RealToolsTest {
 protected:
  // All tools in Chat Completions' form: its cap of one request is 128.
  static std::vector<JsonText> ChatLists() {
    std::vector<JsonText> lists;
    const auto view = RealTools().View();
    for (size_t from = 0; from < view.size(); from += 128) {
      const auto part = absl::MakeConstSpan(view).subspan(from, 128);
      lists.push_back(*ParseJsonText(
          ContentOf(RenderInitial(*FindRenderer(kChat), {part, {}, 0, {}, nullptr}), "tools")));
    }
    return lists;
  }
  // Every function, flat, whatever the shape around it.
  template <typename Check>
  static void EachFunction(Check check) {
    size_t seen = 0;
    for (const JsonText& list : ChatLists()) {
      for (const JsonText& entry : list.items) {
        check(*entry.Find("function"));
        ++seen;
      }
    }
    EXPECT_EQ(seen, RealTools().View().size());
    for (const char* renderer : {kResponses, kDeferred}) {
      seen = 0;
      for (const JsonText& entry : List(renderer).items) {
        if (entry.StringAt("type") == "namespace") {
          for (const JsonText& inner : entry.Find("tools")->items) {
            check(inner);
            ++seen;
          }
        } else if (entry.StringAt("type") == "function") {
          check(entry);
          ++seen;
        }
      }
      EXPECT_GE(seen, RealTools().View().size());
    }
  }
  static void ExpectKeys(const JsonText& object, const std::vector<std::string>& keys) {
    std::vector<std::string> has;
    for (const JsonMember& member : object.members) {
      if (member.key != "description") has.push_back(member.key);
    }
    EXPECT_EQ(has, keys) << WriteJson(object);
  }
};

TEST_F(OpenAiFacts, B1ChatNestsTheFunctionUnderItsKey) {
  for (const JsonText& list : ChatLists()) {
    for (const JsonText& entry : list.items) {
      ExpectKeys(entry, {"type", "function"});
      EXPECT_EQ(entry.StringAt("type"), "function");
      ExpectKeys(*entry.Find("function"), {"name", "parameters", "strict"});
    }
  }
}

TEST_F(OpenAiFacts, B1ResponsesIsFlat) {
  for (const JsonText& entry : List(kResponses).items) {
    EXPECT_EQ(entry.StringAt("type"), "function");
    ExpectKeys(entry, {"type", "name", "parameters", "strict"});
  }
}

TEST_F(OpenAiFacts, B1StrictIsAlwaysSaid) {
  EachFunction([](const JsonText& function) {
    const JsonText* strict = function.Find("strict");
    ASSERT_NE(strict, nullptr);
    EXPECT_EQ(WriteJson(*strict), "false");
  });
}

TEST_F(OpenAiFacts, B1NameIsOneTo64LettersDigitsUnderscoresHyphens) {
  EachFunction([](const JsonText& function) {
    const absl::string_view name = function.StringAt("name");
    EXPECT_TRUE(!name.empty() && name.size() <= 64) << name;
    EXPECT_EQ(
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
        absl::string_view::npos)
        << name;
  });
}

TEST_F(OpenAiFacts, B1NamesAreUnique) {
  for (const char* renderer : {kResponses, kDeferred}) {
    std::set<std::string> names;
    std::function<void(const JsonText&)> see = [&](const JsonText& list) {
      for (const JsonText& entry : list.items) {
        const JsonText* inner = entry.Find("tools");
        if (inner != nullptr) see(*inner);
        const std::string key = absl::StrCat(entry.StringAt("type"), " ", entry.StringAt("name"));
        EXPECT_TRUE(names.insert(key).second) << key;
      }
    };
    see(List(renderer));
  }
}

TEST_F(OpenAiFacts, B1ParametersAreAnObjectWithPropertiesAlsoWithoutArguments) {
  EachFunction([](const JsonText& function) {
    const JsonText* schema = function.Find("parameters");
    ASSERT_NE(schema, nullptr);
    EXPECT_EQ(schema->StringAt("type"), "object");
    ASSERT_NE(schema->Find("properties"), nullptr) << function.StringAt("name");
    EXPECT_TRUE(schema->Find("properties")->is_object());
  });
}

TEST_F(OpenAiFacts, B1NoSchemaKeyAndEveryPropertyIsASchema) {
  EachFunction([](const JsonText& function) {
    EverySchema(*function.Find("parameters"),
                [&](const JsonText& schema, const std::string& at, size_t) {
                  EXPECT_TRUE(schema.is_object() || schema.kind == JsonText::Kind::kBool)
                      << function.StringAt("name") << at;
                  EXPECT_EQ(schema.Find("$schema"), nullptr) << function.StringAt("name") << at;
                });
  });
}

TEST_F(OpenAiFacts, B1NoCombinatorEnumOrNotStandsAtTheRoot) {
  EachFunction([](const JsonText& function) {
    for (const char* key : {"oneOf", "allOf", "anyOf", "enum", "not"}) {
      EXPECT_EQ(function.Find("parameters")->Find(key), nullptr) << function.StringAt("name");
    }
  });
}

TEST_F(OpenAiFacts, B1EveryArrayHasItems) {
  EachFunction([](const JsonText& function) {
    EverySchema(
        *function.Find("parameters"), [&](const JsonText& schema, const std::string& at, size_t) {
          if (schema.StringAt("type") != "array") return;
          const JsonText* items = schema.Find("items");
          EXPECT_TRUE(items != nullptr && items->is_object()) << function.StringAt("name") << at;
        });
  });
}

TEST_F(OpenAiFacts, B1ChatTakesAtMost128ToolsAndTheRestIsSaid) {
  const auto& rendered = Rendered(kChat);
  EXPECT_EQ(List(kChat).items.size(), 128u);
  EXPECT_EQ(rendered.shown_size(), 128);
  size_t said = 0;
  for (const v1::RenderWarning& warning : rendered.warnings()) said += warning.rule() == "left_out";
  EXPECT_EQ(said, RealTools().View().size() - 128);
}

TEST_F(OpenAiFacts, B1NamespacesHaveNameDescriptionAndTools) {
  size_t spaces = 0;
  for (const JsonText& entry : List(kDeferred).items) {
    if (entry.StringAt("type") != "namespace") continue;
    ++spaces;
    EXPECT_FALSE(entry.StringAt("name").empty());
    EXPECT_FALSE(entry.StringAt("description").empty());
    for (const JsonText& inner : entry.Find("tools")->items) {
      EXPECT_EQ(inner.StringAt("type"), "function");
    }
  }
  EXPECT_EQ(spaces, 97u);
}

TEST_F(OpenAiFacts, B1NamespaceNamesAreUniqueAndFit) {
  std::set<absl::string_view> names;
  for (const JsonText& entry : List(kDeferred).items) {
    if (entry.StringAt("type") != "namespace") continue;
    const absl::string_view name = entry.StringAt("name");
    EXPECT_TRUE(names.insert(name).second);
    EXPECT_LE(name.size(), 64u);
    EXPECT_EQ(
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
        absl::string_view::npos)
        << name;
  }
}

TEST_F(OpenAiFacts, B1CallsAndOutputsPairByCallIdAndKeepNamespaceAndCaller) {
  v1::Turn calls, results;
  calls.set_role("assistant");
  results.set_role("tool");
  int number = 0;
  for (const v1::WireName& name : Rendered(kDeferred).wire_names()) {
    v1::OutputCall& call = *calls.add_calls();
    call.set_call_id(absl::StrCat("call_", number++));
    call.set_wire_name(name.wire_name());
    call.set_namespace_(name.namespace_());
    call.set_arguments_json(R"({"n": 1.0})");
    call.set_caller_json(R"({"type":"program","caller_id":"p"})");
    v1::TurnResult& result = *results.add_results();
    *result.mutable_call() = call;
    result.mutable_result()->add_content()->mutable_text()->set_text("ok");
  }
  RenderWarnings warnings;
  const auto messages = RenderHistory(*FindRenderer(kDeferred), {calls, results}, {}, warnings);
  ASSERT_EQ(messages.size(), 2u * static_cast<size_t>(number));
  const auto view = RealTools().View();
  const OfferedTools offered(*FindRenderer(kDeferred), view);
  for (int i = 0; i < number; ++i) {
    const JsonText call = *ParseJsonText(messages[static_cast<size_t>(i)].json());
    const JsonText output = *ParseJsonText(messages[static_cast<size_t>(number + i)].json());
    EXPECT_EQ(call.StringAt("type"), "function_call");
    EXPECT_TRUE(call.Find("arguments")->is_string());
    EXPECT_EQ(output.StringAt("type"), "function_call_output");
    EXPECT_EQ(output.StringAt("call_id"), call.StringAt("call_id"));
    EXPECT_TRUE(output.Find("output")->is_string());
    const auto read =
        ParseProviderJson(offered, absl::StrCat("[", WriteJson(call), "]")).events(0).call();
    EXPECT_EQ(read.name(), view[static_cast<size_t>(i)]->name());
    EXPECT_EQ(read.namespace_(), calls.calls(i).namespace_());
    EXPECT_EQ(read.caller_json(), calls.calls(i).caller_json());
    EXPECT_EQ(read.arguments_json(), R"({"n": 1.0})");
  }
}

// --- B2: the strict subset

class OpenAiStrictFacts : public OpenAiFacts {
 protected:
  // Every schema that was made strict.
  template <typename Check>
  static void EachStrict(Check check) {
    static const auto* kMade = [] {
      auto* made = new std::vector<std::pair<std::string, JsonText>>;
      for (const JsonText& entry : List(kResponses, true).items) {
        if (!entry.Find("strict")->is_true()) continue;
        made->emplace_back(entry.StringAt("name"), *entry.Find("parameters"));
      }
      return made;
    }();
    EXPECT_GT(kMade->size(), RealTools().View().size() / 2);
    for (const auto& [name, schema] : *kMade) {
      SCOPED_TRACE(name);
      check(schema);
    }
  }
  template <typename Check>
  static void EachStrictSchema(Check check) {
    EachStrict([&check](const JsonText& root) { EverySchema(root, check); });
  }
  static bool IsObject(const JsonText& schema) {
    const JsonText* type = schema.Find("type");
    if (type == nullptr) return schema.Find("properties") != nullptr;
    if (type->is_string()) return type->text == "object";
    return std::any_of(type->items.begin(), type->items.end(),
                       [](const JsonText& one) { return one.text == "object"; });
  }
};

TEST_F(OpenAiStrictFacts, B2EveryObjectIsClosed) {
  EachStrictSchema([](const JsonText& schema, const std::string& at, size_t) {
    if (!IsObject(schema)) return;
    const JsonText* more = schema.Find("additionalProperties");
    ASSERT_NE(more, nullptr) << at;
    EXPECT_EQ(WriteJson(*more), "false") << at;
  });
}

TEST_F(OpenAiStrictFacts, B2EveryPropertyIsRequired) {
  EachStrictSchema([](const JsonText& schema, const std::string& at, size_t) {
    const JsonText* properties = schema.Find("properties");
    if (properties == nullptr) return;
    std::set<std::string> required;
    if (const JsonText* list = schema.Find("required")) {
      for (const JsonText& name : list->items) required.insert(name.text);
    }
    for (const JsonMember& member : properties->members) {
      EXPECT_EQ(required.count(member.key), 1u) << at << " " << member.key;
    }
  });
}

TEST_F(OpenAiStrictFacts, B2NoKeywordThatIsRejected) {
  EachStrictSchema([](const JsonText& schema, const std::string& at, size_t) {
    for (const char* key :
         {"allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "oneOf",
          "uniqueItems", "default", "patternProperties", "minLength", "maxLength"}) {
      EXPECT_EQ(schema.Find(key), nullptr) << at << " " << key;
    }
  });
}

TEST_F(OpenAiStrictFacts, B2FormatsAreThoseThatAreKnown) {
  const std::set<std::string> known = {"date-time", "time", "date", "duration", "email",
                                       "hostname",  "ipv4", "ipv6", "uuid"};
  EachStrictSchema([&known](const JsonText& schema, const std::string& at, size_t) {
    const JsonText* format = schema.Find("format");
    if (format == nullptr) return;
    EXPECT_EQ(known.count(format->text), 1u) << at << format->text;
  });
}

TEST_F(OpenAiStrictFacts, B2AReferenceStandsAloneAndIsLocal) {
  EachStrictSchema([](const JsonText& schema, const std::string& at, size_t) {
    const JsonText* ref = schema.Find("$ref");
    if (ref == nullptr) return;
    EXPECT_EQ(ref->text.substr(0, 1), "#") << at;
    for (const JsonMember& member : schema.members) {
      EXPECT_TRUE(member.key == "$ref" || member.key == "$defs" || member.key == "definitions")
          << at << " " << member.key;
    }
  });
}

TEST_F(OpenAiStrictFacts, B2TheRootIsAnObjectWithoutAnyOf) {
  EachStrict([](const JsonText& root) {
    EXPECT_EQ(root.StringAt("type"), "object");
    EXPECT_EQ(root.Find("anyOf"), nullptr);
  });
}

TEST_F(OpenAiStrictFacts, B2EveryPropertyHasAType) {
  EachStrictSchema([](const JsonText& schema, const std::string& at, size_t) {
    const bool typed = schema.Find("type") != nullptr || schema.Find("anyOf") != nullptr ||
                       schema.Find("$ref") != nullptr || schema.Find("enum") != nullptr;
    EXPECT_TRUE(typed) << at;
  });
}

// Properties, characters and enum values of one schema, as the limits count them.
struct Sizes {
  size_t properties = 0, characters = 0, values = 0, longest = 0;
};
Sizes SizesOf(const JsonText& root) {
  Sizes sizes;
  EverySchema(root, [&sizes](const JsonText& schema, const std::string&, size_t) {
    if (const JsonText* properties = schema.Find("properties")) {
      sizes.properties += properties->members.size();
      for (const JsonMember& member : properties->members) sizes.characters += member.key.size();
    }
    for (const char* key : {"$defs", "definitions"}) {
      if (const JsonText* defs = schema.Find(key)) {
        for (const JsonMember& member : defs->members) sizes.characters += member.key.size();
      }
    }
    if (const JsonText* values = schema.Find("enum")) {
      size_t characters = 0;
      for (const JsonText& value : values->items) characters += value.text.size();
      sizes.values += values->items.size();
      sizes.characters += characters;
      if (values->items.size() > 250) sizes.longest = std::max(sizes.longest, characters);
    }
    if (const JsonText* value = schema.Find("const")) sizes.characters += value->text.size();
  });
  return sizes;
}

TEST_F(OpenAiStrictFacts, B2TheLimitsOfOneSchemaAreKept) {
  EachStrict([](const JsonText& root) {
    const Sizes sizes = SizesOf(root);
    EXPECT_LE(sizes.properties, 5000u);
    EXPECT_LE(sizes.characters, 120000u);
    EXPECT_LE(sizes.values, 1000u);
    EXPECT_LE(sizes.longest, 15000u);
  });
}

TEST_F(OpenAiStrictFacts, B2AtMostTenLevels) {
  EachStrict([](const JsonText& root) {
    std::function<size_t(const JsonText&)> levels = [&levels](const JsonText& schema) -> size_t {
      size_t most = 0;
      if (const JsonText* properties = schema.Find("properties")) {
        for (const JsonMember& member : properties->members) {
          most = std::max(most, levels(member.value));
        }
      }
      if (const JsonText* items = schema.Find("items")) most = std::max(most, levels(*items));
      if (const JsonText* variants = schema.Find("anyOf")) {
        for (const JsonText& variant : variants->items) most = std::max(most, levels(variant));
      }
      return most + (IsObject(schema) ? 1 : 0);
    };
    EXPECT_LE(levels(root), 10u);
  });
}

TEST_F(OpenAiStrictFacts, B2WhatIsOverALimitIsNotStrict) {
  const auto strict = [](const std::string& schema) {
    JsonText value = *ParseJsonText(schema);
    std::vector<LoweringNote> notes;
    std::string why;
    return MakeStrict(SchemaTarget::kOpenAi, value, notes, why) ? "strict" : why;
  };
  const auto with = [](const std::string& values) {
    return absl::StrCat(R"({"type":"object","properties":{"e":{"type":"string","enum":[)", values,
                        R"(]}},"required":["e"]})");
  };
  const auto enumerated = [](int count, size_t length) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&out, i == 0 ? "" : ",", "\"", i, std::string(length, 'x'), "\"");
    }
    return out;
  };
  EXPECT_EQ(strict(with(enumerated(1000, 1))), "strict");
  EXPECT_EQ(strict(with(enumerated(1001, 1))), "more than 1,000 enum values");
  EXPECT_EQ(strict(with(enumerated(251, 70))),
            "more than 15,000 characters in an enum of more than 250 values");
  EXPECT_EQ(strict(with(enumerated(200, 700))), "more than 120,000 characters of names and values");
  std::string properties;
  for (int i = 0; i < 5001; ++i) {
    absl::StrAppend(&properties, i == 0 ? "" : ",", "\"p", i, R"(":{"type":"string"})");
  }
  EXPECT_EQ(strict(absl::StrCat(R"({"type":"object","properties":{)", properties, "}}")),
            "more than 5,000 properties");
}

// --- B3: tool search

TEST_F(OpenAiFacts, B3DeferredToolsStandInNamespacesWithAClientSearch) {
  size_t deferred = 0, searches = 0;
  for (const JsonText& entry : List(kDeferred).items) {
    if (entry.StringAt("type") == "tool_search") {
      ++searches;
      EXPECT_EQ(entry.StringAt("execution"), "client");
      EXPECT_FALSE(entry.StringAt("description").empty());
      EXPECT_TRUE(entry.Find("parameters")->is_object());
    }
    if (entry.StringAt("type") == "function") {
      EXPECT_EQ(entry.Find("defer_loading"), nullptr);
    }
    if (entry.StringAt("type") != "namespace") continue;
    for (const JsonText& inner : entry.Find("tools")->items) {
      EXPECT_TRUE(inner.Find("defer_loading")->is_true());
      ++deferred;
    }
  }
  EXPECT_EQ(searches, 1u);
  EXPECT_EQ(deferred, RealTools().View().size());
}

TEST_F(OpenAiFacts, B3TheSearchsOutputHasTheDefinitionsDeferred) {
  const auto view = RealTools().View();
  std::vector<std::string> names;
  for (const v1::Tool* tool : view) names.push_back(tool->name());
  const auto loaded =
      RenderToolLoad(*FindRenderer(kDeferred), {view, {}, 0, {}, nullptr}, names, "call_1");
  const JsonText item = *ParseJsonText(loaded.fragments(0).json());
  ExpectKeys(item, {"type", "execution", "call_id", "status", "tools"});
  EXPECT_EQ(item.StringAt("type"), "tool_search_output");
  EXPECT_EQ(item.StringAt("execution"), "client");
  EXPECT_EQ(item.StringAt("status"), "completed");
  size_t found = 0;
  for (const JsonText& space : item.Find("tools")->items) {
    for (const JsonText& inner : space.Find("tools")->items) {
      EXPECT_TRUE(inner.Find("defer_loading")->is_true());
      ++found;
    }
  }
  EXPECT_EQ(found, view.size());
}

TEST_F(OpenAiFacts, B3AdditionalToolsAreADevelopersItemAndOnlyAdd) {
  const auto view = RealTools().View();
  const auto changes =
      RenderChanges(*FindRenderer(kResponses), {view, {}, 0, {}, nullptr}, {"s0__gone"});
  ASSERT_EQ(changes.fragments_size(), 1);
  EXPECT_EQ(changes.fragments(0).placement(), v1::PLACEMENT_MID_CONVERSATION);
  const JsonText item = *ParseJsonText(changes.fragments(0).json());
  ExpectKeys(item, {"type", "role", "tools"});
  EXPECT_EQ(item.StringAt("type"), "additional_tools");
  EXPECT_EQ(item.StringAt("role"), "developer");
  EXPECT_EQ(item.Find("tools")->items.size(), view.size());
  EXPECT_EQ(changes.removed(0), "s0__gone");
}

// --- B4: tool_choice

TEST_F(OpenAiFacts, B4AllowedToolsNameDeclaredToolsAndLeaveThePrefix) {
  v1::RenderOptions options;
  const auto view = RealTools().View();
  for (const v1::Tool* tool : view) options.add_allowed_tools(tool->name());
  for (const char* renderer : {kResponses, kDeferred}) {
    const auto rendered = Render(renderer, RealTools(), options);
    EXPECT_EQ(ContentOf(rendered, "tools"), ContentOf(Rendered(renderer), "tools"));
    const JsonText choice = *ParseJsonText(ContentOf(rendered, "tool_choice"));
    ExpectKeys(choice, {"type", "mode", "tools"});
    EXPECT_EQ(choice.StringAt("type"), "allowed_tools");
    EXPECT_EQ(choice.StringAt("mode"), "auto");
    EXPECT_EQ(choice.Find("tools")->items.size(), view.size());
    std::set<std::string> wires;
    for (const v1::WireName& name : rendered.wire_names()) wires.insert(name.wire_name());
    for (const JsonText& tool : choice.Find("tools")->items) {
      ExpectKeys(tool, {"type", "name"});
      EXPECT_EQ(tool.StringAt("type"), "function");
      EXPECT_EQ(wires.count(std::string(tool.StringAt("name"))), 1u);
    }
  }
}

}  // namespace
}  // namespace toolrack
