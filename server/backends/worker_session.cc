#include "server/backends/worker_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/base/proto_time.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

constexpr uint32_t kProtocolVersion = 1;
// A message takes at most so much of what queued up; facts: more than 64 gains nothing, and a
// message over the receive limit would end the stream.
constexpr size_t kBatchItems = 64;
constexpr size_t kBatchBytes = 256 << 10;
// Sets being compiled, and bytes of answers waiting, before the worker counts as broken.
constexpr size_t kMaxJobs = 4096;
constexpr size_t kMaxControlBytes = 16 << 20;
constexpr int kLogLinesPerTick = 100;

bool IsWorkerName(absl::string_view name) {
  if (name.empty() || name.size() > 128) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':' || c == '/' || c == '-';
  });
}

const char* NameOf(v1::WorkerServiceAttachRequest::MessageCase kind) {
  switch (kind) {
    case v1::WorkerServiceAttachRequest::kHello:
      return "hello";
    case v1::WorkerServiceAttachRequest::kPublish:
      return "publish";
    case v1::WorkerServiceAttachRequest::kWithdraw:
      return "withdraw";
    case v1::WorkerServiceAttachRequest::kResults:
      return "results";
    case v1::WorkerServiceAttachRequest::kProgress:
      return "progress";
    case v1::WorkerServiceAttachRequest::kLog:
      return "log";
    case v1::WorkerServiceAttachRequest::kPong:
      return "pong";
    case v1::WorkerServiceAttachRequest::kDraining:
      return "draining";
    case v1::WorkerServiceAttachRequest::MESSAGE_NOT_SET:
      break;
  }
  return "a message without content";
}

}  // namespace

WorkerSession::WorkerSession(Parts parts, Options options,
                             std::shared_ptr<WorkerTransport> transport)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      worker_id_(QuickId()),
      transport_(std::move(transport)),
      strand_(std::make_shared<Strand>(parts_.executor, parts_.timers, parts_.gate)),
      last_heard_ns_(absl::ToInt64Nanoseconds(parts_.clock->SteadyNow())),
      sets_(options_.sets) {}

WorkerSession::~WorkerSession() = default;

void WorkerSession::Begin() {
  parts_.timers->Arm(options_.ping_interval + options_.ping_timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnHelloDue();
  });
}

void WorkerSession::OnMessage(WorkerMessage& message) {
  last_heard_ns_.store(absl::ToInt64Nanoseconds(parts_.clock->SteadyNow()),
                       std::memory_order_relaxed);
  v1::WorkerServiceAttachRequest& request = message.request;
  const auto kind = request.message_case();
  Phase phase;
  {
    absl::MutexLock lock(&mu_);
    phase = phase_;
  }
  if (phase == Phase::kOver) return;
  if (phase == Phase::kNew && kind != v1::WorkerServiceAttachRequest::kHello) {
    OnViolation(ProtocolViolation(absl::StrCat(NameOf(kind), " came before the hello")));
    return;
  }
  switch (kind) {
    case v1::WorkerServiceAttachRequest::kHello:
      if (phase == Phase::kNew) {
        OnHello(request.hello());
      } else {
        OnViolation(ProtocolViolation("a second hello came"));
      }
      return;
    case v1::WorkerServiceAttachRequest::kPublish:
      OnPublish(message);
      return;
    case v1::WorkerServiceAttachRequest::kWithdraw:
      OnWithdraw(request.withdraw());
      return;
    case v1::WorkerServiceAttachRequest::kResults:
      OnResults(message);
      return;
    case v1::WorkerServiceAttachRequest::kProgress:
      if (!backend()->Progress(*request.mutable_progress())) ++ignored_;
      return;
    case v1::WorkerServiceAttachRequest::kLog:
      OnWorkerLog(*request.mutable_log());
      return;
    case v1::WorkerServiceAttachRequest::kPong:
      return;  // having come is all that it says
    case v1::WorkerServiceAttachRequest::kDraining:
      OnDraining(request.draining());
      return;
    case v1::WorkerServiceAttachRequest::MESSAGE_NOT_SET:
      break;
  }
  OnViolation(ProtocolViolation(absl::StrCat(NameOf(kind), " came")));
}

