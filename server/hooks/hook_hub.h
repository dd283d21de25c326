// All streams of hooks.
#ifndef TOOLRACK_SERVER_HOOKS_HOOK_HUB_H_
#define TOOLRACK_SERVER_HOOKS_HOOK_HUB_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/hooks/hook_session.h"

namespace toolrack {

// Thread-safe. Outlives the server that serves its streams.
class HookHub {
 public:
  // `options.principal` is filled in for each stream.
  HookHub(HookSession::Parts parts, HookSession::Options options);

  // A session for a new stream. Call its Begin, then Open.
  std::shared_ptr<HookSession> MakeSession(std::string principal,
                                           std::shared_ptr<HookTransport> transport) const;
  // Puts it in the hub's care, or ends it, when the daemon is going away.
  void Open(const std::shared_ptr<HookSession>& session);
  // Ends every stream with DRAINING, new ones, too. Calls that wait for a verdict learn that it
  // will not come.
  void Shutdown();

 private:
  const HookSession::Parts parts_;
  const HookSession::Options options_;
  absl::Mutex mu_;
  bool shut_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::weak_ptr<HookSession>> sessions_ ABSL_GUARDED_BY(mu_);
};

// A new stream, in the hub's care. The reactor deletes itself when gRPC is done with it.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* MakeHookStream(
    HookHub* hub, grpc::CallbackServerContext* context, std::string principal);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_HOOKS_HOOK_HUB_H_
