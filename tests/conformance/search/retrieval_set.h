// Public retrieval sets, as registries and questions. They lie outside the project.
#ifndef TOOLRACK_TESTS_CONFORMANCE_SEARCH_RETRIEVAL_SET_H_
#define TOOLRACK_TESTS_CONFORMANCE_SEARCH_RETRIEVAL_SET_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/name.h"
#include "registry/registry.h"
#include "registry/search/search.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {

inline std::string SharedPath(const std::string& path) {
  const char* shared = std::getenv("TOOLRACK_SHARED");
  return absl::StrCat(shared != nullptr ? shared : TOOLRACK_SOURCE_DIR "/../shared", "/", path);
}

inline std::vector<nlohmann::json> ReadLines(const std::string& path) {
  std::vector<nlohmann::json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) out.push_back(nlohmann::json::parse(line));
  }
  return out;
}

// The sets write types as Python does, and in places as nobody does.
inline void MendTypes(nlohmann::json& schema) {
  static const auto* names = new std::map<std::string, std::string>{
      {"dict", "object"}, {"float", "number"}, {"str", "string"},  {"int", "integer"},
      {"tuple", "array"}, {"list", "array"},   {"bool", "boolean"}};
  static const auto* legal = new std::set<std::string>{"object", "number",  "string", "integer",
                                                       "array",  "boolean", "null"};
  if (schema.is_object()) {
    const auto type = schema.find("type");
    if (type != schema.end() && type->is_string()) {
      const auto mended = names->find(type->get<std::string>());
      if (mended != names->end()) *type = mended->second;
      if (!legal->contains(type->get<std::string>())) schema.erase("type");
    }
  }
  if (schema.is_structured()) {
    for (auto& inner : schema) MendTypes(inner);
  }
}

struct RetrievalSet {
  struct Question {
    std::string query;
    std::set<std::string> relevant;  // canonical names
  };
  std::unique_ptr<Registry> registry;
  std::vector<Question> questions;
  size_t quarantined = 0;
};

// Null when the set is not there.
inline std::unique_ptr<RetrievalSet> LoadRetrievalSet(const std::string& name) {
  const std::string folder = SharedPath("data/search/" + name);
  const std::vector<nlohmann::json> lines = ReadLines(folder + "/tools.jsonl");
  if (lines.empty()) return nullptr;
  auto set = std::make_unique<RetrievalSet>();
  set->registry = std::make_unique<Registry>(RegistryOptions{});
  std::map<std::string, std::vector<v1::Tool>> by_namespace;
  std::map<std::string, std::string> canonical_of;
  std::set<std::string> taken;
  for (const auto& line : lines) {
    const std::string server = line.value("server", "");
    const std::string ns = server.empty() ? "" : NamespaceForId(server);
    v1::Tool tool;
    tool.set_name(ToolNameForId(line.at("name").get<std::string>()));
    while (!taken.insert(CanonicalName(ns, tool.name())).second) {
      tool.set_name(tool.name() + "_2");
    }
    tool.set_description(line.value("description", ""));
    nlohmann::json schema = line.at("parameters");
    if (!schema.is_object() || schema.empty()) schema = {{"type", "object"}};
    MendTypes(schema);
    schema["type"] = "object";
    tool.set_input_schema(schema.dump());
    canonical_of[line.at("id").get<std::string>()] = CanonicalName(ns, tool.name());
    by_namespace[ns].push_back(std::move(tool));
  }
  const auto backend = std::make_shared<FakeBackend>("builtin", "sets", "local");
  for (auto& [ns, tools] : by_namespace) {
    const auto report =
        set->registry->Publish(backend, ns, std::move(tools), v1::PUBLISH_MODE_BEST_EFFORT);
    if (!report.ok()) return nullptr;
    set->quarantined += report->quarantined.size() + report->rejected.size();
  }
  for (const auto& line : ReadLines(folder + "/queries.jsonl")) {
    RetrievalSet::Question question{line.at("query").get<std::string>(), {}};
    for (const auto& id : line.at("relevant")) {
      question.relevant.insert(canonical_of.at(id.get<std::string>()));
    }
    set->questions.push_back(std::move(question));
  }
  return set;
}

// Means over all questions, in percent; relevance is 0 or 1.
struct Quality {
  double ndcg = 0;                              // at 10
  std::array<double, 4> recall = {0, 0, 0, 0};  // at 1, 3, 5 and 10
};

inline constexpr std::array<int, 4> kRecallAt = {1, 3, 5, 10};

template <typename Rewrite>
Quality Measure(Searcher& searcher, const RetrievalSet& set, Rewrite rewrite) {
  Quality sum;
  for (const RetrievalSet::Question& question : set.questions) {
    v1::SearchToolsRequest request;
    request.set_query(rewrite(question.query));
    request.set_max_results(10);
    const auto response = searcher.Search(request);
    if (!response.ok() || question.relevant.empty()) continue;
    const auto relevant = static_cast<double>(question.relevant.size());
    double gain = 0, ideal = 0;
    for (int i = 0; i < response->hits_size(); ++i) {
      if (!question.relevant.contains(response->hits(i).tool().name())) continue;
      gain += 1 / std::log2(i + 2);
      for (size_t at = 0; at < kRecallAt.size(); ++at) {
        if (i < kRecallAt[at]) sum.recall[at] += 1 / relevant;
      }
    }
    for (size_t i = 0; i < std::min<size_t>(10, question.relevant.size()); ++i) {
      ideal += 1 / std::log2(i + 2);
    }
    sum.ndcg += gain / ideal;
  }
  const double share = 100 / static_cast<double>(set.questions.size());
  sum.ndcg *= share;
  for (double& recall : sum.recall) recall *= share;
  return sum;
}

inline Quality Measure(Searcher& searcher, const RetrievalSet& set) {
  return Measure(searcher, set, [](const std::string& query) { return query; });
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CONFORMANCE_SEARCH_RETRIEVAL_SET_H_
