// What a session says of how its model's output is read and answered.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_SESSION_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_SESSION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "registry/session_table.h"
#include "renderers/catalog.h"

namespace toolrack {

// By the renderer that the session was opened with, else the first one for its model.
// REQUEST_INVALID when it has neither, or the catalogue does not know the model.
absl::StatusOr<RendererSpec> RendererFor(const v1::Session& session);

// The same of the session with this id; none when there is no such session or it has no renderer.
std::optional<RendererSpec> SessionRenderer(SessionTable& sessions, const std::string& session_id,
                                            const std::string& principal);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_SESSION_H_
