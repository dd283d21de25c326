#include "server/rpc/method_stats.h"

#include <algorithm>

namespace toolrack {

v1::MethodStatus MethodStats::ToProto() const {
  v1::MethodStatus out;
  out.set_method(name_);
  // Ends first: what ended has started, whatever happens in between.
  for (size_t code = 0; code < ended_.size(); ++code) {
    const uint64_t count = ended_[code].load(std::memory_order_relaxed);
    out.set_ended(out.ended() + count);
    if (code != 0 && count != 0) {
      (*out.mutable_failed())[absl::StatusCodeToString(static_cast<absl::StatusCode>(code))] =
          count;
    }
  }
  out.set_started(std::max(started_.load(std::memory_order_relaxed), out.ended()));
  return out;
}

MethodStats* MethodTable::Get(const std::string& name) {
  absl::MutexLock lock(&mu_);
  for (MethodStats& method : methods_) {
    if (method.name() == name) return &method;
  }
  return &methods_.emplace_back(name);
}

std::vector<v1::MethodStatus> MethodTable::List() const {
  std::vector<v1::MethodStatus> out;
  absl::MutexLock lock(&mu_);
  for (const MethodStats& method : methods_) {
    v1::MethodStatus one = method.ToProto();
    if (one.started() > 0) out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(), [](const v1::MethodStatus& a, const v1::MethodStatus& b) {
    return a.method() < b.method();
  });
  return out;
}

}  // namespace toolrack