void WorkerSession::OnHello(const v1::WorkerHello& hello) {
  if (hello.protocol_version() != kProtocolVersion) {
    OnViolation(
        ProtocolViolation(absl::StrCat("protocol_version ", hello.protocol_version(),
                                       " is not known; this daemon speaks ", kProtocolVersion)));
    return;
  }
  if (!IsWorkerName(hello.worker_name())) {
    OnViolation(
        ProtocolViolation(absl::StrCat("the worker name \"", ForMessage(hello.worker_name()),
                                       "\" is not 1 to 128 of [A-Za-z0-9_.:/-]")));
    return;
  }
  WorkerBackend::Options options;
  options.worker_name = hello.worker_name();
  options.principal = options_.principal;
  options.credit = hello.max_in_flight() == 0 ? options_.default_in_flight : hello.max_in_flight();
  options.credit = std::min(options.credit, options_.max_in_flight);
  options.max_queue = options_.max_queue;
  options.results = options_.results;
  auto backend = std::make_shared<WorkerBackend>(options, parts_.clock, parts_.executor,
                                                 [weak = weak_from_this()] {
                                                   if (const auto self = weak.lock()) self->Pump();
                                                 });
  {
    absl::MutexLock lock(&mu_);
    if (phase_ != Phase::kNew) return;
    phase_ = Phase::kAttached;
    backend_ = std::move(backend);
  }
  const absl::Status admitted = parts_.owner->Admit(shared_from_this(), hello.worker_name());
  if (!admitted.ok()) {
    EndNow(admitted, /*flush=*/true);
    return;
  }
  LogInfo(absl::StrCat("worker ", hello.worker_name(), " attached as ", worker_id_, " (",
                       options_.principal, ", credit ", options.credit, ")"));
  v1::WorkerServiceAttachResponse response;
  v1::WorkerWelcome* welcome = response.mutable_welcome();
  welcome->set_worker_id(worker_id_);
  welcome->set_epoch(parts_.registry->epoch());
  *welcome->mutable_limits() = options_.limits;
  welcome->mutable_limits()->set_max_in_flight(options.credit);
  {
    absl::MutexLock lock(&mu_);
    welcomed_ = true;
    control_bytes_ += response.ByteSizeLong();
    control_.push_front(std::move(response));
  }
  Pump();
  ArmTick(options_.ping_interval);
}

void WorkerSession::OnPublish(WorkerMessage& message) {
  absl::StatusOr<std::vector<WorkerSet>> ready = [&] {
    absl::MutexLock lock(&mu_);
    return sets_.Add(std::move(*message.request.mutable_publish()), std::move(message.bad_tools));
  }();
  if (!ready.ok()) {
    OnViolation(ready.status());
    return;
  }
  for (WorkerSet& set : *ready) Enqueue(std::move(set));
}

void WorkerSession::OnWithdraw(const v1::WorkerWithdraw& withdraw) {
  WorkerSet set = [&] {
    absl::MutexLock lock(&mu_);
    return sets_.Withdraw(withdraw.namespace_());
  }();
  Enqueue(std::move(set));
}

void WorkerSession::Enqueue(WorkerSet set) {
  bool too_many;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ == Phase::kOver) return;
    too_many = ++jobs_ > kMaxJobs;
  }
  if (too_many) {
    OnViolation(ProtocolViolation(absl::StrCat(
        "more than ", kMaxJobs, " sets wait to be put in place; wait for `published`")));
    return;
  }
  strand_->Post([self = shared_from_this(), set = std::move(set)]() mutable {
    self->RunSet(std::move(set));
  });
}

void WorkerSession::RunSet(WorkerSet set) {
  const std::string ns = set.ns;
  const size_t bytes = set.bytes;
  const bool refused = !set.refusal.empty();
  if (over()) return;  // a lost worker's tools are not put in place any more
  WatchSessionsFor(set);
  WorkerSetOutcome outcome = PublishSet(parts_.registry, backend(), std::move(set));
  {
    absl::MutexLock lock(&mu_);
    sets_.Settle(ns, bytes, refused, outcome.registered);
    --jobs_;
    published_ = published_ || outcome.registered >= 0;
  }
  if (outcome.registered >= 0) parts_.owner->OnPublished(shared_from_this());
  for (v1::WorkerPublished& answer : outcome.answers) {
    v1::WorkerServiceAttachResponse response;
    *response.mutable_published() = std::move(answer);
    Send(std::move(response));
  }
}

