// Schema and value pairs on which validators are known to go wrong.
#include <gtest/gtest.h>

#include <map>

#include "registry/schema/schema.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

// What the file expects and we do otherwise, each with its reason. `format` is an annotation, and
// so are `title` and `description`, whatever their form.
const std::map<std::string, std::string>& Deviations() {
  static const auto* deviations = new std::map<std::string, std::string>{
      {"format date-time 9999999999999999999-01-01", "valid"},
      {"format date 2023-02-29", "valid"},
      {"format email bad", "valid"},
      {"format uuid bad", "valid"},
      {"description: null", "valid"},
      {"description: 5", "valid"},
      {"title: 5", "valid"},
      // Not enforceable in linear time: refused, which is the safe side.
      {"pattern lookbehind", "REFUSED"},
      // A list in `items` is no 2020-12, the default dialect: refused.
      {"items []", "REFUSED"},
      {"items [] additionalItems false", "REFUSED"},
      // Nothing outside the document is known.
      {"$ref metaschema", "REFUSED"},
      {"$ref #foo anchor", "REFUSED"},
      {"$ref with %zz", "REFUSED"},
      {"1e400", "PARSE ERROR"},
      // Over the limits: of the depth of a value, and of the visits of one validation.
      {"recursive schema, data depth 1000", "PARSE ERROR"},
      {"allOf/$ref blowup 2^16", "INVALID"},
      {"allOf/$ref blowup 2^30", "INVALID"},
  };
  return *deviations;
}

TEST(SchemaQuirks, EveryKnownTrapHasTheRightAnswer) {
  const auto cases = ReadLines(SharedPath("cases/schema-quirks.jsonl"));
  if (cases.empty()) GTEST_SKIP() << "no schema-quirks.jsonl";
  for (const Json& each : cases) {
    const std::string name = each["name"];
    std::string expected = each["exp"];
    if (expected.rfind("INVALID", 0) == 0) expected = "INVALID";
    const auto deviation = Deviations().find(name);
    if (deviation != Deviations().end()) expected = deviation->second;
    const std::string schema = each["s"], data = each["d"];
    const auto compiled = Schema::Compile(schema, SchemaLimits(), false);
    std::string got = "REFUSED";
    Json value;
    if (compiled.schema != nullptr) {
      const auto parsed = ParseJson(data, {1 << 24, 64, SIZE_MAX}, value);
      if (std::holds_alternative<JsonFault>(parsed)) {
        got = "PARSE ERROR";
      } else {
        got = compiled.schema->Accepts(value) ? "valid" : "INVALID";
        EXPECT_EQ(compiled.schema->Explain(value).empty(), got == "valid") << name;
      }
    }
    EXPECT_EQ(got, expected) << name << ": " << schema.substr(0, 200) << " on "
                             << data.substr(0, 100);
  }
}

}  // namespace
}  // namespace toolrack
