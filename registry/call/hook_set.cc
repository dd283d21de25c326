#include "registry/call/hook_set.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/proto_time.h"
#include "registry/tool_filter.h"

namespace toolrack {
namespace {

absl::Duration DurationOr(const google::protobuf::Duration& from, absl::Duration fallback) {
  const absl::Duration duration = ToDuration(from);
  return duration > absl::ZeroDuration() ? duration : fallback;
}

bool IsHookName(absl::string_view name) {
  if (name.empty() || name.size() > 128) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':' || c == '/' || c == '-';
  });
}

bool Before(const std::shared_ptr<HookSeat>& a, const std::shared_ptr<HookSeat>& b) {
  if (a->spec().priority != b->spec().priority) return a->spec().priority > b->spec().priority;
  return a->spec().name < b->spec().name;
}

uint64_t NewVersion() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

}  // namespace

HookSeat::HookSeat(std::shared_ptr<Hook> hook, absl::Time since)
    : hook_(std::move(hook)), since_(since) {
  for (const v1::HookPoint point : spec().points) points_ |= 1u << point;
}

v1::HookInfo HookSeat::Describe() const {
  v1::HookInfo info;
  const HookSpec& spec = hook_->spec();
  info.set_hook_name(spec.name);
  info.set_principal(spec.principal);
  for (const v1::HookPoint point : spec.points) info.add_points(point);
  *info.mutable_filter() = spec.filter;
  info.set_priority(spec.priority);
  SetDuration(spec.timeout, *info.mutable_timeout());
  info.set_failure_mode(spec.fail_closed ? v1::HOOK_FAILURE_MODE_FAIL_CLOSED
                                         : v1::HOOK_FAILURE_MODE_FAIL_OPEN);
  info.set_observe_only(spec.observe_only);
  info.set_dry_run(spec.dry_run);
  SetTimestamp(since_, *info.mutable_attach_time());
  info.set_in_flight(in_flight_.load(std::memory_order_relaxed));
  info.set_events(events_.load(std::memory_order_relaxed));
  for (size_t i = 0; i < verdicts_.size(); ++i) {
    const uint64_t count = verdicts_[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    (*info.mutable_verdicts())[HookActionName(static_cast<HookVerdict::Action>(i))] = count;
  }
  info.set_failed(failed_.load(std::memory_order_relaxed));
  hook_->Describe(info);
  return info;
}

HookSet::HookSet(Clock* clock, const v1::HooksConfig& config)
    : clock_(clock),
      default_timeout_(DurationOr(config.default_timeout(), absl::Seconds(1))),
      max_timeout_(DurationOr(config.max_timeout(), absl::Minutes(10))),
      max_hooks_(config.max_hooks() > 0 ? config.max_hooks() : 100) {}

absl::Status HookSet::Check(const HookSpec& spec) const {
  if (!IsHookName(spec.name)) {
    return RequestInvalid("hook_name", spec.name, "1 to 128 of [A-Za-z0-9_.:/-]");
  }
  if (spec.points.empty()) {
    return RequestInvalid("points", "", "at least one of PRE_CALL, POST_CALL, ON_ERROR");
  }
  for (const v1::HookPoint point : spec.points) {
    if (point == v1::HOOK_POINT_UNSPECIFIED || !v1::HookPoint_IsValid(point)) {
      return RequestInvalid("points", absl::StrCat(static_cast<int>(point)),
                            "PRE_CALL, POST_CALL or ON_ERROR");
    }
  }
  if (spec.timeout <= absl::ZeroDuration() || spec.timeout > max_timeout_) {
    return RequestInvalid("timeout", absl::FormatDuration(spec.timeout),
                          absl::StrCat("more than 0 and at most hooks.max_timeout, ",
                                       absl::FormatDuration(max_timeout_)));
  }
  return CheckToolFilter("filter", spec.filter);
}

absl::StatusOr<std::shared_ptr<Hook>> HookSet::Add(std::shared_ptr<Hook> hook) {
  if (absl::Status fault = Check(hook->spec()); !fault.ok()) return fault;
  const HookSpec& spec = hook->spec();
  std::shared_ptr<HookSeat> before;
  const auto seat = std::make_shared<HookSeat>(hook, clock_->WallNow());
  absl::MutexLock lock(&mu_);
  Seats seats = *seats_;
  for (auto at = seats.begin(); at != seats.end(); ++at) {
    if ((*at)->spec().name != spec.name) continue;
    if ((*at)->spec().principal != spec.principal) {
      return NameTaken(absl::StrCat("hook ", spec.name), (*at)->spec().principal);
    }
    before = *at;
    seats.erase(at);
    break;
  }
  if (seats.size() >= max_hooks_) return TooManyAtOnce("hooks.max_hooks", max_hooks_, "the daemon");
  seats.insert(std::upper_bound(seats.begin(), seats.end(), seat, Before), seat);
  Replace(std::move(seats));
  if (before == nullptr) return std::shared_ptr<Hook>();
  return before->shared_hook();
}

void HookSet::Remove(const Hook* hook) {
  absl::MutexLock lock(&mu_);
  Seats seats = *seats_;
  const auto at = std::find_if(seats.begin(), seats.end(),
                               [hook](const auto& seat) { return &seat->hook() == hook; });
  if (at == seats.end()) return;
  seats.erase(at);
  Replace(std::move(seats));
}

void HookSet::Replace(Seats seats) {
  const uint64_t version = seats.empty() ? 0 : NewVersion();
  seats_ = std::make_shared<const Seats>(std::move(seats));
  version_.store(version, std::memory_order_release);
}

HookSet::Seats HookSet::For(const ToolDefinition& tool) const {
  std::shared_ptr<const Seats> all;
  uint64_t version;
  {
    absl::MutexLock lock(&mu_);
    all = seats_;
    version = version_.load(std::memory_order_relaxed);
  }
  Seats out;
  for (const auto& seat : *all) {
    if (Matches(seat->spec().filter, tool)) out.push_back(seat);
  }
  if (out.empty()) tool.unhooked_at.store(version, std::memory_order_relaxed);
  return out;
}

std::vector<v1::HookInfo> HookSet::List() const {
  std::shared_ptr<const Seats> all;
  {
    absl::MutexLock lock(&mu_);
    all = seats_;
  }
  std::vector<v1::HookInfo> out;
  for (const auto& seat : *all) out.push_back(seat->Describe());
  return out;
}

size_t HookSet::size() const {
  absl::MutexLock lock(&mu_);
  return seats_->size();
}

}  // namespace toolrack
