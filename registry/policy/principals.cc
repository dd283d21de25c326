#include "registry/policy/principals.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/checks.h"

namespace toolrack {
namespace {

constexpr AccessScope kScopes[] = {AccessScope::kCall, AccessScope::kRegister, AccessScope::kHook,
                                   AccessScope::kRender, AccessScope::kAdmin};

bool Owns(const Principal& principal, absl::string_view ns) {
  return std::any_of(principal.namespaces.begin(), principal.namespaces.end(),
                     [ns](const std::string& glob) { return MatchesGlob(glob, ns); });
}

}  // namespace

absl::string_view ScopeName(AccessScope scope) {
  switch (scope) {
    case AccessScope::kCall:
      return "call";
    case AccessScope::kRegister:
      return "register";
    case AccessScope::kHook:
      return "hook";
    case AccessScope::kRender:
      return "render";
    case AccessScope::kAdmin:
      return "admin";
  }
  return "";
}

bool Principal::Has(AccessScope scope) const {
  return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
}

Principals::Principals(const google::protobuf::RepeatedPtrField<v1::PrincipalConfig>& config) {
  for (const v1::PrincipalConfig& from : config) {
    Principal principal;
    principal.name = from.name();
    for (const AccessScope scope : kScopes) {
      for (const std::string& name : from.scopes()) {
        if (name == ScopeName(scope)) principal.scopes.push_back(scope);
      }
    }
    if (from.scopes().empty()) principal.scopes = {AccessScope::kCall, AccessScope::kRender};
    principal.namespaces.assign(from.namespaces().begin(), from.namespaces().end());
    principal.rate = {from.max_calls_per_minute(), from.call_burst()};
    principal.max_calls = from.max_calls();
    for (const std::string& hash : from.token_sha256()) {
      tokens_.push_back({absl::AsciiStrToLower(hash), principals_.size()});
    }
    for (const std::string& uid : from.uids()) by_uid_.emplace(uid, principals_.size());
    by_name_.emplace(principal.name, principals_.size());
    principals_.push_back(std::move(principal));
  }
}

const Principal* Principals::FindByToken(absl::string_view token) const {
  const std::string hash = Sha256Hex(token);
  size_t found = principals_.size();
  for (const Token& known : tokens_) {
    const bool same = known.sha256.size() == hash.size() &&
                      CRYPTO_memcmp(known.sha256.data(), hash.data(), hash.size()) == 0;
    found = same ? known.principal : found;
  }
  return found < principals_.size() ? &principals_[found] : nullptr;
}

const Principal* Principals::FindByUid(absl::string_view uid) const {
  const auto at = by_uid_.find(uid);
  return at == by_uid_.end() ? nullptr : &principals_[at->second];
}

const Principal* Principals::Find(absl::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &principals_[at->second];
}

absl::Status Principals::CheckNamespaceOwner(absl::string_view principal,
                                             absl::string_view ns) const {
  const Principal* me = Find(principal);
  if (me != nullptr && !me->namespaces.empty()) {
    return Owns(*me, ns) ? absl::OkStatus() : NamespaceDenied(ns, principal, "");
  }
  for (const Principal& other : principals_) {
    if (Owns(other, ns)) return NamespaceDenied(ns, principal, other.name);
  }
  return absl::OkStatus();
}

}  // namespace toolrack
