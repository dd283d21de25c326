// What the status page says about the process and the registry.
#ifndef TOOLRACK_SERVER_PROCESS_STATUS_H_
#define TOOLRACK_SERVER_PROCESS_STATUS_H_

#include "absl/time/time.h"
#include "registry/registry.h"
#include "toolrack/v1/admin_service.pb.h"

namespace toolrack {

// Times, pid, memory, threads and descriptors (from /proc; 0 where it cannot be read).
void FillProcessStatus(absl::Time start, absl::Duration uptime, v1::GetStatusResponse& out);
// Epoch, revisions, tools by state. Looks at every tool.
void FillRegistryStatus(const Registry& registry, v1::GetStatusResponse& out);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_STATUS_H_
