#include "server/server_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "server/config.h"

namespace toolrack {
namespace {

void LogCall(const CallRecord& call) {
  LogInfo(absl::StrCat("call id=", ForMessage(call.call_id), " tool=", ForMessage(call.tool),
                       " principal=", call.principal, " outcome=", call.outcome,
                       " us=", absl::ToInt64Microseconds(call.duration),
                       " in=", call.argument_bytes, " out=", call.result_bytes,
                       call.backend.empty() ? "" : " backend=", ForMessage(call.backend),
                       call.attempts > 1 ? absl::StrCat(" attempts=", call.attempts) : ""));
}

}  // namespace

PinMode PinModeOf(const v1::Config& config) {
  if (config.pinning() == "off") return PinMode::kOff;
  return config.pinning() == "enforce" ? PinMode::kEnforce : PinMode::kWarn;
}

RegistryOptions ToRegistryOptions(const v1::Config& config, Pins* pins,
                                  const Principals* principals) {
  RegistryOptions options;
  options.pins = pins;
  options.may_register = [principals](absl::string_view principal, absl::string_view ns) {
    return principals->CheckNamespaceOwner(principal, ns);
  };
  options.limits = config.limits();
  options.validation = config.validation();
  options.tools.assign(config.tools().begin(), config.tools().end());
  return options;
}

PipelineOptions ToPipelineOptions(const v1::Config& config, AuditLog* audit) {
  PipelineOptions options;
  options.limits = config.limits();
  options.results = config.results();
  options.breaker = config.breaker();
  options.max_attempts = config.workers().max_attempts();
  options.coerce = config.validation().coerce();
  const bool log = config.log().calls();
  if (log || audit != nullptr) {
    options.on_call = [log, audit](const CallRecord& call) {
      if (log && LogEnabled(LogLevel::kInfo)) LogCall(call);
      if (audit != nullptr) audit->Add(call);
    };
  }
  options.digest_arguments = audit != nullptr;
  if (audit != nullptr && config.audit().required()) {
    options.may_call = [audit] {
      return audit->writable() ? absl::OkStatus() : AuditUnavailable(audit->file());
    };
  }
  return options;
}

HookSession::Options ToHookOptions(const v1::Config& config, const Registry& registry) {
  HookSession::Options options;
  options.epoch = registry.epoch();
  // The control socket takes the largest result on top of what any message may have.
  options.max_message_bytes =
      config.results().max_result_bytes() + config.limits().max_message_bytes();
  options.max_queue = config.hooks().max_queue();
  options.results.max_bytes = config.results().max_result_bytes();
  options.results.max_json_depth = config.limits().max_json_depth();
  return options;
}

WorkerHubOptions ToHubOptions(const v1::Config& config) {
  WorkerHubOptions options;
  options.workers = config.workers();
  options.limits = config.limits();
  options.max_result_bytes = config.results().max_result_bytes();
  return options;
}

}  // namespace toolrack
