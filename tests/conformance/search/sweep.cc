// usage: search_sweep [NAME…]: how the parameters of the ranking stand on the public sets.
//
// For each parameter (or those named) the sets' NDCG@10 with other values of it, the rest as they
// are; then what the honest question is: when the value is chosen by all sets but one, how much
// does that one lose or win against the value that is built in? No test, it takes minutes.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/conformance/search/retrieval_set.h"

namespace toolrack {
namespace {

constexpr const char* kSets[] = {"bfcl", "livemcp_route", "seal", "ace_zh"};

struct Knob {
  const char* name;
  std::function<void(SearchParams&, float)> set;
  std::vector<float> values;  // the first is the one that is built in
};

std::vector<Knob> Knobs() {
  const auto knob = [](const char* name, float SearchParams::*field, std::vector<float> others) {
    std::vector<float> values = {SearchParams().*field};
    values.insert(values.end(), others.begin(), others.end());
    return Knob{name, [field](SearchParams& params, float value) { params.*field = value; },
                std::move(values)};
  };
  using P = SearchParams;
  std::vector<Knob> knobs = {
      knob("name", &P::name, {1, 2, 5}),
      knob("description", &P::description, {0.5f, 2}),
      knob("parameter", &P::parameter, {0.5f, 2}),
      knob("parameter_text", &P::parameter_text, {0.3f, 1}),
      knob("value", &P::value, {0.2f, 1}),
      knob("owner", &P::owner, {0.5f, 2}),
      knob("k1", &P::k1, {0.9f, 1.6f, 2}),
      knob("b", &P::b, {0.5f, 0.6f, 0.9f}),
      knob("synonym", &P::synonym, {0, 0.3f, 0.7f}),
      knob("coverage", &P::coverage, {0, 0.3f, 0.7f, 1}),
      knob("sentence", &P::sentence, {0, 0.3f, 0.7f}),
      knob("likeness", &P::likeness, {0, 0.15f, 0.5f}),
      knob("near_word", &P::near_word, {0, 0.5f, 0.9f}),
      knob("phrase", &P::phrase, {0, 0.25f, 1}),
  };
  knobs.push_back(
      {"short_query",
       [](SearchParams& params, float value) { params.short_query = static_cast<size_t>(value); },
       {12, 8, 16, 24}});
  return knobs;
}

int Run(const std::vector<std::string>& wanted) {
  std::vector<std::unique_ptr<RetrievalSet>> sets;
  for (const char* name : kSets) {
    sets.push_back(LoadRetrievalSet(name));
    if (sets.back() == nullptr) {
      std::fprintf(stderr, "the shared data is not here (TOOLRACK_SHARED)\n");
      return 1;
    }
  }
  std::vector<double> lost(sets.size(), 0);
  for (const Knob& knob : Knobs()) {
    if (!wanted.empty() && std::count(wanted.begin(), wanted.end(), knob.name) == 0) continue;
    std::vector<std::vector<double>> ndcg;  // by value, by set
    for (const float value : knob.values) {
      SearchParams params;
      knob.set(params, value);
      ndcg.emplace_back();
      std::printf("%-15s %5.2f", knob.name, static_cast<double>(value));
      for (const auto& set : sets) {
        Searcher searcher(set->registry.get(), params);
        ndcg.back().push_back(Measure(searcher, *set).ndcg);
        std::printf("  %6.2f", ndcg.back().back());
      }
      std::printf("\n");
      std::fflush(stdout);
    }
    std::printf("%-15s  held out:", knob.name);
    for (size_t out = 0; out < sets.size(); ++out) {
      size_t best = 0;
      double most = 0;
      for (size_t value = 0; value < ndcg.size(); ++value) {
        double sum = 0;
        for (size_t set = 0; set < sets.size(); ++set) sum += set == out ? 0 : ndcg[value][set];
        if (sum > most + 1e-9) {
          most = sum;
          best = value;
        }
      }
      std::printf("  %s %+.2f (at %.2f)", kSets[out], ndcg[best][out] - ndcg[0][out],
                  static_cast<double>(knob.values[best]));
      lost[out] += ndcg[best][out] - ndcg[0][out];
    }
    std::printf("\n");
  }
  std::printf("all held out:");
  for (size_t set = 0; set < sets.size(); ++set) std::printf("  %s %+.2f", kSets[set], lost[set]);
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace toolrack

int main(int argc, char** argv) { return toolrack::Run({argv + 1, argv + argc}); }
