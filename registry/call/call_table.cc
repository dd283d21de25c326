#include "registry/call/call_table.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

// Principals without a call stay known up to this many a shard, so that a principal with one call
// at a time does not allocate for each.
constexpr size_t kIdlePrincipals = 64;

}  // namespace

CallTable::~CallTable() {
  if (in_flight() != 0)
    std::abort();  // the owner did not wait: running calls would use freed memory
}

CallTable::Principals& CallTable::PrincipalsOf(absl::string_view principal) const {
  return principals_[absl::Hash<absl::string_view>()(principal) % kShards];
}

absl::Status CallTable::InFlightFull() const {
  return TooManyAtOnce("limits.max_calls_in_flight", limits_.max_in_flight, "all callers");
}

absl::Status CallTable::PrincipalFull(absl::string_view principal,
                                      uint64_t max_of_principal) const {
  if (max_of_principal > 0) {
    return TooManyAtOnce("principals.max_calls", max_of_principal,
                         absl::StrCat("the caller ", principal));
  }
  return TooManyAtOnce("limits.max_calls_per_principal", limits_.max_per_principal,
                       absl::StrCat("the caller ", principal));
}

absl::Status CallTable::Check(absl::string_view principal, uint64_t max_of_principal) const {
  if (draining_.load()) return Draining("daemon");
  if (in_flight() >= limits_.max_in_flight) return InFlightFull();
  Principals& principals = PrincipalsOf(principal);
  absl::MutexLock lock(&principals.mu);
  const auto at = principals.calls.find(principal);
  const uint64_t max = max_of_principal > 0 ? max_of_principal : limits_.max_per_principal;
  const bool full = at != principals.calls.end() && at->second >= max;
  return full ? PrincipalFull(principal, max_of_principal) : absl::OkStatus();
}

absl::Status CallTable::Enter(RunningCall& call, uint64_t max_of_principal) {
  // Counted before the flag is read: whoever drains and then sees 0 in flight knows that no call
  // slips in.
  const uint64_t before = in_flight_.fetch_add(1);
  absl::Status fault;
  if (draining_.load()) {
    fault = Draining("daemon");
  } else if (before >= limits_.max_in_flight) {
    fault = InFlightFull();
  } else {
    Principals& principals = PrincipalsOf(call.principal);
    absl::MutexLock lock(&principals.mu);
    uint64_t& calls = principals.calls[call.principal];
    if (calls < (max_of_principal > 0 ? max_of_principal : limits_.max_per_principal)) {
      ++calls;
    } else {
      fault = PrincipalFull(call.principal, max_of_principal);
    }
  }
  if (!fault.ok()) {
    in_flight_.fetch_sub(1);
    return fault;
  }
  call.number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  Shard& shard = ShardOf(call);
  absl::MutexLock lock(&shard.mu);
  call.next = shard.first;
  if (call.next != nullptr) call.next->previous = &call;
  shard.first = &call;
  return absl::OkStatus();
}

void CallTable::Leave(RunningCall& call) {
  {
    Shard& shard = ShardOf(call);
    absl::MutexLock lock(&shard.mu);
    if (call.previous != nullptr) {
      call.previous->next = call.next;
    } else {
      shard.first = call.next;
    }
    if (call.next != nullptr) call.next->previous = call.previous;
  }
  {
    Principals& principals = PrincipalsOf(call.principal);
    absl::MutexLock lock(&principals.mu);
    const auto at = principals.calls.find(call.principal);
    if (--at->second == 0 && principals.calls.size() > kIdlePrincipals) principals.calls.erase(at);
  }
  in_flight_.fetch_sub(1);  // the last touch: see CallPipeline
}

void CallTable::SetTool(RunningCall& call, std::string tool) {
  Shard& shard = ShardOf(call);
  absl::MutexLock lock(&shard.mu);
  call.tool = std::move(tool);
}

void CallTable::SetBackend(RunningCall& call, const Backend* backend) {
  Shard& shard = ShardOf(call);
  absl::MutexLock lock(&shard.mu);
  call.backend = backend;
}

std::vector<CallTable::Row> CallTable::Rows() const {
  std::vector<Row> rows;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    for (const RunningCall* call = shard.first; call != nullptr; call = call->next) {
      rows.push_back({call->call_id, call->tool, call->principal, call->session_id,
                      call->backend == nullptr ? "" : call->backend->id(), call->start,
                      call->number});
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.number < b.number; });
  return rows;
}

uint32_t CallTable::Stop(const absl::string_view* call_id, StopReason reason) {
  // The sources are copied out: a stop runs the call's end, which takes the shard's lock.
  std::vector<StopSource> sources;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    for (const RunningCall* call = shard.first; call != nullptr; call = call->next) {
      if (call_id == nullptr || call->call_id == *call_id) sources.push_back(call->stop);
    }
  }
  uint32_t stopped = 0;
  for (StopSource& source : sources) stopped += source.RequestStop(reason) ? 1 : 0;
  return stopped;
}

}  // namespace toolrack
