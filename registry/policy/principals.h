// Who may come: the principals of the configuration, their tokens, scopes, namespaces and limits.
#ifndef TOOLRACK_REGISTRY_POLICY_PRINCIPALS_H_
#define TOOLRACK_REGISTRY_POLICY_PRINCIPALS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/repeated_field.h"
#include "registry/limits/rate.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// What somebody may do at all; the socket must carry it, too.
enum class AccessScope { kCall, kRegister, kHook, kRender, kAdmin };
// "call", "register", "hook", "render", "admin".
absl::string_view ScopeName(AccessScope scope);

struct Principal {
  std::string name;
  std::vector<AccessScope> scopes;
  std::vector<std::string> namespaces;  // globs
  Rate rate;                            // 0: as for everybody
  uint64_t max_calls = 0;               // 0: as for everybody

  bool Has(AccessScope scope) const;
};

// Thread-safe. The configuration must have been checked (server/config.h). Principals that it gives
// live as long as it does.
class Principals {
 public:
  using Config = google::protobuf::RepeatedPtrField<v1::PrincipalConfig>;
  explicit Principals(const Config& config);

  // These instead, for whoever comes from now on. The earlier ones are kept: reloads are rare.
  void Reload(const Config& config);

  // Whose token it is; null: nobody's. The token's SHA-256 is compared with every hash of the
  // configuration, each in constant time: how long it takes tells nothing of what is in them.
  const Principal* FindByToken(absl::string_view token) const;
  const Principal* FindByUid(absl::string_view uid) const;  // decimal
  const Principal* Find(absl::string_view name) const;
  bool has_tokens() const { return !table().tokens.empty(); }
  bool empty() const { return table().principals.empty(); }

  // Whether `principal` may register tools under `ns` (empty: under none). A namespace that some
  // principals own is theirs alone, and who owns namespaces has no others. POLICY_DENIED.
  absl::Status CheckNamespaceOwner(absl::string_view principal, absl::string_view ns) const;

 private:
  struct Token {
    std::string sha256;  // 64 lower-case hex digits
    size_t principal;
  };
  struct Table {
    explicit Table(const Config& config);
    const Principal* Find(absl::string_view name) const;
    std::vector<Principal> principals;
    std::vector<Token> tokens;
    absl::flat_hash_map<std::string, size_t> by_name;
    absl::flat_hash_map<std::string, size_t> by_uid;
  };
  const Table& table() const { return *table_.load(std::memory_order_acquire); }

  std::atomic<const Table*> table_;
  absl::Mutex mu_;
  std::vector<std::unique_ptr<const Table>> tables_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_POLICY_PRINCIPALS_H_
