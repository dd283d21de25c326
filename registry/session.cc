#include "registry/session.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace toolrack {

Session::Session(v1::Session opened, PinnedToolsPtr pinned, absl::Duration ttl, absl::Duration now)
    : opened_(std::move(opened)),
      prompt_(std::move(pinned)),
      ttl_(ttl),
      last_used_ns_(absl::ToInt64Nanoseconds(now)) {}

void Session::Count(Ended ended, uint64_t argument_bytes, uint64_t result_bytes) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (ended == Ended::kToolError) tool_errors_.fetch_add(1, std::memory_order_relaxed);
  if (ended == Ended::kFailed) failed_.fetch_add(1, std::memory_order_relaxed);
  argument_bytes_.fetch_add(argument_bytes, std::memory_order_relaxed);
  result_bytes_.fetch_add(result_bytes, std::memory_order_relaxed);
}

v1::SessionCounters Session::counters() const {
  v1::SessionCounters out;
  out.set_calls(calls_.load(std::memory_order_relaxed));
  out.set_tool_errors(tool_errors_.load(std::memory_order_relaxed));
  out.set_failed(failed_.load(std::memory_order_relaxed));
  out.set_in_flight(in_flight_.load(std::memory_order_relaxed));
  out.set_argument_bytes(argument_bytes_.load(std::memory_order_relaxed));
  out.set_result_bytes(result_bytes_.load(std::memory_order_relaxed));
  return out;
}

Session::Loaded Session::Load(const v1::Tool& tool, size_t max_tools) {
  absl::MutexLock lock(&mu_);
  const auto at = loaded_.find(tool.name());
  if (at != loaded_.end()) {
    if (at->second == tool.digest()) return Loaded::kAlready;
    at->second = tool.digest();
    return Loaded::kNew;
  }
  if (loaded_.size() >= max_tools) return Loaded::kFull;
  loaded_.emplace(tool.name(), tool.digest());
  return Loaded::kNew;
}

bool Session::Unload(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  return loaded_.erase(name) > 0;
}

std::vector<v1::LoadedTool> Session::loaded_tools() const {
  absl::MutexLock lock(&mu_);
  std::vector<v1::LoadedTool> out;
  for (const auto& [name, digest] : loaded_) {
    v1::LoadedTool& tool = out.emplace_back();
    tool.set_name(name);
    tool.set_digest(digest);
  }
  return out;
}

PromptBase Session::Boundary(PinnedToolsPtr tools, const ToolVisibility& visible) {
  PromptBase base{std::move(tools), {}};
  {
    absl::MutexLock lock(&mu_);
    for (auto at = loaded_.begin(); at != loaded_.end();) {
      const PinnedTools::Item* item = base.tools->Find(at->first);
      if (item == nullptr || item->disabled || (visible && !visible(*item->definition))) {
        at = loaded_.erase(at);
        continue;
      }
      at->second = item->definition->tool.digest();
      base.loaded.push_back(at->first);
      ++at;
    }
  }
  prompt_.Rebase(base);
  return base;
}

bool Session::SawAnother(const v1::Tool& tool) const {
  absl::MutexLock lock(&mu_);
  const auto at = loaded_.find(tool.name());
  if (at != loaded_.end()) return at->second != tool.digest();
  return tool.revision() > pinned_revision();
}

std::shared_ptr<Backend> Session::Replica(const ToolEntry& entry) const {
  const std::string& ns = entry.definition->tool.namespace_();
  absl::MutexLock lock(&mu_);
  const auto known = routes_.find(ns);
  std::shared_ptr<Backend> same_name;
  if (known != routes_.end()) {
    const std::shared_ptr<Backend> before = known->second.backend.lock();
    for (const std::shared_ptr<Backend>& backend : entry.backends) {
      if (!backend->available()) continue;
      if (backend == before) return backend;
      if (backend->id() == known->second.id) same_name = backend;
    }
  }
  std::shared_ptr<Backend> chosen = std::move(same_name);
  if (chosen == nullptr) {
    size_t best = 0;
    for (const std::shared_ptr<Backend>& backend : entry.backends) {
      if (!backend->available()) continue;
      const size_t weight = absl::HashOf(id(), backend->id());
      if (chosen == nullptr || weight > best) {
        chosen = backend;
        best = weight;
      }
    }
  }
  if (chosen != nullptr) routes_[ns] = Route{chosen, chosen->id()};
  return chosen;
}

SessionLease::SessionLease(std::shared_ptr<Session> session, Clock* clock)
    : session_(std::move(session)), clock_(clock) {
  session_->in_flight_.fetch_add(1);
}

SessionLease& SessionLease::operator=(SessionLease&& other) noexcept {
  Release();
  session_ = std::move(other.session_);
  clock_ = other.clock_;
  return *this;
}

void SessionLease::Release() {
  if (session_ == nullptr) return;
  // Used until now; in this order, so that nobody sees it idle since before the call.
  session_->last_used_ns_.store(absl::ToInt64Nanoseconds(clock_->SteadyNow()));
  session_->in_flight_.fetch_sub(1);
  session_.reset();
}

}  // namespace toolrack
