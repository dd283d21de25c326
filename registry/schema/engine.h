// The verdict: valijson over a NodeSet. All of valijson is behind this header.
#ifndef TOOLRACK_REGISTRY_SCHEMA_ENGINE_H_
#define TOOLRACK_REGISTRY_SCHEMA_ENGINE_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "registry/schema/node.h"

namespace toolrack {

enum class Verdict { kFits, kDoesNotFit, kTooManySteps };

// Immutable, thread-safe, no lock of its own.
class Engine {
 public:
  // `nodes` must outlive the engine. Fails only with INTERNAL, on an exception from valijson.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(const NodeSet& nodes, size_t max_visits);
  ~Engine();

  // Does not throw.
  Verdict Validate(const Json& value) const;
  size_t ApproximateBytes() const;

 private:
  struct Rep;
  explicit Engine(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_ENGINE_H_