void WorkerSession::OnResults(WorkerMessage& message) {
  const std::shared_ptr<WorkerBackend> calls = backend();
  uint64_t unknown = 0;
  for (v1::WorkerResult& answer : *message.request.mutable_results()->mutable_results()) {
    if (!calls->Answer(answer)) ++unknown;
  }
  for (uint64_t id : message.bad_results) {
    if (!calls->AnswerUnreadable(id)) ++unknown;
  }
  if (unknown > 0) ignored_.fetch_add(unknown, std::memory_order_relaxed);
  if (retiring_.load(std::memory_order_acquire)) EndIfRetiredAndIdle();
  Pump();  // credit came back
}

void WorkerSession::OnWorkerLog(v1::WorkerLog& log) {
  if (log.invocation_id() != 0) {
    if (!backend()->Log(log)) ++ignored_;
    return;
  }
  {
    absl::MutexLock lock(&mu_);
    if (++log_lines_ > kLogLinesPerTick) {
      ++ignored_;
      return;
    }
  }
  LogInfo(absl::StrCat("worker ", backend()->id(), " says: ", ForMessage(log.message(), 1000)));
}

void WorkerSession::OnDraining(const v1::WorkerDraining& draining) {
  LogInfo(absl::StrCat("worker ", backend()->id(),
                       " is draining: ", ForMessage(draining.reason(), 200)));
  StopTaking();
}

void WorkerSession::OnViolation(absl::Status violation) {
  LogWarning(absl::StrCat("worker ", worker_id_, ": ", violation.message()));
  EndNow(std::move(violation), /*flush=*/true);
}

void WorkerSession::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) control_.clear();
  }
  if (!ok) OnBroken();
  Pump();
}

void WorkerSession::OnReadsDone() { EndNow(absl::OkStatus(), /*flush=*/true); }

void WorkerSession::OnBroken() {
  EndNow(BackendUnavailable("", "worker"), /*flush=*/false);
  {
    absl::MutexLock lock(&mu_);
    control_.clear();
  }
  Pump();
}

void WorkerSession::SendDrain(std::optional<absl::Duration> grace) {
  v1::WorkerServiceAttachResponse response;
  response.mutable_drain();
  if (grace.has_value()) SetDuration(*grace, *response.mutable_drain()->mutable_grace());
  Send(std::move(response));
}

void WorkerSession::StopTaking() {
  const std::shared_ptr<WorkerBackend> calls = backend();
  if (calls == nullptr) return;
  calls->StopTaking();
  strand_->Post([self = shared_from_this(), calls] { self->parts_.registry->RefreshState(calls); });
}

void WorkerSession::Retire() {
  retiring_.store(true, std::memory_order_release);
  StopTaking();
  EndIfRetiredAndIdle();
}

void WorkerSession::EndIfRetiredAndIdle() {
  const std::shared_ptr<WorkerBackend> calls = backend();
  if (calls->in_flight() == 0) EndNow(Replaced(calls->id()), /*flush=*/true);
}

void WorkerSession::End(absl::Status status) { EndNow(std::move(status), /*flush=*/true); }

void WorkerSession::EndNow(absl::Status status, bool flush) {
  std::shared_ptr<WorkerBackend> calls;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ == Phase::kOver) return;
    phase_ = Phase::kOver;
    end_status_ = std::move(status);
    welcomed_ = true;
    if (!flush) control_.clear();
    calls = backend_;
  }
  if (calls != nullptr) calls->Lose();
  parts_.owner->OnOver(shared_from_this());
  Pump();
  // A peer that does not read would keep the last write, and with it the stream, for ever.
  parts_.timers->Arm(options_.ping_timeout, [weak = std::weak_ptr(transport_)] {
    if (const auto transport = weak.lock()) transport->Abort();
  });
}

