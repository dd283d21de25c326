#include "server/services/watch_set.h"

#include <utility>
#include <vector>

#include "registry/base/errors.h"

namespace toolrack {

absl::Status WatchSet::Add(uint64_t id, std::weak_ptr<Endable> stream) {
  absl::MutexLock lock(&mu_);
  if (!ended_.ok()) return ended_;
  if (streams_.size() >= max_) return TooManyAtOnce("limits.max_watchers", max_, "this daemon");
  streams_.emplace(id, std::move(stream));
  return absl::OkStatus();
}

void WatchSet::Remove(uint64_t id) {
  absl::MutexLock lock(&mu_);
  streams_.erase(id);
}

std::vector<std::shared_ptr<Endable>> WatchSet::Alive() const {
  std::vector<std::shared_ptr<Endable>> streams;
  for (const auto& [id, stream] : streams_) {
    if (std::shared_ptr<Endable> alive = stream.lock()) streams.push_back(std::move(alive));
  }
  return streams;
}

void WatchSet::EndAll(const absl::Status& status) {
  std::vector<std::shared_ptr<Endable>> streams;
  {
    absl::MutexLock lock(&mu_);
    ended_ = status;
    streams = Alive();
  }
  for (const std::shared_ptr<Endable>& stream : streams) stream->End(status);
}

void WatchSet::EndThose(const absl::Status& status) {
  std::vector<std::shared_ptr<Endable>> streams;
  {
    absl::MutexLock lock(&mu_);
    streams = Alive();
  }
  for (const std::shared_ptr<Endable>& stream : streams) stream->End(status);
}

size_t WatchSet::size() const {
  absl::MutexLock lock(&mu_);
  return streams_.size();
}

}  // namespace toolrack
