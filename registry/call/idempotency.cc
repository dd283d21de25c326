#include "registry/call/idempotency.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/random.h"
#include "registry/call/steps.h"

namespace toolrack {
namespace {

constexpr size_t kDepth = 1000;  // as deep as protobuf reads
constexpr size_t kDefaultKeys = 10000;
constexpr size_t kDefaultBytes = 64 << 20;
constexpr absl::Duration kDefaultTtl = absl::Minutes(10);

// One long result must not push out all the others.
constexpr size_t kShareOfOne = 8;

using What = IdempotencyKeys::Answer::What;

}  // namespace

std::string FingerprintOf(const v1::CallToolRequest& request) {
  std::string input;
  switch (request.input_case()) {
    case v1::CallToolRequest::kArgumentsJson:
      input = absl::StrCat("j", request.arguments_json());
      break;
    case v1::CallToolRequest::kInputText:
      input = absl::StrCat("t", request.input_text());
      break;
    case v1::CallToolRequest::kArguments: {
      // A map has no order on the wire; as JSON its keys are sorted.
      const absl::StatusOr<std::string> text = StructToJson(request.arguments(), kDepth);
      input = absl::StrCat("s", text.ok() ? *text : "");
      break;
    }
    case v1::CallToolRequest::INPUT_NOT_SET:
      break;
  }
  return Sha256Hex(absl::StrCat(request.name().size(), ":", request.name(),
                                request.session_id().size(), ":", request.session_id(), input));
}

IdempotencyKeys::IdempotencyKeys(const Clock* clock, const v1::LimitsConfig& limits)
    : clock_(clock),
      ttl_(limits.has_idempotency_ttl() ? ToDuration(limits.idempotency_ttl()) : kDefaultTtl),
      max_keys_(limits.max_idempotency_keys() > 0 ? limits.max_idempotency_keys() : kDefaultKeys),
      max_bytes_(kDefaultBytes) {}

std::string IdempotencyKeys::KeyOf(absl::string_view principal, absl::string_view key) {
  return absl::StrCat(principal, absl::string_view("\0", 1), key);
}

IdempotencyKeys::OutcomePtr IdempotencyKeys::TakeOutcome(Entry& entry) {
  if (entry.outcome == nullptr) return nullptr;
  bytes_ -= std::exchange(entry.bytes, 0);
  kept_.erase(entry.kept);
  return std::move(entry.outcome);
}

void IdempotencyKeys::DropOver(absl::Duration now) {
  while (!ended_.empty()) {
    const auto oldest = entries_.find(ended_.front());
    if (oldest->second.expires > now) return;
    TakeOutcome(oldest->second);
    entries_.erase(oldest);
    ended_.pop_front();
  }
}

IdempotencyKeys::Answer IdempotencyKeys::Enter(absl::string_view principal, absl::string_view tool,
                                               absl::string_view key, absl::string_view fingerprint,
                                               Wake wake) {
  std::string whole = KeyOf(principal, key);
  absl::MutexLock lock(&mu_);
  DropOver(clock_->SteadyNow());
  const auto at = entries_.find(whole);
  if (at == entries_.end()) {
    if (entries_.size() >= max_keys_) {
      return {What::kRefused, nullptr,
              QueueFull("limits.max_idempotency_keys", max_keys_, "idempotency keys"), 0};
    }
    entries_[std::move(whole)].fingerprint = std::string(fingerprint);
    return {};
  }
  Entry& entry = at->second;
  if (entry.fingerprint != fingerprint) {
    return {What::kRefused, nullptr, IdempotencyKeyReused(tool, key), 0};
  }
  if (!entry.ended) {
    entry.waiting.emplace_back(++last_waiter_, std::move(wake));
    return {What::kWait, nullptr, absl::OkStatus(), last_waiter_};
  }
  if (entry.outcome == nullptr) {
    return {What::kRefused, nullptr, OutcomeNotKept(tool, key), 0};
  }
  return {What::kKnown, entry.outcome, absl::OkStatus(), 0};
}

absl::Status IdempotencyKeys::Check(absl::string_view principal, absl::string_view tool,
                                    absl::string_view key, absl::string_view fingerprint) const {
  absl::MutexLock lock(&mu_);
  const auto at = entries_.find(KeyOf(principal, key));
  if (at == entries_.end() || (at->second.ended && at->second.expires <= clock_->SteadyNow())) {
    return absl::OkStatus();
  }
  if (at->second.fingerprint != fingerprint) return IdempotencyKeyReused(tool, key);
  return at->second.ended && at->second.outcome == nullptr ? OutcomeNotKept(tool, key)
                                                           : absl::OkStatus();
}

void IdempotencyKeys::Forget(absl::string_view principal, absl::string_view key, uint64_t waiter) {
  Wake dropped;
  absl::MutexLock lock(&mu_);
  const auto at = entries_.find(KeyOf(principal, key));
  if (at == entries_.end()) return;
  auto& waiting = at->second.waiting;
  const auto found = std::find_if(waiting.begin(), waiting.end(),
                                  [waiter](const auto& each) { return each.first == waiter; });
  if (found == waiting.end()) return;
  dropped = std::move(found->second);
  waiting.erase(found);
}

void IdempotencyKeys::End(absl::string_view principal, absl::string_view key, Outcome outcome) {
  const bool executed = outcome.ok() || !SurelyNotExecuted(outcome.status());
  const size_t bytes = outcome.ok() ? outcome->ByteSizeLong() : outcome.status().message().size();
  const OutcomePtr shared = std::make_shared<const Outcome>(std::move(outcome));
  std::vector<std::pair<uint64_t, Wake>> waiting;
  std::vector<OutcomePtr> garbage;  // freed without the lock
  {
    std::string whole = KeyOf(principal, key);
    absl::MutexLock lock(&mu_);
    const auto at = entries_.find(whole);
    if (at == entries_.end()) return;
    Entry& entry = at->second;
    waiting = std::move(entry.waiting);
    entry.waiting.clear();
    if (!executed) {
      entries_.erase(at);
    } else {
      entry.ended = true;
      entry.expires = clock_->SteadyNow() + ttl_;
      ended_.push_back(whole);
      if (bytes <= max_bytes_ / kShareOfOne) {
        entry.outcome = shared;
        entry.bytes = bytes;
        entry.kept = kept_.insert(kept_.end(), whole);
        bytes_ += bytes;
      }
      while (bytes_ > max_bytes_) {
        garbage.push_back(TakeOutcome(entries_.find(kept_.front())->second));
      }
    }
  }
  for (auto& [number, wake] : waiting) wake(shared);
}

size_t IdempotencyKeys::size() const {
  absl::MutexLock lock(&mu_);
  return entries_.size();
}

}  // namespace toolrack
