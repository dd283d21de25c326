// Every required case of the JSON-Schema-Test-Suite, draft by draft: no wrong accept, no wrong
// reject. A schema that is refused is on the list below, or the test fails. Once as the daemon
// compiles, with nothing but the schema, and once with the suite's remote documents at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
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

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// The suite's remote documents, under the addresses that it gives them, and the dialects' own
// schemas as Debian's python3-jsonschema has them. Empty when one of them is missing.
const std::vector<SchemaDocument>& LocalDocuments() {
  static const auto* documents = [] {
    auto* out = new std::vector<SchemaDocument>;
    const fs::path remotes = SuiteRoot().parent_path() / "remotes";
    const char* named = std::getenv("TOOLRACK_METASCHEMAS");
    const fs::path own =
        named != nullptr ? named : "/usr/lib/python3/dist-packages/jsonschema/schemas";
    if (!fs::exists(remotes) || !fs::exists(own / "vocabularies.json")) return out;
    for (const auto& entry : fs::recursive_directory_iterator(remotes)) {
      if (entry.path().extension() != ".json") continue;
      out->push_back({absl::StrCat("http://localhost:1234/",
                                   fs::relative(entry.path(), remotes).generic_string()),
                      ReadFile(entry.path())});
    }
    for (const char* dialect : {"draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"}) {
      const std::string text = ReadFile(own / absl::StrCat(dialect, ".json"));
      const Json schema = Json::parse(text);
      out->push_back({schema.value(schema.contains("$id") ? "$id" : "id", ""), text});
    }
    const Json vocabularies = Json::parse(ReadFile(own / "vocabularies.json"));
    for (const auto& [uri, schema] : vocabularies.items()) out->push_back({uri, schema.dump()});
    return out;
  }();
  return *documents;
}

// What is refused, over all drafts: the file, the beginning of the group's name ("" for all), the
// rule that refuses it, and whether it is so even with the remote documents at hand.
struct Refusal {
  const char* file;
  const char* group;
  const char* rule;
  bool always;
};
constexpr Refusal kRefusals[] = {
    // Dialects of one's own.
    {"vocabulary", "", "unknown_dialect", true},
    // They lie outside the document, and nothing is ever fetched.
    {"refRemote", "", "unresolved_reference", false},
    {"ref", "remote ref, containing refs itself", "unresolved_reference", false},
    {"definitions", "validate definition against metaschema", "unresolved_reference", false},
    {"defs", "validate definition against metaschema", "unresolved_reference", false},
    {"dynamicRef", "strict-tree schema", "unresolved_reference", false},
    {"dynamicRef", "tests for implementation dynamic anchor", "unresolved_reference", false},
    {"dynamicRef", "$ref and $dynamicAnchor are independent of order", "unresolved_reference",
     false},
    {"dynamicRef", "$ref to $dynamicRef finds detached", "unresolved_reference", false},
};

bool IsListed(const std::string& file, const std::string& group, const v1::Finding& finding,
              bool remotes) {
  return std::any_of(std::begin(kRefusals), std::end(kRefusals), [&](const Refusal& each) {
    return (each.always || !remotes) && file == each.file && absl::StartsWith(group, each.group) &&
           finding.rule() == each.rule;
  });
}

struct Draft {
  const char* folder;
  const char* uri;
  size_t cases;
  size_t refused;  // as the daemon compiles: nothing but the schema at hand
  size_t refused_with_remotes;
};

class JsonSchemaSuite : public testing::TestWithParam<std::tuple<Draft, bool>> {};

TEST_P(JsonSchemaSuite, HasNoWrongVerdictAndRefusesOnlyWhatIsListed) {
  const auto& [draft, remotes] = GetParam();
  const fs::path folder = SuiteRoot() / draft.folder;
  if (!fs::exists(folder)) GTEST_SKIP() << "no suite at " << folder;
  SchemaOptions options;
  if (remotes) options.documents = LocalDocuments();
  if (remotes && options.documents.empty()) {
    GTEST_SKIP() << "no remote documents, or no python3-jsonschema to take the dialects from";
  }
  size_t cases = 0, refused = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = entry.path().stem().string();
    std::ifstream in(entry.path());
    for (const Json& group : Json::parse(in)) {
      const std::string name = group["description"];
      Json schema = group["schema"];
      if (schema.is_object() && !schema.contains("$schema")) schema["$schema"] = draft.uri;
      const auto compiled = Schema::Compile(DumpJson(schema), options);
      cases += group["tests"].size();
      if (compiled.schema == nullptr) {
        refused += group["tests"].size();
        ASSERT_FALSE(compiled.findings.empty());
        EXPECT_TRUE(IsListed(file, name, compiled.findings[0], remotes))
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
  EXPECT_EQ(refused, remotes ? draft.refused_with_remotes : draft.refused);
}

// The formats that can be asserted, by the names of the suite's files.
constexpr const char* kFormats[] = {"date", "date-time", "duration",         "email",  "hostname",
                                    "ipv4", "ipv6",      "json-pointer",     "regex",  "time",
                                    "uri",  "uuid",      "ecmascript-regex", "unknown"};

class JsonSchemaFormats : public testing::TestWithParam<Draft> {};

TEST_P(JsonSchemaFormats, HaveNoWrongVerdictWhenAsserted) {
  const Draft& draft = GetParam();
  const fs::path folder = SuiteRoot() / draft.folder / "optional" / "format";
  if (!fs::exists(folder)) GTEST_SKIP() << "no suite at " << folder;
  SchemaOptions options;
  options.assert_format = true;
  size_t cases = 0;
  for (const char* format : kFormats) {
    const std::string text = ReadFile(folder / absl::StrCat(format, ".json"));
    if (text.empty()) continue;  // the draft does not have it
    for (const Json& group : Json::parse(text)) {
      Json schema = group["schema"];
      if (!schema.contains("$schema")) schema["$schema"] = draft.uri;
      const auto compiled = Schema::Compile(DumpJson(schema), options);
      ASSERT_NE(compiled.schema, nullptr) << schema;
      for (const Json& test : group["tests"]) {
        ++cases;
        const bool wanted = test["valid"].get<bool>();
        EXPECT_EQ(compiled.schema->Accepts(test["data"]), wanted)
            << format << ": " << test["description"] << ": " << test["data"];
        EXPECT_EQ(compiled.schema->Explain(test["data"]).empty(), wanted);
      }
    }
  }
  EXPECT_GT(cases, 150u);
}

constexpr Draft kDrafts[] = {
    {"draft4", "http://json-schema.org/draft-04/schema#", 618, 21, 0},
    {"draft6", "http://json-schema.org/draft-06/schema#", 839, 27, 0},
    {"draft7", "http://json-schema.org/draft-07/schema#", 927, 27, 0},
    {"draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1259, 40, 5},
    {"draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1299, 53, 5},
};

INSTANTIATE_TEST_SUITE_P(Drafts, JsonSchemaSuite,
                         testing::Combine(testing::ValuesIn(kDrafts), testing::Bool()),
                         [](const auto& each) {
                           std::string name = std::get<0>(each.param).folder;
                           std::erase(name, '-');
                           return name + (std::get<1>(each.param) ? "WithRemotes" : "");
                         });

INSTANTIATE_TEST_SUITE_P(Drafts, JsonSchemaFormats, testing::ValuesIn(kDrafts),
                         [](const auto& each) {
                           std::string name = each.param.folder;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace toolrack
