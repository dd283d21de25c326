// Schema and value pairs on which validators are known to go wrong.
#include <gtest/gtest.h>

#include <map>

#include "registry/schema/schema.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

// What the file expects and we do otherwise, each with its reason.
const std::map<std::string, std::string>& Deviations() {
  static const auto* deviations = new std::map<std::string, std::string>{
      // Not enforceable in linear time: refused, which is the safe side.
      {"pattern lookbehind", "REFUSED"},
      // Nothing outside the document is known; both answers are right to the file.
      {"$ref metaschema", "REFUSED"},
      // The file leaves it open.
      {"$ref with %zz", "REFUSED"},
      // Either answer is right to the file.
      {"1e400", "PARSE ERROR"},
      // Over the limit of the depth of a value.
      {"recursive schema, data depth 1000", "PARSE ERROR"},
      // The file fears the time that 2^30 visits take; here they are 30.
      {"allOf/$ref blowup 2^30", "valid"},
  };
  return *deviations;
}

// These are written as draft-07 understands them, without saying so. In the default dialect each is
// refused.
bool MeansDraft7(const std::string& name) {
  return name == "items []" || name == "items [] additionalItems false" ||
         name == "$ref #foo anchor";
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
    std::string schema = each["s"];
    const std::string data = each["d"];
    SchemaOptions options;
    options.assert_format = true;
    if (MeansDraft7(name)) {
      EXPECT_EQ(Schema::Compile(schema, options).schema, nullptr) << name;
      schema.insert(1, R"("$schema":"http://json-schema.org/draft-07/schema#",)");
    }
    const auto compiled = Schema::Compile(schema, options);
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
