// Which definition a tool is known by: the guard against tools that change behind one's back.
#ifndef TOOLRACK_REGISTRY_PINS_H_
#define TOOLRACK_REGISTRY_PINS_H_

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace toolrack {

// The finding of a definition that is not the known one.
inline constexpr char kPinRule[] = "definition_changed";

enum class PinMode { kOff, kWarn, kEnforce };

// The digest of each tool as it was first seen (or approved) here. At most `max` tools are known;
// those not seen for the longest time are forgotten first. Thread-safe.
class Pins {
 public:
  struct Pin {
    std::string name;  // canonical
    std::string digest;
  };
  // `on_change`: called after each change, without locks held, on the thread that made it; short.
  Pins(PinMode mode, size_t max, std::function<void()> on_change = {});

  PinMode mode() const { return mode_; }

  enum class Verdict {
    kFine,     // known by this digest, seen for the first time, or nobody looks
    kChanged,  // known by another one. Under kWarn it is known by the new one from now on
  };
  // `before` gets the digest by which it was known, when it changed.
  Verdict Check(absl::string_view name, absl::string_view digest, std::string* before);
  // Known by this digest from now on.
  void Approve(absl::string_view name, absl::string_view digest);

  // What is known, the longest unseen first; and taking it in again at the start.
  std::vector<Pin> List() const;
  void Load(std::vector<Pin> pins);
  size_t size() const;

 private:
  using Known = std::list<Pin>;
  void Put(absl::string_view name, absl::string_view digest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PinMode mode_;
  const size_t max_;
  const std::function<void()> on_change_;
  mutable absl::Mutex mu_;
  Known known_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Known::iterator> by_name_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_PINS_H_
