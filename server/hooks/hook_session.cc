#include "server/hooks/hook_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/base/proto_time.h"
#include "registry/base/random.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr uint32_t kProtocolVersion = 1;
// A result with more JSON than this is not checked on a callback thread: it takes over 100 µs.
constexpr size_t kInlineJsonBytes = 8 << 10;
// Definitions of which a hook is believed to know; beyond it, it is told anew.
constexpr size_t kMaxSentDigests = 100000;

size_t JsonBytesOf(const v1::WorkerToolResult& result) {
  size_t bytes = result.structured_json().size() + result.meta_json().size();
  for (const v1::WorkerContent& content : result.content()) {
    if (content.has_json()) bytes += content.json().json().size();
  }
  return bytes;
}

}  // namespace

HookSession::HookSession(Parts parts, Options options, std::shared_ptr<HookTransport> transport)
    : parts_(parts),
      options_(std::move(options)),
      hook_id_(QuickId()),
      transport_(std::move(transport)) {}

HookSession::~HookSession() = default;

void HookSession::Begin() {
  parts_.timers->Arm(options_.hello_timeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    {
      absl::MutexLock lock(&self->mu_);
      if (self->phase_ != Phase::kNew) return;
    }
    self->OnViolation(ProtocolViolation(
        absl::StrCat("no hello came within ", absl::FormatDuration(self->options_.hello_timeout))));
  });
}

void HookSession::OnMessage(v1::HookServiceAttachRequest& message) {
  Phase phase;
  {
    absl::MutexLock lock(&mu_);
    phase = phase_;
  }
  if (phase == Phase::kOver) return;
  switch (message.message_case()) {
    case v1::HookServiceAttachRequest::kHello:
      if (phase == Phase::kNew) {
        OnHello(*message.mutable_hello());
      } else {
        OnViolation(ProtocolViolation("a second hello came"));
      }
      return;
    case v1::HookServiceAttachRequest::kVerdict:
      if (phase == Phase::kAttached) {
        OnVerdict(*message.mutable_verdict());
      } else {
        OnViolation(ProtocolViolation("a verdict came before the hello"));
      }
      return;
    case v1::HookServiceAttachRequest::MESSAGE_NOT_SET:
      break;
  }
  OnViolation(ProtocolViolation("a message without content came"));
}

void HookSession::OnHello(v1::HookHello& hello) {
  if (hello.protocol_version() != kProtocolVersion) {
    OnViolation(
        ProtocolViolation(absl::StrCat("protocol_version ", hello.protocol_version(),
                                       " is not known; this daemon speaks ", kProtocolVersion)));
    return;
  }
  spec_.name = hello.hook_name();
  spec_.principal = options_.principal;
  for (const int point : hello.points()) spec_.points.push_back(static_cast<v1::HookPoint>(point));
  spec_.filter = std::move(*hello.mutable_filter());
  spec_.priority = hello.priority();
  spec_.timeout = hello.has_timeout() ? ToDuration(hello.timeout()) : parts_.set->default_timeout();
  spec_.observe_only = hello.observe_only();
  spec_.dry_run = hello.dry_run();
  spec_.fail_closed =
      hello.failure_mode() == v1::HOOK_FAILURE_MODE_FAIL_CLOSED ||
      (hello.failure_mode() == v1::HOOK_FAILURE_MODE_UNSPECIFIED && !hello.observe_only());
  {
    absl::MutexLock lock(&mu_);
    if (phase_ != Phase::kNew) return;
    phase_ = Phase::kAttached;
  }
  absl::StatusOr<std::shared_ptr<Hook>> before = parts_.set->Add(shared_from_this());
  if (!before.ok()) {
    LogWarning(
        absl::StrCat("hook ", ForMessage(spec_.name), " is refused: ", before.status().message()));
    EndNow(before.status(), "was refused");
    return;
  }
  LogInfo(absl::StrCat("hook ", spec_.name, " attached as ", hook_id_, " (", spec_.principal,
                       ", priority ", spec_.priority, ")"));
  bool over;
  {
    absl::MutexLock lock(&mu_);
    welcome_due_ = true;
    over = phase_ == Phase::kOver;
  }
  // The stream may have ended while it was put in its place.
  if (over) parts_.set->Remove(this);
  if (auto* old = dynamic_cast<HookSession*>(before->get())) old->Retire();
  Pump();
}