void WorkerSession::Send(v1::WorkerServiceAttachResponse message) {
  bool unread = false;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ == Phase::kOver) return;
    control_bytes_ += message.ByteSizeLong();
    control_.push_back(std::move(message));
    unread = control_bytes_ > kMaxControlBytes;
  }
  if (unread) {
    OnViolation(ProtocolViolation(absl::StrCat("the worker does not read: ", kMaxControlBytes,
                                               " bytes of answers wait for it")));
    return;
  }
  Pump();
}

const v1::WorkerServiceAttachResponse* WorkerSession::NextMessage() {
  if (!welcomed_) return nullptr;
  if (!control_.empty()) {
    control_message_ = std::move(control_.front());
    control_.pop_front();
    control_bytes_ -= std::min(control_bytes_, control_message_.ByteSizeLong());
    return &control_message_;
  }
  if (phase_ != Phase::kAttached) return nullptr;
  if (!notes_.empty()) {
    SessionNote note = std::move(notes_.front());
    notes_.pop_front();
    if (note.opened) {
      control_message_.mutable_session_opened()->set_session_id(std::move(note.session_id));
    } else {
      control_message_.mutable_session_closed()->set_session_id(std::move(note.session_id));
    }
    return &control_message_;
  }
  if (backend_->TakeCancel(control_message_.mutable_cancel())) return &control_message_;
  v1::WorkerInvocations* invocations = invocations_message_.mutable_invocations();
  invocations->clear_invocations();
  return backend_->Take(kBatchItems, kBatchBytes, invocations) ? &invocations_message_ : nullptr;
}

void WorkerSession::Pump() {
  const v1::WorkerServiceAttachResponse* message = nullptr;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    if (writing_ || finished_) return;
    message = NextMessage();
    if (message != nullptr) {
      writing_ = true;
    } else if (phase_ == Phase::kOver) {
      finished_ = true;
      status = end_status_;
    } else {
      return;
    }
  }
  if (message != nullptr) {
    transport_->Write(*message);
  } else {
    transport_->Finish(std::move(status));
  }
}

void WorkerSession::ArmTick(absl::Duration delay) {
  parts_.timers->Arm(delay, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTick();
  });
}

void WorkerSession::OnHelloDue() {
  {
    absl::MutexLock lock(&mu_);
    if (phase_ != Phase::kNew) return;
  }
  OnViolation(ProtocolViolation(
      absl::StrCat("no hello came within ",
                   absl::FormatDuration(options_.ping_interval + options_.ping_timeout))));
}

void WorkerSession::OnTick() {
  const absl::Duration now = parts_.clock->SteadyNow();
  const absl::Duration heard = absl::Nanoseconds(last_heard_ns_.load(std::memory_order_relaxed));
  absl::Duration next;
  bool lost = false;
  v1::WorkerServiceAttachResponse ping;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ == Phase::kOver) return;
    log_lines_ = 0;
    if (ping_sent_.has_value() && heard >= *ping_sent_) ping_sent_.reset();
    if (ping_sent_.has_value()) {
      next = *ping_sent_ + options_.ping_timeout - now;
      lost = next <= absl::ZeroDuration();
    } else if (now - heard >= options_.ping_interval) {
      ping_sent_ = now;
      ping.mutable_ping()->set_nonce(++ping_nonce_);
      next = options_.ping_timeout;
    } else {
      next = heard + options_.ping_interval - now;
    }
  }
  if (lost) {
    LogWarning(absl::StrCat("worker ", backend()->id(), " gave no sign of life for ",
                            absl::FormatDuration(now - heard), ": lost"));
    EndNow(BackendUnavailable("its tools", backend()->id()), /*flush=*/false);
    return;
  }
  if (ping.has_ping()) Send(std::move(ping));
  ArmTick(next);
}

std::shared_ptr<WorkerBackend> WorkerSession::backend() const {
  absl::MutexLock lock(&mu_);
  return backend_;
}

absl::Duration WorkerSession::idle() const {
  return parts_.clock->SteadyNow() -
         absl::Nanoseconds(last_heard_ns_.load(std::memory_order_relaxed));
}

bool WorkerSession::over() const {
  absl::MutexLock lock(&mu_);
  return phase_ == Phase::kOver;
}

bool WorkerSession::settled() const {
  absl::MutexLock lock(&mu_);
  return published_ && jobs_ == 0 && sets_.idle();
}

}  // namespace toolrack
