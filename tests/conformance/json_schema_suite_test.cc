// Every required case of the JSON-Schema-Test-Suite, draft by draft: no wrong accept, no wrong
// reject. A schema that is refused is on the list below, or the test fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/schema/schema.h"

namespace toolrack {
namespace {

namespace fs = std::filesystem;

fs::path SuiteRoot() {
  const char* shared = std::getenv("TOOLRACK_SHARED");
  const fs::path root =
      shared != nullptr ? fs::path(shared) : fs::path(TOOLRACK_SOURCE_DIR) / ".." / "shared";
  return root / "data" / "json-schema-test-suite" / "tests";
}

// What is refused, over all drafts: the file, the beginning of the group's name ("" for all), and
// the rule that refuses it.
struct Refusal {
  const char* file;
  const char* group;
  const char* rule;
};
constexpr Refusal kRefusals[] = {
    // They lie outside the document, and nothing is ever fetched.
    {"refRemote", "", "unresolved_reference"},
    {"ref", "remote ref, containing refs itself", "unresolved_reference"},
    {"definitions", "validate definition against metaschema", "unresolved_reference"},
    {"defs", "validate definition against metaschema", "unresolved_reference"},
    {"dynamicRef", "strict-tree schema", "unresolved_reference"},
    {"dynamicRef", "tests for implementation dynamic anchor", "unresolved_reference"},
    {"dynamicRef", "$ref and $dynamicAnchor are independent of order", "unresolved_reference"},
    {"dynamicRef", "$ref to $dynamicRef finds detached", "unresolved_reference"},
    // Dialects of one's own.
    {"vocabulary", "", "unknown_dialect"},
    // What they mean depends on the way by which the validator gets there.
    {"dynamicRef", "A $dynamicRef resolves to the first", "unsupported_keyword"},
    {"dynamicRef", "A $dynamicRef with intermediate scopes", "unsupported_keyword"},
    {"dynamicRef", "A $dynamicRef that initially resolves", "unsupported_keyword"},
    {"dynamicRef", "multiple dynamic paths", "unsupported_keyword"},
    {"dynamicRef", "after leaving a dynamic scope", "unsupported_keyword"},
    {"dynamicRef", "$dynamicRef skips over", "unsupported_keyword"},
    {"dynamicRef", "$dynamicRef avoids the root", "unsupported_keyword"},
    {"recursiveRef", "$recursiveRef without using nesting", "unsupported_keyword"},
    {"recursiveRef", "$recursiveRef with nesting", "unsupported_keyword"},
    {"recursiveRef", "$recursiveRef with no $recursiveAnchor in the outer", "unsupported_keyword"},
    {"recursiveRef", "multiple dynamic paths", "unsupported_keyword"},
    {"recursiveRef", "dynamic $recursiveRef destination", "unsupported_keyword"},
    {"unevaluatedItems", "unevaluatedItems with $dynamicRef", "unsupported_keyword"},
    {"unevaluatedItems", "unevaluatedItems with $recursiveRef", "unsupported_keyword"},
    {"unevaluatedProperties", "unevaluatedProperties with $dynamicRef", "unsupported_keyword"},
    {"unevaluatedProperties", "unevaluatedProperties with $recursiveRef", "unsupported_keyword"},
};

bool IsListed(const std::string& file, const std::string& group, const v1::Finding& finding) {
  return std::any_of(std::begin(kRefusals), std::end(kRefusals), [&](const Refusal& each) {
    return file == each.file && absl::StartsWith(group, each.group) && finding.rule() == each.rule;
  });
}

struct Draft {
  const char* folder;
  const char* uri;
  size_t cases;
  size_t refused;
};

class JsonSchemaSuite : public testing::TestWithParam<Draft> {};

TEST_P(JsonSchemaSuite, HasNoWrongVerdictAndRefusesOnlyWhatIsListed) {
  const Draft& draft = GetParam();
  const fs::path folder = SuiteRoot() / draft.folder;
  if (!fs::exists(folder)) GTEST_SKIP() << "no suite at " << folder;
  size_t cases = 0, refused = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = entry.path().stem().string();
    std::ifstream in(entry.path());
    for (const Json& group : Json::parse(in)) {
      const std::string name = group["description"];
      Json schema = group["schema"];
      if (schema.is_object() && !schema.contains("$schema")) schema["$schema"] = draft.uri;
      const auto compiled = Schema::Compile(DumpJson(schema), SchemaLimits(), false);
      cases += group["tests"].size();
      if (compiled.schema == nullptr) {
        refused += group["tests"].size();
        ASSERT_FALSE(compiled.findings.empty());
        EXPECT_TRUE(IsListed(file, name, compiled.findings[0]))
            << file << ": " << name << ": " << compiled.findings[0].ShortDebugString();
        continue;
      }
      for (const Json& test : group["tests"]) {
        SCOPED_TRACE(absl::StrCat(file, ": ", name, ": ", std::string(test["description"])));
        const bool wanted = test["valid"].get<bool>();
        EXPECT_EQ(compiled.schema->Accepts(test["data"]), wanted) << schema << test["data"];
        const auto faults = compiled.schema->Explain(test["data"]);
        EXPECT_EQ(faults.empty(), wanted);
        for (const FieldFault& fault : faults) {
          // The words for a fault that the explainer, unlike the engine, did not see.
          EXPECT_NE(fault.description, "does not fit the schema") << schema << test["data"];
        }
      }
    }
  }
  EXPECT_EQ(cases, draft.cases);
  EXPECT_EQ(refused, draft.refused);
}

INSTANTIATE_TEST_SUITE_P(
    Drafts, JsonSchemaSuite,
    testing::Values(Draft{"draft4", "http://json-schema.org/draft-04/schema#", 618, 21},
                    Draft{"draft6", "http://json-schema.org/draft-06/schema#", 839, 27},
                    Draft{"draft7", "http://json-schema.org/draft-07/schema#", 927, 27},
                    Draft{"draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1259, 61},
                    Draft{"draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1299,
                          74}),
    [](const auto& each) {
      std::string name = each.param.folder;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace toolrack
