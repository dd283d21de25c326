#include "server/rpc/admission.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "registry/base/errors.h"
#include "server/rpc/peer.h"

namespace toolrack {
namespace {

constexpr absl::string_view kScheme = "bearer ";
constexpr absl::string_view kUid = "uid:";
constexpr char kTcp[] = "tcp";
// Longer ones are not hashed.
constexpr size_t kMaxToken = 4096;

absl::StatusOr<std::string> Checked(const Principal& principal, AccessScope scope,
                                    absl::string_view method) {
  if (!principal.Has(scope)) return ScopeDenied(principal.name, ScopeName(scope), method);
  return principal.name;
}

}  // namespace

absl::StatusOr<std::string> Admission::Admit(const grpc::CallbackServerContext& context,
                                             AccessScope scope, absl::string_view method) const {
  const auto& metadata = context.client_metadata();
  const auto range = metadata.equal_range("authorization");
  if (range.first != range.second) {
    if (std::next(range.first) != range.second) {
      return TokenInvalid("there is more than one `authorization`; send one");
    }
    absl::string_view value(range.first->second.data(), range.first->second.size());
    if (!absl::StartsWithIgnoreCase(value, kScheme) || value.size() > kMaxToken) {
      return TokenInvalid("`authorization` must be `Bearer TOKEN`");
    }
    value = absl::StripAsciiWhitespace(value.substr(kScheme.size()));
    const Principal* principal = principals_->FindByToken(value);
    if (principal == nullptr) {
      return TokenInvalid(principals_->has_tokens()
                              ? "nobody has this token; see `principals` of the configuration"
                              : "no tokens are configured here; leave `authorization` out");
    }
    return Checked(*principal, scope, method);
  }
  std::string peer = PrincipalOf(context);
  if (peer == kTcp && principals_->has_tokens()) {
    return TokenInvalid("TCP needs a token: send the metadata `authorization: Bearer TOKEN`");
  }
  if (!principals_->empty() && absl::StartsWith(peer, kUid)) {
    const Principal* principal =
        principals_->FindByUid(absl::string_view(peer).substr(kUid.size()));
    if (principal != nullptr) return Checked(*principal, scope, method);
  }
  return peer;
}

}  // namespace toolrack
