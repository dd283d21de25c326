// Random schemas and values: the engine and the explainer reach the same verdict, and nothing
// crashes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "registry/schema/engine.h"
#include "registry/schema/explainer.h"
#include "registry/schema/reader.h"
#include "registry/schema/schema.h"

namespace toolrack {
namespace {

// Few names and few values, so that they meet.
rc::Gen<std::string> Names() { return rc::gen::element<std::string>("a", "b", "ab", "c"); }

rc::Gen<Json> Values(int depth) {
  const auto scalars = rc::gen::element<Json>(nullptr, true, false, 0, 1, 1.0, 1.5, -1, 2, 3, 4,
                                              UINT64_MAX, INT64_MIN, "", "a", "ab", "abc", "é");
  if (depth == 0) return scalars;
  return rc::gen::mapcat(rc::gen::inRange(0, 5), [=](int kind) -> rc::Gen<Json> {
    if (kind == 3) {
      return rc::gen::map(rc::gen::container<std::vector<Json>>(Values(depth - 1)),
                          [](std::vector<Json> items) {
                            items.resize(std::min<size_t>(items.size(), 4));
                            return Json(std::move(items));
                          });
    }
    if (kind == 4) {
      return rc::gen::map(
          rc::gen::container<std::map<std::string, Json>>(Names(), Values(depth - 1)),
          [](std::map<std::string, Json> members) { return Json(std::move(members)); });
    }
    return scalars;
  });
}

// One keyword with its value. Depth bounds the nesting.
rc::Gen<std::pair<std::string, Json>> Keywords(int depth);

rc::Gen<Json> Schemas(int depth) {
  if (depth == 0) {
    return rc::gen::element<Json>(true, false, Json::object(), Json{{"type", "string"}},
                                  Json{{"type", "integer"}}, Json{{"const", 1}},
                                  Json{{"$ref", "#/$defs/a"}});
  }
  return rc::gen::map(
      rc::gen::container<std::vector<std::pair<std::string, Json>>>(Keywords(depth)),
      [](std::vector<std::pair<std::string, Json>> keywords) {
        keywords.resize(std::min<size_t>(keywords.size(), 5));
        Json schema = Json::object();
        for (auto& [name, value] : keywords) schema[name] = std::move(value);
        return schema;
      });
}

rc::Gen<Json> Some(rc::Gen<Json> each) {
  return rc::gen::map(rc::gen::pair(each, each), [](std::pair<Json, Json> two) {
    return Json::array({two.first, two.second});
  });
}

rc::Gen<Json> Named(rc::Gen<Json> each) {
  return rc::gen::map(rc::gen::tuple(Names(), each, Names(), each),
                      [](std::tuple<std::string, Json, std::string, Json> two) {
                        Json out = Json::object();
                        out[std::get<0>(two)] = std::get<1>(two);
                        out[std::get<2>(two)] = std::get<3>(two);
                        return out;
                      });
}

rc::Gen<std::pair<std::string, Json>> Keywords(int depth) {
  using rc::gen::element;
  const auto with = [](const char* name, rc::Gen<Json> value) {
    return rc::gen::pair(rc::gen::just(std::string(name)), std::move(value));
  };
  const auto count = element<Json>(0, 1, 2, 3);
  const auto number = element<Json>(0, 1, 1.5, -1, 3, UINT64_MAX);
  const auto sub = [depth] { return Schemas(depth - 1); };
  return rc::gen::mapcat(
      rc::gen::inRange(0, 37), [=](int which) -> rc::Gen<std::pair<std::string, Json>> {
        switch (which) {
          case 0:
            return with("type", element<Json>("string", "integer", "number", "object", "array",
                                              "null", "boolean", Json::array({"string", "null"}),
                                              Json::array({"object", "array"})));
          case 1:
            return with("enum", Some(Values(1)));
          case 2:
            return with("const", Values(1));
          case 3:
            return with("minimum", number);
          case 4:
            return with("maximum", number);
          case 5:
            return with("exclusiveMinimum", number);
          case 6:
            return with("exclusiveMaximum", number);
          case 7:
            return with("multipleOf", element<Json>(1, 0.5, 2, 3));
          case 8:
            return with("minLength", count);
          case 9:
            return with("maxLength", count);
          case 10:
            return with("pattern", element<Json>("a", "^a", "b$", "^.$", "x"));
          case 11:
            return with("minItems", count);
          case 12:
            return with("maxItems", count);
          case 13:
            return with("uniqueItems", element<Json>(true, false));
          case 14:
            return with("items", sub());
          case 15:
            return with("prefixItems", Some(sub()));
          case 16:
            return with("contains", sub());
          case 17:
            return with("minContains", count);
          case 18:
            return with("maxContains", count);
          case 19:
            return with("minProperties", count);
          case 20:
            return with("maxProperties", count);
          case 21:
            return with("required",
                        Some(rc::gen::map(Names(), [](std::string name) { return Json(name); })));
          case 22:
            return with("properties", Named(sub()));
          case 23:
            return with("patternProperties", Named(sub()));
          case 24:
            return with("additionalProperties", sub());
          case 25:
            return with("propertyNames", sub());
          case 26:
            return with("dependentRequired", Named(element<Json>(Json::array(), Json::array({"a"}),
                                                                 Json::array({"b", "c"}))));
          case 27:
            return with("dependentSchemas", Named(sub()));
          case 28:
            return with("allOf", Some(sub()));
          case 29:
            return with("anyOf", Some(sub()));
          case 30:
            return with("oneOf", Some(sub()));
          case 31:
            return with("not", sub());
          case 32:
            return with("if", sub());
          case 33:
            return with("then", sub());
          case 34:
            return with("else", sub());
          case 35:
            return with("unevaluatedProperties", sub());
          default:
            return with("unevaluatedItems", sub());
        }
      });
}

RC_GTEST_PROP(SchemaProperty, EngineAndExplainerAgree, ()) {
  Json schema = *Schemas(3);
  if (!schema.is_object()) schema = Json{{"allOf", Json::array({schema})}};
  schema["$defs"] = Json{
      {"a", *rc::gen::element<Json>(true, Json{{"type", "string"}}, Json{{"maxProperties", 1}})}};
  const std::string text = DumpJson(schema);
  const ReadOutcome read = ReadSchema(text, SchemaLimits(), false);
  if (read.nodes == nullptr) RC_DISCARD("refused");
  const auto engine = Engine::Create(*read.nodes, 100000);
  RC_ASSERT(engine.ok());
  for (int i = 0; i < 8; ++i) {
    const Json value = *Values(3);
    const Verdict verdict = (*engine)->Validate(value);
    if (verdict == Verdict::kTooManySteps) continue;
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
