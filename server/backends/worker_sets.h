// Sets of tools on their way from a worker to the registry: gathered from chunks, published, and
// answered.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_SETS_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_SETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "registry/registry.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// One whole set, or the reason why there is none.
struct WorkerSet {
  std::string ns;
  uint64_t generation = 0;  // 0 with no tools: a withdraw
  v1::PublishMode mode = v1::PUBLISH_MODE_ATOMIC;
  std::vector<v1::Tool> tools;
  std::vector<v1::WorkerRejected> bad_tools;  // left out by the decoder
  std::string refusal;                        // not empty: not to be published
  std::vector<std::string> refused_names;     // then, instead of `tools`
  size_t bytes = 0;                           // what it holds of WorkerSets' bound
};

// The sets of one stream. Not thread-safe.
class WorkerSets {
 public:
  struct Limits {
    size_t max_tools = 10000;     // of the worker, over all its namespaces
    size_t max_bytes = 32 << 20;  // of sets not yet published, together
  };
  explicit WorkerSets(Limits limits) : limits_(limits) {}

  // Takes one message. Gives what is ready with it, in order: the committed set, and before it one
  // that was given up. PROTOCOL_VIOLATION for a mode that does not exist.
  absl::StatusOr<std::vector<WorkerSet>> Add(v1::WorkerPublish publish,
                                             std::vector<v1::WorkerRejected> bad_tools);
  // Drops an open set of this namespace, and gives the empty one.
  WorkerSet Withdraw(const std::string& ns);
  // A set that Add or Withdraw gave was published or refused: `registered` tools of it are in the
  // registry, or, when negative, nothing has changed. `bytes` and `refused` are the set's.
  void Settle(const std::string& ns, size_t bytes, bool refused, int64_t registered);
  // No set is open.
  bool idle() const { return open_.empty(); }

 private:
  void Refuse(WorkerSet& set, std::string why);
  size_t ToolsElsewhere(const std::string& ns) const;

  const Limits limits_;
  size_t bytes_ = 0;
  std::map<std::string, WorkerSet> open_;
  std::map<std::string, uint64_t> committed_;  // the last generation of each namespace
  struct Queued {
    size_t sets = 0;   // given by Add or Withdraw, not yet settled
    size_t tools = 0;  // of the last of them
  };
  std::map<std::string, Queued> queued_;
  std::map<std::string, size_t> registered_;
};

// What PublishSet gives: the answer, in messages of bounded size, and what Settle wants to know.
struct WorkerSetOutcome {
  std::vector<v1::WorkerPublished> answers;  // at least one
  int64_t registered = -1;
};

// Publishes (compiles schemas: on the executor only), or answers the refusal.
WorkerSetOutcome PublishSet(Registry* registry, const std::shared_ptr<Backend>& backend,
                            WorkerSet set);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_SETS_H_
