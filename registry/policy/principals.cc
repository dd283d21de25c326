#include "registry/policy/principals.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

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

Principals::Principals(const Config& config) { Reload(config); }

void Principals::Reload(const Config& config) {
  auto table = std::make_unique<const Table>(config);
  absl::MutexLock lock(&mu_);
  table_.store(table.get(), std::memory_order_release);
  tables_.push_back(std::move(table));
}

Principals::Table::Table(const Config& config) {
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
      tokens.push_back({absl::AsciiStrToLower(hash), principals.size()});
    }
    for (const std::string& uid : from.uids()) by_uid.emplace(uid, principals.size());
    by_name.emplace(principal.name, principals.size());
    principals.push_back(std::move(principal));
  }
}

const Principal* Principals::FindByToken(absl::string_view token) const {
  const Table& now = table();
  const std::string hash = Sha256Hex(token);
  size_t found = now.principals.size();
  for (const Token& known : now.tokens) {
    const bool same = known.sha256.size() == hash.size() &&
                      CRYPTO_memcmp(known.sha256.data(), hash.data(), hash.size()) == 0;
    found = same ? known.principal : found;
  }
  return found < now.principals.size() ? &now.principals[found] : nullptr;
}

const Principal* Principals::FindByUid(absl::string_view uid) const {
  const Table& now = table();
  const auto at = now.by_uid.find(uid);
  return at == now.by_uid.end() ? nullptr : &now.principals[at->second];
}

const Principal* Principals::Table::Find(absl::string_view name) const {
  const auto at = by_name.find(name);
  return at == by_name.end() ? nullptr : &principals[at->second];
}

const Principal* Principals::Find(absl::string_view name) const { return table().Find(name); }

absl::Status Principals::CheckNamespaceOwner(absl::string_view principal,
                                             absl::string_view ns) const {
  const Table& now = table();
  const Principal* me = now.Find(principal);
  if (me != nullptr && !me->namespaces.empty()) {
    return Owns(*me, ns) ? absl::OkStatus() : NamespaceDenied(ns, principal, "");
  }
  for (const Principal& other : now.principals) {
    if (Owns(other, ns)) return NamespaceDenied(ns, principal, other.name);
  }
  return absl::OkStatus();
}

}  // namespace toolrack
