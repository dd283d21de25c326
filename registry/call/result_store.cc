#include "registry/call/result_store.h"

#include <algorithm>
#include <deque>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

constexpr uint64_t kDefaultRange = 64 << 10;
constexpr uint64_t kLargestRange = 1 << 20;
// Handles that are gone but still answered with "expired". 32 bytes each.
constexpr size_t kRememberedExpired = 4096;
// Each is an open file; descriptors are for connections.
constexpr size_t kMaxFiles = 256;

absl::Duration TtlOf(const v1::ResultsConfig& options) {
  const absl::Duration ttl =
      absl::Seconds(options.ttl().seconds()) + absl::Nanoseconds(options.ttl().nanos());
  return ttl > absl::ZeroDuration() ? ttl : absl::Minutes(10);
}

}  // namespace

struct ResultStore::State {
  struct Stored {
    std::string handle;
    std::string principal;
    std::string session_id;
    // Shared, so that a range is copied without the lock.
    std::shared_ptr<const ResultBody> body;
    bool in_memory = true;
    absl::Duration expires;
  };

  Clock* clock = nullptr;
  absl::Duration ttl;
  uint64_t max_bytes = 0;
  uint64_t max_spill_bytes = 0;
  std::unique_ptr<ResultSpill> spill;  // may be null

  mutable absl::Mutex mu;
  // All have the same ttl: oldest first is also first to expire.
  std::list<Stored> stored ABSL_GUARDED_BY(mu);
  absl::flat_hash_map<std::string, std::list<Stored>::iterator> by_handle ABSL_GUARDED_BY(mu);
  uint64_t bytes ABSL_GUARDED_BY(mu) = 0;
  // In files, those that are being written included.
  uint64_t spilled ABSL_GUARDED_BY(mu) = 0;
  size_t files ABSL_GUARDED_BY(mu) = 0;
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> by_session ABSL_GUARDED_BY(mu);
  // Whose it was: others do not learn that it ever was there.
  absl::flat_hash_map<std::string, std::string> expired ABSL_GUARDED_BY(mu);
  std::deque<std::string> expired_order ABSL_GUARDED_BY(mu);

  void DropOld(std::list<Stored>::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    const auto of_session = by_session.find(at->session_id);
    if (of_session != by_session.end()) {
      of_session->second.erase(at->handle);
      if (of_session->second.empty()) by_session.erase(of_session);
    }
    Drop(at);
  }

  // Makes room in memory.
  void DropFor(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    for (auto at = stored.begin(); bytes + size > max_bytes && at != stored.end();) {
      const auto next = std::next(at);
      if (at->in_memory) DropOld(at);
      at = next;
    }
  }

  void CountSpilled(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    spilled += size;
    ++files;
  }
  void UncountSpilled(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    spilled -= size;
    --files;
  }

  void Drop(std::list<Stored>::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    if (at->in_memory) {
      bytes -= at->body->size();
    } else {
      UncountSpilled(at->body->size());
    }
    by_handle.erase(at->handle);
    if (expired_order.size() >= kRememberedExpired) {
      expired.erase(expired_order.front());
      expired_order.pop_front();
    }
    expired.emplace(at->handle, std::move(at->principal));
    expired_order.push_back(std::move(at->handle));
    stored.erase(at);
  }

  void DropExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
    const absl::Duration now = clock->SteadyNow();
    while (!stored.empty() && stored.front().expires <= now) DropOld(stored.begin());
  }
};

ResultStore::ResultStore(Clock* clock, v1::ResultsConfig options,
                         std::unique_ptr<ResultSpill> spill)
    : state_(std::make_unique<State>()) {
  state_->clock = clock;
  state_->ttl = TtlOf(options);
  state_->max_bytes = options.max_stored_bytes() > 0 ? options.max_stored_bytes() : 64 << 20;
  state_->max_spill_bytes =
      options.max_spill_bytes() > 0 ? options.max_spill_bytes() : uint64_t{256} << 20;
  state_->spill = std::move(spill);
}

