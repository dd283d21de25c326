// Whatever renderer spells a call and reads it back: accepted or refused, and why, is the same.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/json.h"
#include "registry/schema/schema.h"
#include "renderers/call_format.h"
#include "renderers/history.h"
#include "renderers/output_parser.h"
#include "renderers/provider_json.h"
#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

// One property of a tool: its schema, and values that it may be given. A property of text is given
// text, and no other one: formats without types cannot say `5` where text is meant.
struct Property {
  const char* schema;
  std::vector<const char*> values;  // JSON
};
const std::vector<Property>& Properties() {
  static const auto* kProperties = new std::vector<Property>{
      {R"({"type":"string"})", {R"("")", R"("x")", R"("12")", R"("a\nb <c> &amp;")"}},
      {R"({"type":"string","enum":["red","green"]})", {R"("red")", R"("blue")", R"("None")"}},
      {R"({"type":"string","minLength":2,"pattern":"^[a-z]+$"})",
       {R"("ab")", R"("a")", R"("A B")", R"("größe")"}},
      {R"({"type":"integer","minimum":1,"maximum":10})", {"1", "11", "2.5", "3.0", "-1"}},
      {R"({"type":"number","multipleOf":0.5})", {"1.50", "0.3", "1e2", "12345678901234567890"}},
      {R"({"type":"boolean"})", {"true", "false", "1", "[]"}},
      {R"({"type":["integer","null"]})", {"null", "7", "true", "{}"}},
      {R"({"type":"array","items":{"type":"integer"},"maxItems":2})",
       {"[]", "[1,2]", "[1,2,3]", R"(["x"])", R"({"0":1})"}},
      {R"({"type":"object","properties":{"k":{"type":"string"}},"additionalProperties":false})",
       {"{}", R"({"k":"v"})", R"({"k":1})", R"({"z":null})", "[1]"}},
      {R"({"const":5})", {"5", "6"}},
  };
  return *kProperties;
}

// Accepted, or the faults.
std::string Verdict(const Schema& schema, const std::string& arguments) {
  Json value;
  if (std::holds_alternative<JsonFault>(ParseJson(arguments, {1 << 20, 64}, value))) {
    return "no JSON: " + arguments;
  }
  if (schema.AcceptsText(arguments, value)) return "accepted";
  std::string out = "refused";
  for (const FieldFault& fault : schema.ExplainText(arguments, value)) {
    absl::StrAppend(&out, "\n", fault.field, ": ", fault.description);
  }
  return out;
}

// What a model writes before a call where the prompt has begun its output already.
std::string Begun(const RendererSpec& spec) {
  const CallFormat* calls = spec.dialect->calls;
  return calls != nullptr && calls->begins_thinking ? std::string(calls->think_close[0]) : "";
}

// The call in this renderer's spelling, read back; the arguments, or what came instead.
std::string ThereAndBack(const RendererSpec& spec, const Tools& tools, const std::string& variant,
                         const std::string& arguments) {
  v1::Turn turn;
  turn.set_role("assistant");
  v1::OutputCall& call = *turn.add_calls();
  call.set_call_id("call_1");
  call.set_name("srv__go");
  call.set_arguments_json(arguments);
  v1::RenderOptions options;
  options.set_variant(variant);
  RenderWarnings warnings;
  const auto messages = RenderHistory(spec, {turn}, options, warnings);
  const auto view = tools.View();
  const OfferedTools offered(spec, view);
  std::string out;
  for (const v1::OutMessage& message : messages) {
    const auto read = message.has_json() ? ParseProviderJson(offered, message.json())
                                         : ParseText(offered, Begun(spec) + message.text());
    for (const v1::OutputEvent& event : read.events()) {
      if (event.call().complete() && event.call().name() == "srv__go") {
        out += event.call().arguments_json();
      } else {
        absl::StrAppend(&out, "instead of a call: ", event.ShortDebugString());
      }
    }
  }
  return out;
}

RC_GTEST_PROP(RendererVerdictTest, ACallIsJudgedTheSameUnderEveryRenderer, ()) {
  // A tool of some of the properties, and arguments that have some of them, fitting or not.
  std::vector<std::string> declared, required, given;
  const size_t count = *rc::gen::inRange<size_t>(0, 5);
  for (size_t i = 0; i < count; ++i) {
    const Property& property = *rc::gen::elementOf(Properties());
    declared.push_back(absl::StrCat("\"p", i, "\":", property.schema));
    if (*rc::gen::inRange(0, 3) == 0) required.push_back(absl::StrCat("\"p", i, "\""));
    if (*rc::gen::inRange(0, 4) == 0) continue;
    given.push_back(
        absl::StrCat("\"p", i, "\":", std::string(*rc::gen::elementOf(property.values))));
  }
  if (*rc::gen::inRange(0, 4) == 0) given.push_back("\"unknown\":[1]");
  const std::string schema = absl::StrCat(
      R"({"type":"object","properties":{)", absl::StrJoin(declared, ","), R"(},"required":[)",
      absl::StrJoin(required, ","), R"(],"additionalProperties":)",
      *rc::gen::arbitrary<bool>() ? "true" : "false", "}");
  const std::string arguments = absl::StrCat("{", absl::StrJoin(given, ","), "}");
  const Schema::Compiled compiled = Schema::Compile(schema, SchemaOptions());
  RC_ASSERT(compiled.schema != nullptr);
  Tools tools;
  tools.Add("srv__go", "", schema);
  const std::string expected = Verdict(*compiled.schema, arguments);
  // No text where text is meant, below the root.
  const bool untexted = arguments.find(R"({"k":1})") != std::string::npos;
  for (const RendererSpec& spec : AllRenderers()) {
    // Elements all the way down have no types there either.
    const CallFormat* calls = spec.dialect->calls;
    if (untexted && calls != nullptr && calls->shape == CallShape::kTree) continue;
    for (const char* variant : {"", "jinja"}) {
      const std::string back = ThereAndBack(spec, tools, variant, arguments);
      if (Verdict(*compiled.schema, back) != expected) {
        RC_FAIL(absl::StrCat(spec.name(), " ", variant, "\nschema ", schema, "\narguments ",
                             arguments, "\nread back ", back, "\nexpected ", expected, "\ngot ",
                             Verdict(*compiled.schema, back)));
      }
    }
  }
}

}  // namespace
}  // namespace toolrack
