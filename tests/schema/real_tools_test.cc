// The schemas of thousands of real tools.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "registry/schema/engine.h"
#include "registry/schema/explainer.h"
#include "registry/schema/reader.h"
#include "registry/schema/schema.h"
#include "tests/schema/instances.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

SchemaOptions ForObjects() {
  SchemaOptions options;
  options.object_root = true;
  return options;
}

TEST(RealTools, CompileOrAreRefusedForKnownReasons) {
  const auto tools = ReadLines(SharedPath("data/real_tools.jsonl"));
  if (tools.empty()) GTEST_SKIP() << "no real_tools.jsonl";
  std::set<std::string> refused;
  size_t outputs = 0;
  for (const Json& tool : tools) {
    for (const char* which : {"inputSchema", "outputSchema"}) {
      if (!tool.contains(which)) continue;
      const bool input = which == std::string("inputSchema");
      outputs += !input;
      const auto compiled = Schema::Compile(tool[which].dump(), SchemaLimits(), input);
      for (const v1::Finding& finding : compiled.findings) {
        if (finding.severity() != v1::FINDING_SEVERITY_ERROR) continue;
        refused.insert(absl::StrCat(std::string(tool["name"]), " ", which, " ", finding.rule(), " ",
                                    finding.pointer()));
      }
    }
  }
  EXPECT_EQ(tools.size(), 3295u);
  EXPECT_EQ(outputs, 255u);
  // A look-ahead, a relic of draft-04, and nine of one server, which says nothing but `$schema`.
  const std::set<std::string> expected = {
      "getWorkspace inputSchema unsupported_pattern /properties/include/pattern",
      "read_pdf inputSchema invalid_keyword"
      " /properties/sources/items/properties/pages/anyOf/0/items/exclusiveMinimum",
      "create_branch inputSchema root_not_object ",
      "create_issue inputSchema root_not_object ",
      "create_merge_request inputSchema root_not_object ",
      "create_or_update_file inputSchema root_not_object ",
      "create_repository inputSchema root_not_object ",
      "fork_repository inputSchema root_not_object ",
      "get_file_contents inputSchema root_not_object ",
      "push_files inputSchema root_not_object ",
      "search_repositories inputSchema root_not_object ",
  };
  EXPECT_EQ(refused, expected);
}

TEST(RealTools, VerdictAndExplanationNeverDisagree) {
  const auto tools = ReadLines(SharedPath("data/real_tools.jsonl"));
  if (tools.empty()) GTEST_SKIP() << "no real_tools.jsonl";
  size_t fitting = 0, not_fitting = 0;
  unsigned seed = 0;
  for (const Json& tool : tools) {
    if (++seed % 3 != 0) continue;
    const Json& document = tool["inputSchema"];
    const ReadOutcome read = ReadSchema(document.dump(), ForObjects());
    if (read.nodes == nullptr) continue;
    const auto engine = Engine::Create(*read.nodes, 100000);
    ASSERT_TRUE(engine.ok());
    InstanceMaker maker(document, seed);
    for (int i = 0; i < 10; ++i) {
      const Json value = maker.Make();
      const bool fits = (*engine)->Validate(value) == Verdict::kFits;
      const auto faults = ExplainFaults(*read.nodes, value, 16, 100000);
      ASSERT_EQ(faults.empty(), fits)
          << tool["name"] << " on " << value << (faults.empty() ? "" : faults[0].description);
      ++(fits ? fitting : not_fitting);
    }
  }
  // The values are worth something only when both verdicts are common.
  EXPECT_GT(fitting, 2000u);
  EXPECT_GT(not_fitting, 2000u);
}

}  // namespace
}  // namespace toolrack
