// The file in which the known definitions outlive the daemon.
#ifndef TOOLRACK_SERVER_PIN_FILE_H_
#define TOOLRACK_SERVER_PIN_FILE_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "registry/base/executor.h"
#include "registry/pins.h"

namespace toolrack {

// `pins.json` in the state folder: {"version":1,"pins":[["name","digest"],…]}, the longest unseen
// first. Written whole to a file beside it, synced, and renamed: a crash leaves the old one or the
// new one. No folder: nothing is kept, and all of this does nothing. Thread-safe after Load.
class PinFile {
 public:
  PinFile(std::string folder, Executor* executor);  // outlives this

  // Creates the folder (0700), reads what is there. FAILED_PRECONDITION, with what is wrong, when
  // the folder or the file cannot be used: a guard that forgets silently is none.
  absl::Status Load(Pins& pins);
  // Writes what `pins` (which outlives the executor's work) holds soon, on the executor. A write
  // that fails is logged, and tried again with the next change.
  void Changed(const Pins& pins);
  // Writes now.
  absl::Status Save(const Pins& pins) const;

 private:
  std::string path() const { return folder_ + "/pins.json"; }

  const std::string folder_;
  Executor* const executor_;
  std::atomic<bool> posted_{false};
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PIN_FILE_H_
