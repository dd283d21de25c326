// Finding tools: the one door to search.
#ifndef TOOLRACK_REGISTRY_SEARCH_SEARCH_H_
#define TOOLRACK_REGISTRY_SEARCH_SEARCH_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "registry/registry.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Searches the registry's newest snapshot. The index is built for one definitions_revision and
// shared by all searches of that revision; quarantined tools are never found. Thread-safe. The
// first search after a change pays for the index (some 20 µs a tool): call it off the gRPC threads.
class Searcher {
 public:
  explicit Searcher(const Registry* registry);  // outlives this
  ~Searcher();

  // REQUEST_INVALID for an empty query or a regular expression that RE2 does not take.
  // Only what is visible is found, named or counted.
  absl::StatusOr<v1::SearchToolsResponse> Search(const v1::SearchToolsRequest& request,
                                                 const ToolVisibility& visible = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_SEARCH_H_
