// Starting another program: the one place where this process makes children.
#ifndef TOOLRACK_SERVER_PROCESS_SPAWN_H_
#define TOOLRACK_SERVER_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "registry/base/fd.h"

namespace toolrack {

struct SpawnSpec {
  std::vector<std::string> argv;  // the program is an absolute path; no text holds NUL
  std::vector<std::string> env;   // all of it
  std::string directory = "/";
  bool input = false;  // with a pipe to write to; else its standard input is empty
};

// A program that runs. Its pipes do not block. Whoever has it reaps it, by its pid.
struct Spawned {
  pid_t pid = -1;
  Fd ended;  // a pidfd: readable when it has ended
  Fd input, output, errors;
};

// Starts it in a session and process group of its own (both are its pid), with exactly the given
// environment, the standard descriptors and no other, all signals as they are by default and none
// blocked, no core dumps, 1,024 descriptors, and no way to more rights (no_new_privs). It is killed
// when the calling thread ends, so that thread should last as long as the process.
//
// Done with clone(CLONE_VM | CLONE_VFORK), as posix_spawn does it: no page is copied, and nothing
// runs in the child but system calls. The thread waits until the program was loaded (about 0.2 ms).
// Not for gRPC's threads.
//
// A program that cannot be started: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (too long),
// FAILED_PRECONDITION (not a program, no such directory); UNAVAILABLE when the machine has no room
// for one more just now.
absl::StatusOr<Spawned> Spawn(const SpawnSpec& spec);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_SPAWN_H_
