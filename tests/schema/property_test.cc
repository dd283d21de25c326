// Random schemas and values: the engine and the explainer reach the same verdict, and nothing
// crashes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "registry/schema/engine.h"
#include "registry/schema/explainer.h"
#include "registry/schema/reader.h"
#include "registry/schema/schema.h"

namespace toolrack {
namespace {

int Below(int bound) { return *rc::gen::inRange(0, bound); }

const Json& Pick(const Json& list) {
  return list[static_cast<size_t>(Below(static_cast<int>(list.size())))];
}

// Few names and few values, so that they meet.
std::string Name() {
  static const Json kNames = {"a", "b", "ab", "c"};
  return Pick(kNames);
}

Json Value(int depth) {
  static const Json kScalars = {nullptr, true, false, 0,   1,    1.0,   1.5, -1,         2,
                                3,       4,    "",    "a", "ab", "abc", "é", UINT64_MAX, INT64_MIN};
  const int kind = depth == 0 ? 0 : Below(4);
  if (kind == 2) {
    Json out = Json::array();
    for (int n = Below(4); n > 0; --n) out.push_back(Value(depth - 1));
    return out;
  }
  if (kind == 3) {
    Json out = Json::object();
    for (int n = Below(4); n > 0; --n) out[Name()] = Value(depth - 1);
    return out;
  }
  return Pick(kScalars);
}

Json Schema(int depth);

Json Named(int depth) {
  Json out = Json::object();
  for (int n = 1 + Below(2); n > 0; --n) out[Name()] = Schema(depth);
  return out;
}

Json Branches(int depth) {
  Json out = Json::array();
  for (int n = 1 + Below(3); n > 0; --n) out.push_back(Schema(depth));
  return out;
}

void AddKeyword(Json& schema, int depth) {
  static const Json kTypes = {"string", "integer", "number",           "object",           "array",
                              "null",   "boolean", {"string", "null"}, {"object", "array"}};
  static const Json kCounts = {0, 1, 2, 3};
  static const Json kNumbers = {0, 1, 1.5, -1, 3, UINT64_MAX};
  static const Json kDivisors = {1, 0.5, 2, 3};
  static const Json kPatterns = {"a", "^a", "b$", "^.$", "x"};
  static const Json kPlain = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
  static const Json kCounted = {"minLength",   "maxLength",   "minItems",      "maxItems",
                                "minContains", "maxContains", "minProperties", "maxProperties"};
  static const Json kSubschema = {
      "items", "contains", "additionalProperties",  "propertyNames",   "not", "if",
      "then",  "else",     "unevaluatedProperties", "unevaluatedItems"};
  static const Json kMaps = {"properties", "patternProperties", "dependentSchemas"};
  static const Json kLists = {"allOf", "anyOf", "oneOf", "prefixItems"};
  const int depth_below = depth - 1;
  switch (Below(depth > 0 ? 15 : 9)) {
    case 0:
      schema["type"] = Pick(kTypes);
      return;
    case 1:
      schema["enum"] = Json::array({Value(1), Value(1), Value(0)});
      return;
    case 2:
      schema["const"] = Value(1);
      return;
    case 3:
      schema[std::string(Pick(kPlain))] = Pick(kNumbers);
      return;
    case 4:
      schema[std::string(Pick(kCounted))] = Pick(kCounts);
      return;
    case 5:
      schema["multipleOf"] = Pick(kDivisors);
      return;
    case 6:
      schema["pattern"] = Pick(kPatterns);
      return;
    case 7:
      schema["required"] = Json::array({Name()});
      schema["dependentRequired"] = Json{{Name(), Json::array({Name()})}};
      return;
    case 8:
      schema["uniqueItems"] = true;
      return;
    case 9:
      schema["$ref"] = "#/$defs/a";
      return;
    case 10:
    case 11:
      schema[std::string(Pick(kSubschema))] = Schema(depth_below);
      return;
    case 12:
      schema[std::string(Pick(kMaps))] = Named(depth_below);
      return;
    default:
      schema[std::string(Pick(kLists))] = Branches(depth_below);
  }
}

Json Schema(int depth) {
  if (Below(8) == 0) return Below(3) != 0;
  Json out = Json::object();
  for (int n = Below(5); n > 0; --n) AddKeyword(out, depth);
  return out;
}

RC_GTEST_PROP(SchemaProperty, EngineAndExplainerAgree, ()) {
  static const Json kDefinitions = {
      true, {{"type", "string"}}, {{"maxProperties", 1}}, {{"items", {{"$ref", "#"}}}}};
  Json schema = {{"allOf", Json::array({Schema(3), Schema(2)})},
                 {"$defs", {{"a", Pick(kDefinitions)}}}};
  const std::string text = DumpJson(schema);
  const ReadOutcome read = ReadSchema(text, SchemaOptions());
  RC_ASSERT(read.nodes != nullptr);
  const auto engine = Engine::Create(*read.nodes, 100000);
  RC_ASSERT(engine.ok());
  for (int i = 0; i < 10; ++i) {
    const Json value = Value(3);
    const Verdict verdict = (*engine)->Validate(value);
    if (verdict == Verdict::kTooManySteps) continue;
    RC_TAG(verdict == Verdict::kFits);
    const auto faults = ExplainFaults(*read.nodes, value, 16, 100000);
    if (faults.empty() != (verdict == Verdict::kFits)) {
      RC_LOG() << text << "\n"
               << DumpJson(value) << "\n"
               << (faults.empty() ? "" : faults[0].description);
    }
    RC_ASSERT(faults.empty() == (verdict == Verdict::kFits));
    RC_ASSERT(faults.size() <= 16u);
    // One fault at most is enough for the same verdict.
    RC_ASSERT(ExplainFaults(*read.nodes, value, 1, 100000).empty() == faults.empty());
  }
}

}  // namespace
}  // namespace toolrack