ResultStore::~ResultStore() = default;

std::string ResultStore::Put(std::string bytes, absl::string_view principal,
                             absl::string_view session_id) {
  const uint64_t size = bytes.size();
  bool spill = false;
  if (state_->spill != nullptr) {
    absl::MutexLock lock(&state_->mu);
    state_->DropExpired();
    spill = state_->bytes + size > state_->max_bytes &&
            state_->spilled + size <= state_->max_spill_bytes && state_->files < kMaxFiles;
    if (spill) state_->CountSpilled(size);
  }
  State::Stored entry;
  if (spill) {
    absl::StatusOr<std::shared_ptr<const ResultBody>> body = state_->spill->Write(bytes);
    if (body.ok()) {
      entry.body = *std::move(body);
      entry.in_memory = false;
    } else {
      LogWarning(body.status().message());
      absl::MutexLock lock(&state_->mu);
      state_->UncountSpilled(size);
    }
  }
  if (entry.body == nullptr) {
    if (size > state_->max_bytes) return "";
    entry.body = MakeMemoryBody(std::move(bytes));
  }
  entry.handle = RandomId();
  entry.principal = std::string(principal);
  entry.session_id = std::string(session_id);
  std::string handle = entry.handle;

  absl::MutexLock lock(&state_->mu);
  state_->DropExpired();
  if (entry.in_memory) {
    state_->DropFor(size);
    state_->bytes += size;
  }
  entry.expires = state_->clock->SteadyNow() + state_->ttl;
  if (!entry.session_id.empty()) state_->by_session[entry.session_id].insert(handle);
  state_->stored.push_back(std::move(entry));
  state_->by_handle.emplace(handle, std::prev(state_->stored.end()));
  return handle;
}

void ResultStore::CloseSession(const std::string& session_id) {
  absl::MutexLock lock(&state_->mu);
  const auto found = state_->by_session.find(session_id);
  if (found == state_->by_session.end()) return;
  const absl::flat_hash_set<std::string> handles = std::move(found->second);
  state_->by_session.erase(found);
  for (const std::string& handle : handles) state_->Drop(state_->by_handle.find(handle)->second);
}

absl::StatusOr<v1::ReadResultResponse> ResultStore::Read(const v1::ReadResultRequest& request,
                                                         absl::string_view principal) {
  std::shared_ptr<const ResultBody> body;
  {
    absl::MutexLock lock(&state_->mu);
    state_->DropExpired();
    const auto at = state_->by_handle.find(request.handle());
    if (at == state_->by_handle.end()) {
      const auto gone = state_->expired.find(request.handle());
      return ResultNotFound(request.handle(),
                            gone != state_->expired.end() && gone->second == principal);
    }
    if (at->second->principal != principal) return ResultNotFound(request.handle(), false);
    body = at->second->body;
  }
  uint64_t length = request.length() == 0 ? kDefaultRange : request.length();
  length = std::min(length, kLargestRange);
  const uint64_t from = std::min<uint64_t>(request.offset(), body->size());
  absl::StatusOr<std::string> data = body->Read(from, length);
  if (!data.ok()) return InternalError("the result store", data.status().message());
  v1::ReadResultResponse response;
  response.set_data(*std::move(data));
  response.set_total_bytes(body->size());
  response.set_eof(from + response.data().size() == body->size());
  return response;
}

uint64_t ResultStore::count() const {
  absl::MutexLock lock(&state_->mu);
  state_->DropExpired();
  return state_->stored.size();
}

uint64_t ResultStore::spilled() const {
  absl::MutexLock lock(&state_->mu);
  state_->DropExpired();
  return state_->spilled;
}

uint64_t ResultStore::bytes() const {
  absl::MutexLock lock(&state_->mu);
  state_->DropExpired();
  return state_->bytes;
}

}  // namespace toolrack
