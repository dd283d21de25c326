// The folder of the sockets, and the right to serve from it.
#ifndef TOOLRACK_SERVER_RPC_RUNTIME_DIR_H_
#define TOOLRACK_SERVER_RPC_RUNTIME_DIR_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace toolrack {

// Holds `toolrackd.lock` in the folder for as long as it lives: one daemon a folder. The kernel
// lets go of it when the process dies, however it dies. Not thread-safe.
class RuntimeDir {
 public:
  // Makes the folder (mode 0750, owned by `group` when given; the folder above must be there) and
  // takes the lock. ALREADY_EXISTS when another daemon holds it, FAILED_PRECONDITION when the
  // folder cannot be used.
  static absl::StatusOr<std::unique_ptr<RuntimeDir>> Create(const std::string& path,
                                                            std::optional<gid_t> group);
  ~RuntimeDir();
  RuntimeDir(const RuntimeDir&) = delete;
  RuntimeDir& operator=(const RuntimeDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  RuntimeDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

// A group's name or number. INVALID_ARGUMENT when there is none of that name.
absl::StatusOr<gid_t> GroupOf(const std::string& name_or_number);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_RUNTIME_DIR_H_
