#include "registry/call/result_cache.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/random.h"
#include "registry/call/steps.h"

namespace toolrack {
namespace {

constexpr size_t kDefaultBytes = 16 << 20;
constexpr size_t kShareOfOne = 16;
// What an entry costs beside its result.
constexpr size_t kOverhead = 256;

}  // namespace

ResultCache::ResultCache(const Clock* clock, const v1::ResultsConfig& config)
    : clock_(clock),
      ttl_(ToDuration(config.cache_ttl())),
      max_bytes_(config.max_cache_bytes() > 0 ? config.max_cache_bytes() : kDefaultBytes) {}

absl::Duration ResultCache::TtlOf(const v1::Tool& tool, absl::Duration of_tool) const {
  const absl::Duration ttl = of_tool > absl::ZeroDuration() ? of_tool : ttl_;
  const bool pure = tool.annotations().has_read_only() && tool.annotations().read_only() &&
                    tool.scope() != v1::TOOL_SCOPE_SESSION;
  return pure ? ttl : absl::ZeroDuration();
}

std::string ResultCache::KeyOf(absl::string_view principal, const v1::Tool& tool,
                               absl::string_view arguments_json) {
  return absl::StrCat(principal, absl::string_view("\0", 1), tool.digest(),
                      Sha256Hex(arguments_json));
}

void ResultCache::Drop(Entries::iterator at) {
  bytes_ -= at->bytes;
  by_key_.erase(at->key);
  entries_.erase(at);
}

std::shared_ptr<const v1::ToolResult> ResultCache::Find(const std::string& key) {
  const absl::Duration now = clock_->SteadyNow();
  absl::MutexLock lock(&mu_);
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return nullptr;
  if (at->second->expires <= now) {
    Drop(at->second);
    return nullptr;
  }
  entries_.splice(entries_.end(), entries_, at->second);
  return at->second->result;
}

void ResultCache::Put(const std::string& key, const v1::ToolResult& result, absl::Duration ttl) {
  const size_t bytes = result.ByteSizeLong() + key.size() + kOverhead;
  if (result.is_error() || bytes > max_bytes_ / kShareOfOne) return;
  auto copy = std::make_shared<const v1::ToolResult>(result);
  const absl::Duration expires = clock_->SteadyNow() + ttl;
  absl::MutexLock lock(&mu_);
  const auto there = by_key_.find(key);
  if (there != by_key_.end()) Drop(there->second);
  while (!entries_.empty() && bytes_ + bytes > max_bytes_) Drop(entries_.begin());
  entries_.push_back({key, std::move(copy), bytes, expires});
  by_key_.emplace(key, std::prev(entries_.end()));
  bytes_ += bytes;
}

bool ResultCache::Has(const std::string& key) const {
  absl::MutexLock lock(&mu_);
  const auto at = by_key_.find(key);
  return at != by_key_.end() && at->second->expires > clock_->SteadyNow();
}

size_t ResultCache::bytes() const {
  absl::MutexLock lock(&mu_);
  return bytes_;
}

}  // namespace toolrack