absl::StatusOr<HookVerdict> HookSession::Read(v1::HookVerdict& verdict) const {
  switch (verdict.action_case()) {
    case v1::HookVerdict::kPass:
      return PassVerdict();
    case v1::HookVerdict::kReplaceArguments:
      return ReplaceArguments(std::move(*verdict.mutable_replace_arguments()));
    case v1::HookVerdict::kDeny:
      return Deny(ReplaceInvalidUtf8(verdict.deny().reason()));
    case v1::HookVerdict::kReplaceResult:
    case v1::HookVerdict::kAnswer: {
      const bool answer = verdict.has_answer();
      absl::StatusOr<v1::ToolResult> result = TakeToolResult(
          answer ? *verdict.mutable_answer() : *verdict.mutable_replace_result(), options_.results);
      if (!result.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("gave a result that cannot be taken: ", result.status().message()));
      }
      return answer ? AnswerInstead(*std::move(result)) : ReplaceResult(*std::move(result));
    }
    case v1::HookVerdict::ACTION_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("gave a verdict that says nothing");
}

void HookSession::OnVerdict(v1::HookVerdict& verdict) {
  HookDone done;
  {
    absl::MutexLock lock(&mu_);
    const auto at = pending_.find(verdict.event_id());
    if (at == pending_.end()) {
      if (!spec_.observe_only) ++late_;
      return;
    }
    done = std::move(at->second);
    pending_.erase(at);
  }
  const size_t json = verdict.has_answer()           ? JsonBytesOf(verdict.answer())
                      : verdict.has_replace_result() ? JsonBytesOf(verdict.replace_result())
                                                     : 0;
  if (json <= kInlineJsonBytes) {
    done(Read(verdict));
  } else {
    struct Job {
      v1::HookVerdict verdict;
      HookDone done;
    };
    const auto job = std::make_shared<Job>();
    job->verdict = std::move(verdict);
    job->done = std::move(done);
    const auto run = [self = shared_from_this(), job] { job->done(self->Read(job->verdict)); };
    if (!parts_.executor->Post(run)) run();
  }
  EndIfRetiredAndIdle();
}

void HookSession::OnViolation(absl::Status violation) {
  LogWarning(absl::StrCat("hook ", hook_id_, ": ", violation.message()));
  EndNow(std::move(violation), "broke the protocol of its stream");
}

void HookSession::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
  }
  if (!ok) OnBroken();
  Pump();
}

void HookSession::OnReadsDone() { EndNow(absl::OkStatus(), "lost its stream"); }

void HookSession::OnBroken() {
  EndNow(absl::UnavailableError("the stream broke"), "lost its stream");
}

void HookSession::End(absl::Status status) { EndNow(std::move(status), "was sent away"); }

void HookSession::Retire() {
  {
    absl::MutexLock lock(&mu_);
    retiring_ = true;
  }
  EndIfRetiredAndIdle();
}

void HookSession::EndIfRetiredAndIdle() {
  {
    absl::MutexLock lock(&mu_);
    if (!retiring_ || !pending_.empty()) return;
  }
  EndNow(HookReplaced(spec_.name), "was replaced");
}

void HookSession::EndNow(absl::Status status, const char* why) {
  absl::flat_hash_map<uint64_t, HookDone> pending;
  std::deque<Item> queue;
  {
    absl::MutexLock lock(&mu_);
    if (phase_ == Phase::kOver) return;
    phase_ = Phase::kOver;
    end_status_ = std::move(status);
    pending.swap(pending_);
    queue.swap(queue_);
    queue_bytes_ = 0;
  }
  // Out of the set first: a call that goes on because of this must not ask it again.
  parts_.set->Remove(this);
  if (!pending.empty()) {
    LogWarning(absl::StrCat("hook ", hook_id_, " ", why, " with ", pending.size(),
                            " events that wait for its verdict"));
  }
  for (auto& [id, done] : pending) done(absl::UnavailableError(why));
  Pump();
  // A peer that does not read would keep the last write, and with it the stream, for ever.
  parts_.timers->Arm(options_.last_write, [weak = std::weak_ptr(transport_)] {
    if (const auto transport = weak.lock()) transport->Abort();
  });
}

