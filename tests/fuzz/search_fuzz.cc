// ReadOperators and a search on any bytes: no query ends the process, and no answer is empty.
#include <cstddef>
#include <cstdint>

#include "registry/base/utf8.h"
#include "registry/search/operators.h"
#include "registry/search/search.h"
#include "tests/fuzz/check.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

struct Rig {
  Registry registry{RegistryOptions{}};
  Searcher searcher{&registry};

  Rig() {
    const bool ok = registry
                        .Publish(MakeWorker("w"), "fs",
                                 {MakeToolDefinition("read_file", "Reads a file from disk."),
                                  MakeToolDefinition("getWeather", "Weather of a city. 天气。")},
                                 v1::PUBLISH_MODE_BEST_EFFORT)
                        .ok();
    FUZZ_CHECK(ok);
  }
};

void Check(const std::string& query) {
  static Rig* rig = new Rig;
  const QueryOperators operators = ReadOperators(query);
  for (const v1::SearchMode mode :
       {v1::SEARCH_MODE_RANKED, v1::SEARCH_MODE_REGEX, v1::SEARCH_MODE_SELECT}) {
    v1::SearchToolsRequest request;
    request.set_query(query);
    request.set_mode(mode);
    const auto answer = rig->searcher.Search(request);
    if (!answer.ok()) {
      FUZZ_CHECK(query.size() > 16 << 10 || mode == v1::SEARCH_MODE_REGEX ||
                 operators.kind == QueryOperators::Kind::kRegex);
      continue;
    }
    FUZZ_CHECK(answer->hits_size() > 0 || !answer->message().empty());
    FUZZ_CHECK(IsUtf8(answer->message()));
    for (const auto& hit : answer->hits()) FUZZ_CHECK(IsUtf8(hit.snippet()));
  }
}

}  // namespace
}  // namespace toolrack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  toolrack::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
