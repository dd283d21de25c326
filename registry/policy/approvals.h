// Calls that wait for a person's yes.
#ifndef TOOLRACK_REGISTRY_POLICY_APPROVALS_H_
#define TOOLRACK_REGISTRY_POLICY_APPROVALS_H_

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// The call that is asked about: an approval is good for this and nothing else.
struct ApprovalSubject {
  absl::string_view principal;
  absl::string_view tool;    // canonical name
  absl::string_view digest;  // of its definition
  absl::string_view arguments_json;
  absl::string_view rule;  // that asks
  v1::RiskLevel risk = v1::RISK_LEVEL_UNSPECIFIED;
};

// Bounded in number (overall, and a quarter of it for one principal) and in time: what is not used
// within its time is gone, whatever was decided. Thread-safe.
class Approvals {
 public:
  Approvals(const Clock* clock, const v1::PolicyConfig& config);  // clock outlives this

  // Without an id: asks for an approval (the one that is already there for the same call, if any)
  // and gives APPROVAL_REQUIRED with its id. With one: OK once it was granted, and it is used up
  // then; APPROVAL_REQUIRED while it waits; POLICY_DENIED when it was refused; APPROVAL_EXPIRED
  // when it is used, over or unknown; REQUEST_INVALID when it is for another call. QUEUE_FULL: too
  // many wait.
  absl::Status Take(const ApprovalSubject& subject, absl::string_view approval_id);
  // What Take would say, without asking or using.
  absl::Status Check(const ApprovalSubject& subject, absl::string_view approval_id) const;
  // The call that took it was not run: it may be used again, as long as it has time.
  void GiveBack(absl::string_view approval_id);

  // Those that are not over, the oldest first.
  std::vector<v1::Approval> List() const;
  // Grants or refuses. The same decision twice is fine; APPROVAL_EXPIRED when it is unknown or
  // over; REQUEST_INVALID when the other decision was made, or it was used.
  absl::StatusOr<v1::Approval> Decide(absl::string_view approval_id, bool grant,
                                      absl::string_view by, absl::string_view note);
  size_t size() const;

 private:
  struct Record {
    v1::Approval approval;
    std::string arguments_sha256;
    std::string subject;  // key of by_subject_
    absl::Duration expires;
  };
  using Records = std::list<Record>;

  absl::Status CheckRecord(const Record& record, const ApprovalSubject& subject,
                           const std::string& arguments_sha256) const;
  const Record* Find(absl::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropOver(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unlist(Records::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(Records::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  const absl::Duration ttl_;
  const size_t max_;
  const size_t max_of_one_;
  mutable absl::Mutex mu_;
  // All have the same time: the oldest is over first.
  Records records_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Records::iterator> by_id_ ABSL_GUARDED_BY(mu_);
  // Of those that were not used or refused.
  absl::flat_hash_map<std::string, Records::iterator> by_subject_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, size_t> of_principal_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_POLICY_APPROVALS_H_