absl::Status HookSession::Enqueue(Item item) {
  if (phase_ != Phase::kAttached || retiring_) return absl::UnavailableError("lost its stream");
  item.bytes = item.question.event->ByteSizeLong();
  if (queue_.size() >= options_.max_queue ||
      (!queue_.empty() && queue_bytes_ + item.bytes > options_.max_queue_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("does not read: ", queue_.size(), " events wait to be sent to it"));
  }
  queue_bytes_ += item.bytes;
  queue_.push_back(std::move(item));
  return absl::OkStatus();
}

uint64_t HookSession::Ask(HookQuestion question, HookDone done) {
  absl::Status refusal;
  uint64_t id;
  {
    absl::MutexLock lock(&mu_);
    id = ++last_id_;
    refusal = Enqueue({id, std::move(question), /*asked=*/true, 0});
    if (refusal.ok()) pending_.emplace(id, std::move(done));
  }
  if (!refusal.ok()) {
    done(std::move(refusal));
    return 0;
  }
  Pump();
  return id;
}

void HookSession::Forget(uint64_t number) {
  HookDone dropped;
  {
    absl::MutexLock lock(&mu_);
    const auto at = pending_.find(number);
    if (at == pending_.end()) return;
    dropped = std::move(at->second);
    pending_.erase(at);
  }
  EndIfRetiredAndIdle();
}

void HookSession::Tell(HookQuestion question) {
  {
    absl::MutexLock lock(&mu_);
    if (!Enqueue({++last_id_, std::move(question), /*asked=*/false, 0}).ok()) {
      ++dropped_;
      return;
    }
  }
  Pump();
}

void HookSession::Describe(v1::HookInfo& info) const {
  info.set_hook_id(hook_id_);
  absl::MutexLock lock(&mu_);
  info.set_dropped(dropped_);
  info.set_late(late_);
}

bool HookSession::TakeNext(Item& item, bool& with_tool) {
  while (!queue_.empty()) {
    Item& first = queue_.front();
    // Nobody waits for it any more.
    const bool stale = first.asked && !pending_.contains(first.id);
    with_tool = !stale && !sent_digests_.contains(first.question.event->digest());
    if (with_tool) {
      if (sent_digests_.size() >= kMaxSentDigests) sent_digests_.clear();
      sent_digests_.insert(first.question.event->digest());
      item = first;
      return true;
    }
    queue_bytes_ -= first.bytes;
    item = std::move(first);
    queue_.pop_front();
    if (!stale) return true;
  }
  return false;
}

void HookSession::Pump() {
  enum { kWelcome, kItem, kFinish } what;
  Item item;
  bool with_tool = false;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    if (writing_ || finished_) return;
    if (welcome_due_ && phase_ == Phase::kAttached) {
      welcome_due_ = false;
      welcomed_ = true;
      what = kWelcome;
    } else if (phase_ == Phase::kOver) {
      finished_ = true;
      status = end_status_;
      what = kFinish;
    } else if (welcomed_ && TakeNext(item, with_tool)) {
      what = kItem;
    } else {
      return;
    }
    writing_ = what != kFinish;
  }
  if (what == kFinish) {
    transport_->Finish(std::move(status));
    return;
  }
  message_.Clear();
  if (what == kWelcome) {
    v1::HookWelcome& welcome = *message_.mutable_welcome();
    welcome.set_hook_id(hook_id_);
    welcome.set_epoch(options_.epoch);
    SetDuration(spec_.timeout, *welcome.mutable_timeout());
    welcome.set_failure_mode(spec_.fail_closed ? v1::HOOK_FAILURE_MODE_FAIL_CLOSED
                                               : v1::HOOK_FAILURE_MODE_FAIL_OPEN);
    welcome.set_max_message_bytes(options_.max_message_bytes);
  } else if (with_tool) {
    *message_.mutable_tool() = item.question.tool->ToProto(v1::TOOL_VIEW_FULL);
  } else {
    *message_.mutable_event() = *item.question.event;
    message_.mutable_event()->set_event_id(item.id);
  }
  transport_->Write(message_);
}

}  // namespace toolrack
