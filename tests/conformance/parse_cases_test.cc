// Model outputs with the answers of other parsers, read where TOOLRACK_SHARED says that they lie.
// What three implementations agree on must come out here too; every row that differs is named in
// README.md with its reason, and a row that is named but does not differ is a fault as well.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "renderers/output_parser.h"
#include "tests/renderers/rig.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

struct Read {
  std::vector<std::pair<std::string, Json>> calls;
  std::string text, reasoning;
};

Tools ToolsOf(const Json& row) {
  Tools tools;
  std::set<std::string> seen;
  if (!row.contains("tools") || !row["tools"].is_array()) return tools;
  for (const Json& given : row["tools"]) {
    const Json& tool = given.contains("function") ? given["function"] : given;
    const std::string name = tool["name"];
    if (!seen.insert(name).second) continue;
    tools.Add(name, "", tool.contains("parameters") ? tool["parameters"].dump() : "");
  }
  return tools;
}

std::vector<std::string> PiecesOf(const Json& row) {
  std::vector<std::string> pieces;
  if (row.contains("chunks")) {
    for (const Json& chunk : row["chunks"]) {
      pieces.push_back(chunk.is_string() ? chunk.get<std::string>()
                                         : chunk.value("delta_text", std::string()));
    }
  } else {
    pieces.push_back(row.contains("raw") ? row["raw"] : row["model_text"]);
  }
  return pieces;
}

Read ReadRow(const std::string& renderer, const Json& row) {
  const Tools tools = ToolsOf(row);
  const std::vector<const v1::Tool*> view = tools.View();
  const OfferedTools offered(*FindRenderer(renderer), view);
  v1::ParseOutputResponse out;
  OutputCollector collector(out);
  const auto parser = MakeOutputParser(offered, collector);
  for (const std::string& piece : PiecesOf(row)) parser->Feed(piece);
  parser->Finish();
  Read read;
  for (const v1::OutputEvent& event : out.events()) {
    read.text += event.text();
    read.reasoning += event.reasoning();
    if (event.has_call() && event.call().complete()) {
      read.calls.emplace_back(event.call().wire_name(), Json::parse(event.call().arguments_json()));
    }
  }
  read.text = std::string(absl::StripAsciiWhitespace(read.text));
  return read;
}

bool SameCalls(const Read& read, const Json& calls) {
  if (read.calls.size() != calls.size()) return false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (read.calls[i].first != calls[i]["name"] || read.calls[i].second != calls[i]["arguments"]) {
      return false;
    }
  }
  return true;
}

bool SameText(const Read& read, const Json& wanted) {
  if (!wanted.is_string()) return read.text.empty();
  return read.text == absl::StripAsciiWhitespace(wanted.get<std::string>());
}

// The first column of the tables of README.md.
std::set<std::string> Divergences() {
  std::set<std::string> ids;
  std::ifstream in(std::string(TOOLRACK_SOURCE_DIR) + "/tests/conformance/README.md");
  for (std::string line; std::getline(in, line);) {
    if (!absl::StartsWith(line, "| `")) continue;
    ids.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return ids;
}

// `same`: whether a row came out as it should.
template <typename Same>
void Check(const std::string& file, const std::vector<std::string>& families, Same same) {
  const std::vector<Json> rows = ReadLines(SharedPath("cases/" + file));
  if (rows.empty()) GTEST_SKIP() << "no shared cases";
  const std::set<std::string> divergences = Divergences();
  int count = 0;
  for (const Json& row : rows) {
    const std::string family = row["family"];
    if (std::find(families.begin(), families.end(), family) == families.end()) continue;
    ++count;
    const std::string id = absl::StrCat(
        family, " ",
        row.contains("case") ? row["case"].get<std::string>() : row["id"].get<std::string>());
    EXPECT_EQ(same(row, ReadRow("harmony", row)), divergences.count(id) == 0) << id << "\n"
                                                                              << row.dump();
  }
  EXPECT_GT(count, 0);
}

TEST(ParseCasesTest, OutputsThatBrokeOtherParsers) {
  Check("parse-bugs.jsonl", {"harmony"}, [](const Json& row, const Read& read) {
    return SameCalls(read, row["calls"]) && SameText(read, row["content"]);
  });
}

TEST(ParseCasesTest, CallsThatAFamilysOwnTemplateWrote) {
  Check("parse-roundtrip.jsonl", {"gpt_oss"},
        [](const Json& row, const Read& read) { return SameCalls(read, row["calls"]); });
}

// Agreed: as all say. Else: as one of them says.
TEST(ParseCasesTest, CallsAsThreeOtherParsersReadThem) {
  Check("parse-parity.jsonl", {"harmony"}, [](const Json& row, const Read& read) {
    for (const Json& peer : row["expected"]) {
      if (!peer.contains("calls")) continue;
      if (SameCalls(read, peer["calls"]) && SameText(read, peer["normal_text"])) return true;
    }
    return false;
  });
}

// Those that only split off the reasoning leave a call's markup in the text.
TEST(ParseCasesTest, ReasoningAsThreeOtherParsersSplitIt) {
  Check("reasoning-parity.jsonl", {"gpt_oss"}, [](const Json& row, const Read& read) {
    bool answered = false;
    for (const Json& peer : row["expected"]) {
      if (!peer.contains("reasoning_text")) continue;
      answered = true;
      const std::string text = peer["normal_text"];
      const bool markup = absl::StrContains(text, "<|");
      if (peer["reasoning_text"] == read.reasoning && (markup || SameText(read, text))) return true;
    }
    return !answered;
  });
}

}  // namespace
}  // namespace toolrack
