#include "server/backends/worker_hub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/base/proto_time.h"
#include "server/backends/worker_hub_state.h"

namespace toolrack {
namespace {

// How long a superseded stream may still serve what its successor has not published yet.
constexpr absl::Duration kSettle = absl::Seconds(2);
// Streams of one worker at once: a successor, and predecessors with long calls.
constexpr size_t kMaxStreamsOfOneWorker = 16;
constexpr uint32_t kDefaultCredit = 64;

absl::Duration DurationOr(const google::protobuf::Duration& from, absl::Duration fallback) {
  const absl::Duration duration = ToDuration(from);
  return duration > absl::ZeroDuration() ? duration : fallback;
}

template <typename T>
T Or(T value, T fallback) {
  return value == 0 ? fallback : value;
}

}  // namespace

WorkerHub::State::State(Parts parts, WorkerHubOptions options)
    : parts_(parts),
      options_(std::move(options)),
      worker_grace_(DurationOr(options_.workers.worker_grace(), absl::Seconds(30))) {
  WorkerSession::Options& session = session_options_;
  const v1::WorkersConfig& workers = options_.workers;
  const v1::LimitsConfig& limits = options_.limits;
  session.ping_interval = DurationOr(workers.ping_interval(), absl::Seconds(10));
  session.ping_timeout = DurationOr(workers.ping_timeout(), absl::Seconds(5));
  session.max_in_flight = Or(workers.max_in_flight(), 10000u);
  session.default_in_flight = std::min(kDefaultCredit, session.max_in_flight);
  session.max_queue = Or(limits.max_queue_per_worker(), 1024u);
  session.results.max_bytes = Or<uint64_t>(options_.max_result_bytes, 16 << 20);
  session.results.max_json_depth = Or(limits.max_json_depth(), 64u);
  session.sets.max_tools = Or(limits.max_tools_per_worker(), 10000u);
  v1::WorkerLimits& told = session.limits;
  // The worker's socket takes the largest result on top of what any message may have.
  told.set_max_message_bytes(Or<uint64_t>(limits.max_message_bytes(), 4 << 20) +
                             session.results.max_bytes);
  told.set_max_tools(static_cast<uint32_t>(session.sets.max_tools));
  told.set_max_schema_bytes(Or<uint64_t>(limits.max_schema_bytes(), 256 << 10));
  told.set_max_description_bytes(Or<uint64_t>(limits.max_description_bytes(), 64 << 10));
  told.set_max_result_bytes(session.results.max_bytes);
  SetDuration(session.ping_interval, *told.mutable_ping_interval());
  SetDuration(session.ping_timeout, *told.mutable_ping_timeout());
}

std::shared_ptr<WorkerSession> WorkerHub::State::MakeSession(
    std::string principal, std::shared_ptr<WorkerTransport> transport) {
  WorkerSession::Options options = session_options_;
  options.principal = std::move(principal);
  return std::make_shared<WorkerSession>(
      WorkerSession::Parts{parts_.registry, parts_.timers, parts_.clock, parts_.executor, gate_,
                           shared_from_this(), parts_.sessions},
      std::move(options), std::move(transport));
}

void WorkerHub::State::Open(const std::shared_ptr<WorkerSession>& session) {
  bool refused;
  {
    absl::MutexLock lock(&mu_);
    refused = draining_ || shut_;
    if (!refused && !session->over()) open_[session.get()] = session;
  }
  if (refused) session->End(Draining("daemon"));
}

absl::Status WorkerHub::State::Admit(const std::shared_ptr<WorkerSession>& session,
                                     const std::string& worker_name) {
  std::vector<std::shared_ptr<WorkerSession>> predecessors;
  {
    absl::MutexLock lock(&mu_);
    if (draining_ || shut_) return Draining("daemon");
    size_t live = 0;
    size_t mine = 0;
    for (const Attachment& other : attachments_) {
      if (other.state == Attachment::kLost) continue;
      ++live;
      if (other.name == worker_name && other.session->principal() == session->principal()) ++mine;
    }
    const size_t max_workers = Or(options_.workers.max_workers(), 1000u);
    if (mine == 0 && live >= max_workers)
      return TooManyAtOnce("max_workers", max_workers, "the daemon");
    if (mine >= kMaxStreamsOfOneWorker) {
      return TooManyAtOnce("streams of one worker", kMaxStreamsOfOneWorker,
                           absl::StrCat("the worker ", worker_name));
    }
    for (Attachment& other : attachments_) {
      if (other.state != Attachment::kAttached || other.name != worker_name ||
          other.session->principal() != session->principal()) {
        continue;
      }
      other.state = Attachment::kSuperseded;
      predecessors.push_back(other.session);
    }
    Attachment& added = attachments_.emplace_back();
    added.session = session;
    added.name = worker_name;
    added.since = parts_.clock->WallNow();
  }
  for (const auto& old : predecessors) {
    LogInfo(absl::StrCat("worker ", worker_name, " attached anew as ", session->worker_id(),
                         " and takes over from ", old->worker_id()));
    old->SendDrain(std::nullopt);
    ArmSettle(old, session, worker_grace_);
  }
  return absl::OkStatus();
}

void WorkerHub::State::ArmSettle(const std::shared_ptr<WorkerSession>& old,
                                 const std::shared_ptr<WorkerSession>& successor,
                                 absl::Duration left) {
  const absl::Duration delay = std::min(kSettle, left);
  parts_.timers->Arm(delay, [hub = weak_from_this(), old = std::weak_ptr(old),
                             successor = std::weak_ptr(successor), left = left - delay] {
    const auto self = hub.lock();
    const auto before = old.lock();
    const auto after = successor.lock();
    if (self != nullptr && before != nullptr) self->SettleTakeOver(before, after, left);
  });
}

// The successor has had its time: what it did not publish goes the way of a lost worker.
void WorkerHub::State::SettleTakeOver(const std::shared_ptr<WorkerSession>& old,
                                      const std::shared_ptr<WorkerSession>& successor,
                                      absl::Duration left) {
  if (old->over()) return;
  if (successor == nullptr || successor->over()) {
    // It died at its start: the old stream goes on with what is still its own.
    absl::MutexLock lock(&mu_);
    const auto is_current = [&old](const Attachment& a) {
      return a.state == Attachment::kAttached && a.session->principal() == old->principal() &&
             a.name == old->backend()->id();
    };
    if (std::any_of(attachments_.begin(), attachments_.end(), is_current)) return;
    for (Attachment& attachment : attachments_) {
      if (attachment.session == old) attachment.state = Attachment::kAttached;
    }
    return;
  }
  if (!successor->settled() && left > absl::ZeroDuration()) {
    ArmSettle(old, successor, left);
    return;
  }
  old->strand().Post([old] { old->Retire(); });
}

std::vector<std::pair<std::shared_ptr<WorkerSession>, bool>> WorkerHub::State::Siblings(
    const WorkerSession& session) const {
  std::vector<std::pair<std::shared_ptr<WorkerSession>, bool>> siblings;
  const std::string& name = session.backend()->id();
  absl::MutexLock lock(&mu_);
  for (const Attachment& other : attachments_) {
    if (other.session.get() != &session && other.name == name &&
        other.session->principal() == session.principal()) {
      siblings.emplace_back(other.session, other.state == Attachment::kLost);
    }
  }
  return siblings;
}

bool WorkerHub::State::HasTools(const WorkerSession& session) const {
  return !parts_.registry->SetsOf(session.backend()).empty();
}

void WorkerHub::State::OnPublished(const std::shared_ptr<WorkerSession>& session) {
  for (const auto& [other, lost] : Siblings(*session)) {
    if (HasTools(*other)) continue;
    if (lost) {
      Forget(other.get());
    } else if (session->backend()->available()) {
      // Nothing is left to the old stream; new calls come here.
      bool superseded = false;
      {
        absl::MutexLock lock(&mu_);
        for (const Attachment& attachment : attachments_) {
          if (attachment.session == other && attachment.state == Attachment::kSuperseded)
            superseded = true;
        }
      }
      if (superseded) other->Retire();
    }
  }
}

void WorkerHub::State::OnOver(const std::shared_ptr<WorkerSession>& session) {
  {
    absl::MutexLock lock(&mu_);
    open_.erase(session.get());
    bool admitted = false;
    for (Attachment& attachment : attachments_) {
      if (attachment.session != session) continue;
      attachment.state = Attachment::kLost;
      admitted = true;
    }
    if (!admitted || shut_) return;
  }
  LogInfo(absl::StrCat("worker ", session->backend()->id(), " (", session->worker_id(),
                       ") is gone; ", session->backend()->completed(), " calls answered, ",
                       session->ignored(), " messages ignored"));
  session->strand().Post([self = shared_from_this(), session] {
    self->parts_.registry->RefreshState(session->backend());
    self->BeginGrace(session);
  });
}

void WorkerHub::State::BeginGrace(const std::shared_ptr<WorkerSession>& session) {
  if (!HasTools(*session)) {
    Forget(session.get());
    return;
  }
  parts_.timers->Arm(worker_grace_, [hub = weak_from_this(), session] {
    session->strand().Post([hub, session] {
      const auto self = hub.lock();
      if (self == nullptr) return;
      self->parts_.registry->Remove(session->backend());
      self->Forget(session.get());
    });
  });
}

void WorkerHub::State::Forget(const WorkerSession* session) {
  std::shared_ptr<WorkerSession> dropped;  // outside the lock
  absl::MutexLock lock(&mu_);
  const auto at =
      std::find_if(attachments_.begin(), attachments_.end(),
                   [session](const Attachment& a) { return a.session.get() == session; });
  if (at == attachments_.end()) return;
  dropped = at->session;
  attachments_.erase(at);
}

v1::WorkerInfo WorkerHub::State::Describe(const Attachment& attachment) const {
  const WorkerSession& session = *attachment.session;
  const std::shared_ptr<WorkerBackend> backend = session.backend();
  v1::WorkerInfo info;
  info.set_worker_name(attachment.name);
  info.set_worker_id(session.worker_id());
  info.set_principal(session.principal());
  info.set_state(attachment.state == Attachment::kLost ? "lost"
                 : attachment.state == Attachment::kSuperseded || !backend->available()
                     ? "draining"
                     : "attached");
  uint32_t tools = 0;
  for (const auto& [ns, count] : parts_.registry->SetsOf(backend)) {
    info.add_namespaces(ns);
    tools += static_cast<uint32_t>(count);
  }
  info.set_tools(tools);
  info.set_max_in_flight(backend->credit());
  info.set_in_flight(backend->running());
  info.set_queued(backend->queued());
  info.set_completed(backend->completed());
  SetTimestamp(attachment.since, *info.mutable_attach_time());
  SetDuration(session.idle(), *info.mutable_idle());
  return info;
}

std::vector<v1::WorkerInfo> WorkerHub::State::List() const {
  std::vector<Attachment> attachments;
  {
    absl::MutexLock lock(&mu_);
    attachments = attachments_;
  }
  std::stable_sort(attachments.begin(), attachments.end(),
                   [](const Attachment& a, const Attachment& b) { return a.name < b.name; });
  std::vector<v1::WorkerInfo> out;
  for (const Attachment& attachment : attachments) out.push_back(Describe(attachment));
  return out;
}

size_t WorkerHub::State::attached() const {
  absl::MutexLock lock(&mu_);
  return static_cast<size_t>(
      std::count_if(attachments_.begin(), attachments_.end(),
                    [](const Attachment& a) { return a.state != Attachment::kLost; }));
}

absl::Status WorkerHub::State::DrainWorker(absl::string_view worker_name, absl::Duration grace) {
  std::vector<std::shared_ptr<WorkerSession>> found;
  std::vector<std::string> known;
  {
    absl::MutexLock lock(&mu_);
    for (const Attachment& attachment : attachments_) {
      known.push_back(attachment.name);
      if (attachment.name == worker_name) found.push_back(attachment.session);
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (found.empty()) return WorkerNotFound(worker_name, known);
  for (const auto& session : found) {
    session->StopTaking();
    session->SendDrain(grace);
  }
  return absl::OkStatus();
}

void WorkerHub::State::Drain(absl::Duration grace) {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  {
    absl::MutexLock lock(&mu_);
    draining_ = true;
    for (const Attachment& attachment : attachments_) {
      if (attachment.state != Attachment::kLost) sessions.push_back(attachment.session);
    }
  }
  for (const auto& session : sessions) session->SendDrain(grace);
}

void WorkerHub::State::Shutdown() {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  {
    absl::MutexLock lock(&mu_);
    draining_ = true;
    shut_ = true;
    for (const auto& [key, weak] : open_) {
      if (auto session = weak.lock()) sessions.push_back(std::move(session));
    }
  }
  for (const auto& session : sessions) session->End(Draining("daemon"));
}

void WorkerHub::State::Close() {
  gate_->Close();
  std::vector<Attachment> dropped;
  absl::MutexLock lock(&mu_);
  dropped.swap(attachments_);
}

WorkerHub::WorkerHub(Parts parts, WorkerHubOptions options)
    : state_(std::make_shared<State>(parts, std::move(options))) {}

WorkerHub::~WorkerHub() {
  Shutdown();
  state_->Close();
}

std::vector<v1::WorkerInfo> WorkerHub::List() const { return state_->List(); }
size_t WorkerHub::attached() const { return state_->attached(); }
absl::Status WorkerHub::DrainWorker(absl::string_view worker_name, absl::Duration grace) {
  return state_->DrainWorker(worker_name, grace);
}
void WorkerHub::Drain(absl::Duration grace) { state_->Drain(grace); }
void WorkerHub::Shutdown() { state_->Shutdown(); }

}  // namespace toolrack
