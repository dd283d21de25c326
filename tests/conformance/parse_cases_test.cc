// Model outputs with the answers of other parsers, read where TOOLRACK_SHARED says that they lie.
// What three implementations agree on must come out here too; every row that differs is named in
// README.md with its reason, and a row that is named but does not differ is a fault as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "renderers/output_parser.h"
#include "tests/renderers/rig.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

struct Read {
  std::vector<std::pair<std::string, Json>> calls;
  std::string text, reasoning;
};

Json TypeOf(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  if (value.is_number()) return "number";
  if (value.is_array()) return "array";
  return value.is_null() ? "null" : "object";
}

// What a template was given: the tools that the calls need, as their arguments are.
Json ToolsOfCalls(const Json& calls) {
  Json tools = Json::object();
  for (const Json& call : calls) {
    Json& properties = tools[call["name"].get<std::string>()];
    for (const auto& [key, value] : call["arguments"].items()) {
      Json& types = properties[key]["type"];
      if (!types.is_array()) types = Json::array();
      if (std::find(types.begin(), types.end(), TypeOf(value)) == types.end()) {
        types.push_back(TypeOf(value));
      }
    }
  }
  Json out = Json::array();
  for (const auto& [name, properties] : tools.items()) {
    Json schema = {{"type", "object"}};
    if (!properties.is_null()) schema["properties"] = properties;
    out.push_back({{"name", name}, {"parameters", schema}});
  }
  return out;
}

Tools ToolsOf(Json row) {
  Tools tools;
  std::set<std::string> seen;
  if (!row.contains("tools") || !row["tools"].is_array()) {
    if (!row.contains("calls")) return tools;
    row["tools"] = ToolsOfCalls(row["calls"]);
  }
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

v1::ParseOutputResponse ParseRow(const std::string& renderer, const Json& row) {
  const Tools tools = ToolsOf(row);
  const std::vector<const v1::Tool*> view = tools.View();
  const OfferedTools offered(*FindRenderer(renderer), view);
  v1::ParseOutputResponse out;
  OutputCollector collector(out);
  const auto parser = MakeOutputParser(offered, collector);
  for (const std::string& piece : PiecesOf(row)) parser->Feed(piece);
  parser->Finish();
  return out;
}

std::string Events(const std::string& renderer, const Json& row) {
  return ParseRow(renderer, row).ShortDebugString();
}

Read ReadRow(const std::string& renderer, const Json& row) {
  const v1::ParseOutputResponse out = ParseRow(renderer, row);
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

// The first column of the tables of README.md. One that ends with `*` stands for a family.
std::set<std::string> Divergences() {
  std::set<std::string> ids;
  std::ifstream in(std::string(TOOLRACK_SOURCE_DIR) + "/tests/conformance/README.md");
  for (std::string line; std::getline(in, line);) {
    if (!absl::StartsWith(line, "| `")) continue;
    ids.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return ids;
}

// Names of families in the files that are none of a renderer.
std::string RendererOf(const std::string& family) {
  static const auto* kOthers = new std::map<std::string, std::string>{
      {"gpt_oss", "harmony"},
      {"glm4.6", "glm4_5"},
      {"qwen_json", "qwen3"},
      {"granite3", "granite3"},
      {"mistral_v11", "mistral_v11"},
      {"functionary3.2", "functionary_v3_2"},
      {"nemotron", "nemotron_v2"},
      {"functionary3.1", "functionary_v3_1"},
      {"command_r7b", "command_r7b"},
      {"internlm2.5", "internlm"},
      {"deepseek_v3.1", "deepseek_v3_1"},
      {"deepseek_v3.2", "deepseek_v3_2"},
      {"glm4.7", "glm4_7"},
      {"step3.5", "step3_5"},
      {"minimax_append_think", "minimax_m2"},
      {"nemotron_nano", "qwen3_coder"},
      // In that file, the one whose prompt ends before the reasoning.
      {"roundtrip deepseek_r1", "deepseek_v3"}};
  const auto at = kOthers->find(family);
  return at == kOthers->end() ? family : at->second;
}

// `same`: whether a row came out as it should.
template <typename Same>
void Check(const std::string& file, Same same) {
  const std::vector<Json> rows = ReadLines(SharedPath("cases/" + file));
  if (rows.empty()) GTEST_SKIP() << "no shared cases";
  const std::set<std::string> divergences = Divergences();
  std::map<std::string, std::array<int, 3>> counts;  // rows, of them agreed, of those as agreed
  for (const Json& row : rows) {
    const std::string family = row["family"];
    const std::string special = absl::StrCat("roundtrip ", family);
    const bool roundtrip = file == "parse-roundtrip.jsonl" && RendererOf(special) != special;
    const std::string renderer = RendererOf(roundtrip ? special : family);
    ASSERT_TRUE(FindRenderer(renderer).ok()) << family;
    const std::string id = absl::StrCat(
        family, " ",
        row.contains("case") ? row["case"].get<std::string>() : row["id"].get<std::string>());
    const bool named = divergences.count(id) > 0 || divergences.count(family + " *") > 0;
    const bool good = same(row, ReadRow(renderer, row));
    EXPECT_EQ(good, !named) << id << "\n" << row.dump() << "\n" << Events(renderer, row);
    auto& [all, agreed, as_agreed] = counts[family];
    ++all;
    if (row.value("agreed", true)) {
      ++agreed;
      if (good) ++as_agreed;
    }
  }
  for (const auto& [family, count] : counts) {
    std::cout << absl::StrFormat("%-24s %3d rows, %3d agreed on, %3d of them read so\n", family,
                                 count[0], count[1], count[2]);
  }
}

TEST(ParseCasesTest, OutputsThatBrokeOtherParsers) {
  Check("parse-bugs.jsonl", [](const Json& row, const Read& read) {
    // What is refused may be told of in any way but as a call.
    if (row["kind"] == "refuse") return read.calls.empty();
    return SameCalls(read, row["calls"]) && SameText(read, row["content"]);
  });
}

TEST(ParseCasesTest, CallsThatAFamilysOwnTemplateWrote) {
  Check("parse-roundtrip.jsonl",
        [](const Json& row, const Read& read) { return SameCalls(read, row["calls"]); });
}

// Agreed: as all say. Else: as one of them says.
TEST(ParseCasesTest, CallsAsThreeOtherParsersReadThem) {
  Check("parse-parity.jsonl", [](const Json& row, const Read& read) {
    bool answered = false;
    for (const Json& peer : row["expected"]) {
      if (!peer.contains("calls")) continue;
      answered = true;
      if (SameCalls(read, peer["calls"]) && SameText(read, peer["normal_text"])) return true;
    }
    return !answered;
  });
}

// Those that only split off the reasoning leave a call's markup in the text.
TEST(ParseCasesTest, ReasoningAsThreeOtherParsersSplitIt) {
  Check("reasoning-parity.jsonl", [](const Json& row, const Read& read) {
    bool answered = false;
    for (const Json& peer : row["expected"]) {
      if (!peer.contains("reasoning_text")) continue;
      answered = true;
      const std::string text = peer["normal_text"];
      const bool markup = absl::StrContains(text, "<|") || absl::StrContains(text, "<｜") ||
                          absl::StrContains(text, "[TOOL_CALLS]") ||
                          absl::StrContains(text, "<TOOLCALL>");
      const std::string reasoning = peer["reasoning_text"];
      if (absl::StripAsciiWhitespace(reasoning) == absl::StripAsciiWhitespace(read.reasoning) &&
          (markup || SameText(read, text))) {
        return true;
      }
    }
    return !answered;
  });
}

}  // namespace
}  // namespace toolrack
