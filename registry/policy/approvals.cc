#include "registry/policy/approvals.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr absl::Duration kDefaultTtl = absl::Minutes(10);
constexpr size_t kDefaultMax = 1000;
// Of the arguments, for whoever decides.
constexpr size_t kMaxShown = 4096;
constexpr size_t kMaxNote = 1000;

absl::Duration TtlOf(const v1::PolicyConfig& config) {
  const absl::Duration ttl = absl::Seconds(config.approval_ttl().seconds()) +
                             absl::Nanoseconds(config.approval_ttl().nanos());
  return ttl > absl::ZeroDuration() ? ttl : kDefaultTtl;
}

std::string SubjectKey(const ApprovalSubject& subject, const std::string& arguments_sha256) {
  return absl::StrCat(subject.principal, absl::string_view("\0", 1), subject.tool,
                      absl::string_view("\0", 1), subject.digest, arguments_sha256);
}

void SetTime(absl::Time from, google::protobuf::Timestamp& to) {
  const int64_t nanos = absl::ToUnixNanos(from);
  to.set_seconds(nanos / 1'000'000'000);
  to.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

}  // namespace

Approvals::Approvals(const Clock* clock, const v1::PolicyConfig& config)
    : clock_(clock),
      ttl_(TtlOf(config)),
      max_(config.max_approvals() > 0 ? config.max_approvals() : kDefaultMax),
      max_of_one_(std::max<size_t>(1, max_ / 4)) {}

void Approvals::Unlist(Records::iterator at) {
  const auto subject = by_subject_.find(at->subject);
  if (subject != by_subject_.end() && subject->second == at) by_subject_.erase(subject);
}

void Approvals::Drop(Records::iterator at) {
  Unlist(at);
  const auto count = of_principal_.find(at->approval.principal());
  if (--count->second == 0) of_principal_.erase(count);
  by_id_.erase(at->approval.approval_id());
  records_.erase(at);
}

void Approvals::DropOver(absl::Duration now) {
  while (!records_.empty() && records_.front().expires <= now) Drop(records_.begin());
}

const Approvals::Record* Approvals::Find(absl::string_view id) const {
  const auto at = by_id_.find(id);
  if (at == by_id_.end() || at->second->expires <= clock_->SteadyNow()) return nullptr;
  return &*at->second;
}

absl::Status Approvals::CheckRecord(const Record& record, const ApprovalSubject& subject,
                                    const std::string& arguments_sha256) const {
  const v1::Approval& approval = record.approval;
  const std::string& id = approval.approval_id();
  // Others do not learn that it is there.
  if (approval.principal() != subject.principal) return ApprovalExpired(subject.tool, id);
  if (approval.tool() != subject.tool || approval.digest() != subject.digest ||
      record.arguments_sha256 != arguments_sha256) {
    return RequestInvalid("approval_id", id,
                          approval.tool() != subject.tool ? "it is for another tool; call without "
                                                            "it to ask for this one"
                          : approval.digest() != subject.digest
                              ? "the tool has changed since it was asked for; call without it to "
                                "ask anew"
                              : "it is for other arguments; repeat those, or call without it to "
                                "ask for these");
  }
  switch (approval.state()) {
    case v1::APPROVAL_STATE_GRANTED:
      return absl::OkStatus();
    case v1::APPROVAL_STATE_DENIED:
      return ApprovalDenied(subject.tool, id, approval.note());
    case v1::APPROVAL_STATE_USED:
      return ApprovalExpired(subject.tool, id);
    default:
      return ApprovalRequired(subject.tool, id, subject.rule);
  }
}

absl::Status Approvals::Take(const ApprovalSubject& subject, absl::string_view approval_id) {
  const std::string sha256 = Sha256Hex(subject.arguments_json);
  const absl::Duration now = clock_->SteadyNow();
  absl::MutexLock lock(&mu_);
  DropOver(now);
  if (!approval_id.empty()) {
    const auto at = by_id_.find(approval_id);
    if (at == by_id_.end()) return ApprovalExpired(subject.tool, approval_id);
    Record& record = *at->second;
    absl::Status status = CheckRecord(record, subject, sha256);
    if (!status.ok()) return status;
    record.approval.set_state(v1::APPROVAL_STATE_USED);
    Unlist(at->second);
    return absl::OkStatus();
  }
  std::string key = SubjectKey(subject, sha256);
  const auto there = by_subject_.find(key);
  if (there != by_subject_.end()) {
    return ApprovalRequired(subject.tool, there->second->approval.approval_id(), subject.rule);
  }
  if (records_.size() >= max_) {
    return QueueFull("policy.max_approvals", max_, "approvals");
  }
  size_t& of_one = of_principal_[subject.principal];
  if (of_one >= max_of_one_) {
    return QueueFull("a quarter of policy.max_approvals", max_of_one_,
                     absl::StrCat("approvals for ", subject.principal));
  }
  ++of_one;
  Record record;
  record.expires = now + ttl_;
  record.arguments_sha256 = sha256;
  record.subject = key;
  v1::Approval& approval = record.approval;
  approval.set_approval_id(RandomId());
  approval.set_tool(std::string(subject.tool));
  approval.set_digest(std::string(subject.digest));
  approval.set_principal(std::string(subject.principal));
  approval.set_risk(subject.risk);
  approval.set_rule(std::string(subject.rule));
  approval.set_arguments_json(std::string(Utf8Prefix(subject.arguments_json, kMaxShown)));
  approval.set_arguments_bytes(subject.arguments_json.size());
  approval.set_state(v1::APPROVAL_STATE_PENDING);
  const absl::Time wall = clock_->WallNow();
  SetTime(wall, *approval.mutable_create_time());
  SetTime(wall + ttl_, *approval.mutable_expire_time());
  const std::string id = approval.approval_id();
  records_.push_back(std::move(record));
  const auto last = std::prev(records_.end());
  by_id_.emplace(id, last);
  by_subject_.emplace(std::move(key), last);
  return ApprovalRequired(subject.tool, id, subject.rule);
}

absl::Status Approvals::Check(const ApprovalSubject& subject, absl::string_view approval_id) const {
  const std::string sha256 = Sha256Hex(subject.arguments_json);
  absl::MutexLock lock(&mu_);
  if (!approval_id.empty()) {
    const Record* record = Find(approval_id);
    return record == nullptr ? ApprovalExpired(subject.tool, approval_id)
                             : CheckRecord(*record, subject, sha256);
  }
  const auto there = by_subject_.find(SubjectKey(subject, sha256));
  const bool asked = there != by_subject_.end() && there->second->expires > clock_->SteadyNow();
  return ApprovalRequired(subject.tool, asked ? there->second->approval.approval_id() : "",
                          subject.rule);
}

void Approvals::GiveBack(absl::string_view approval_id) {
  absl::MutexLock lock(&mu_);
  const auto at = by_id_.find(approval_id);
  if (at == by_id_.end() || at->second->approval.state() != v1::APPROVAL_STATE_USED) return;
  at->second->approval.set_state(v1::APPROVAL_STATE_GRANTED);
  // A second one may have been asked for meanwhile: that one stays found.
  by_subject_.emplace(at->second->subject, at->second);
}

std::vector<v1::Approval> Approvals::List() const {
  std::vector<v1::Approval> out;
  const absl::Duration now = clock_->SteadyNow();
  absl::MutexLock lock(&mu_);
  for (const Record& record : records_) {
    if (record.expires > now) out.push_back(record.approval);
  }
  return out;
}

absl::StatusOr<v1::Approval> Approvals::Decide(absl::string_view approval_id, bool grant,
                                               absl::string_view by, absl::string_view note) {
  const v1::ApprovalState wanted = grant ? v1::APPROVAL_STATE_GRANTED : v1::APPROVAL_STATE_DENIED;
  absl::MutexLock lock(&mu_);
  DropOver(clock_->SteadyNow());
  const auto at = by_id_.find(approval_id);
  if (at == by_id_.end()) return ApprovalExpired("", approval_id);
  Record& record = *at->second;
  v1::Approval& approval = record.approval;
  if (approval.state() == wanted) return approval;
  if (approval.state() != v1::APPROVAL_STATE_PENDING) {
    return RequestInvalid("approval_id", approval_id,
                          approval.state() == v1::APPROVAL_STATE_USED
                              ? "the call was made already; nothing is left to decide"
                              : "it was decided the other way; the caller has to ask anew");
  }
  approval.set_state(wanted);
  approval.set_decided_by(std::string(by));
  approval.set_note(ForMessage(note, kMaxNote));
  // Who was refused and asks again is asked for anew.
  if (!grant) Unlist(at->second);
  return approval;
}

size_t Approvals::size() const {
  const absl::Duration now = clock_->SteadyNow();
  absl::MutexLock lock(&mu_);
  return static_cast<size_t>(
      std::count_if(records_.begin(), records_.end(),
                    [now](const Record& record) { return record.expires > now; }));
}

}  // namespace toolrack
