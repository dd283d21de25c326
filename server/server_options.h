// What the parts of a daemon make of its configuration.
#ifndef TOOLRACK_SERVER_SERVER_OPTIONS_H_
#define TOOLRACK_SERVER_SERVER_OPTIONS_H_

#include "registry/call/pipeline.h"
#include "registry/pins.h"
#include "registry/policy/principals.h"
#include "registry/registry.h"
#include "server/audit_log.h"
#include "server/backends/worker_hub.h"
#include "server/hooks/hook_session.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// All pointers outlive what the options are for.
PinMode PinModeOf(const v1::Config& config);
RegistryOptions ToRegistryOptions(const v1::Config& config, Pins* pins,
                                  const Principals* principals);
// `audit` may be null.
PipelineOptions ToPipelineOptions(const v1::Config& config, AuditLog* audit);
HookSession::Options ToHookOptions(const v1::Config& config, const Registry& registry);
WorkerHubOptions ToHubOptions(const v1::Config& config);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVER_OPTIONS_H_
