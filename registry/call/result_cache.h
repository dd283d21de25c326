// Results of read-only tools that may be given again.
#ifndef TOOLRACK_REGISTRY_CALL_RESULT_CACHE_H_
#define TOOLRACK_REGISTRY_CALL_RESULT_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/result.pb.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

// By principal, definition digest and arguments, byte for byte: never another caller's result,
// never that of another definition. The least recently used go first when there are too many bytes.
// Thread-safe.
class ResultCache {
 public:
  // clock outlives this.
  ResultCache(const Clock* clock, const v1::ResultsConfig& config);

  // How long a result of this tool may be given again: 0 unless the tool says itself that it is
  // read-only, is shared, and either it or everything has a time set. `of_tool`: its own setting.
  absl::Duration TtlOf(const v1::Tool& tool, absl::Duration of_tool) const;
  static std::string KeyOf(absl::string_view principal, const v1::Tool& tool,
                           absl::string_view arguments_json);

  std::shared_ptr<const v1::ToolResult> Find(const std::string& key);
  // Not when it is an error, or larger than a sixteenth of the whole.
  void Put(const std::string& key, const v1::ToolResult& result, absl::Duration ttl);
  // Whether Find would find one; changes nothing.
  bool Has(const std::string& key) const;

  size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const v1::ToolResult> result;
    size_t bytes = 0;
    absl::Duration expires;
  };
  using Entries = std::list<Entry>;
  void Drop(Entries::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  const absl::Duration ttl_;
  const size_t max_bytes_;
  mutable absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);  // the least recently used first
  absl::flat_hash_map<std::string, Entries::iterator> by_key_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_RESULT_CACHE_H_
