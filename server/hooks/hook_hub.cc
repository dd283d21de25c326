#include "server/hooks/hook_hub.h"

#include <algorithm>
#include <utility>

#include "registry/base/errors.h"

namespace toolrack {

HookHub::HookHub(HookSession::Parts parts, HookSession::Options options)
    : parts_(parts), options_(std::move(options)) {}

std::shared_ptr<HookSession> HookHub::MakeSession(std::string principal,
                                                  std::shared_ptr<HookTransport> transport) const {
  HookSession::Options options = options_;
  options.principal = std::move(principal);
  return std::make_shared<HookSession>(parts_, std::move(options), std::move(transport));
}

void HookHub::Open(const std::shared_ptr<HookSession>& session) {
  bool shut;
  {
    absl::MutexLock lock(&mu_);
    shut = shut_;
    sessions_.erase(std::remove_if(sessions_.begin(), sessions_.end(),
                                   [](const auto& weak) { return weak.expired(); }),
                    sessions_.end());
    sessions_.push_back(session);
  }
  if (shut) session->End(Draining("daemon"));
}

void HookHub::Shutdown() {
  std::vector<std::weak_ptr<HookSession>> sessions;
  {
    absl::MutexLock lock(&mu_);
    shut_ = true;
    sessions.swap(sessions_);
  }
  for (const auto& weak : sessions) {
    if (const auto session = weak.lock()) session->End(Draining("daemon"));
  }
}

}  // namespace toolrack
