#include "server/services/dispatch_session.h"

#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

namespace toolrack {

absl::StatusOr<RendererSpec> RendererFor(const v1::Session& session) {
  if (!session.renderer().empty()) return FindRenderer(session.renderer());
  if (session.model().empty()) {
    return RequestInvalid("session_id", session.session_id(),
                          "a session that was opened with a renderer or a model");
  }
  const v1::ResolveRendererResponse found = ResolveRenderer(session.model());
  if (found.renderers().empty()) {
    return RequestInvalid("session_id", session.session_id(),
                          "a session whose model the catalogue knows; open it with a renderer");
  }
  return FindRenderer(found.renderers(0).name());
}

std::optional<RendererSpec> SessionRenderer(SessionTable& sessions, const std::string& session_id,
                                            const std::string& principal) {
  if (session_id.empty()) return std::nullopt;
  const absl::StatusOr<v1::Session> session = sessions.Get(session_id, principal);
  if (!session.ok()) return std::nullopt;
  const absl::StatusOr<RendererSpec> spec = RendererFor(*session);
  if (!spec.ok()) return std::nullopt;
  return *spec;
}

}  // namespace toolrack
