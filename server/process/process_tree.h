// What a process has started, also what has left its process group.
#ifndef TOOLRACK_SERVER_PROCESS_PROCESS_TREE_H_
#define TOOLRACK_SERVER_PROCESS_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace toolrack {

// A process that is not mistaken for a later one with its number.
struct ProcessId {
  pid_t pid = -1;
  uint64_t start_time = 0;  // in ticks since the machine started
  bool operator==(const ProcessId&) const = default;
};

// All descendants of these, from /proc: those whose parents, grandparents and so on are still
// there. Who was orphaned before belongs to init by then and is not found. Takes milliseconds.
std::vector<ProcessId> DescendantsOf(const std::vector<ProcessId>& roots);
// The process that has this number now; `start_time` is 0 when there is none.
ProcessId ProcessOf(pid_t pid);

// Kills these and all their descendants. They are stopped first, until no new ones come up: none
// can start another one and get away.
void KillTrees(std::vector<ProcessId> roots);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_PROCESS_TREE_H_
