#include "server/backends/worker_sets.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

constexpr size_t kMessageOverhead = 1 << 10;  // so that empty messages are bounded, too
constexpr size_t kAnswerBytes = 256 << 10;
constexpr size_t kMaxFindings = 100;  // of one tool, in an answer

v1::WorkerRejected RejectedFor(const std::string& name, absl::string_view why) {
  v1::WorkerRejected rejected;
  rejected.set_name(ForMessage(name, 200));
  rejected.add_reasons(std::string(why));
  return rejected;
}

v1::WorkerRejected RejectedFor(PublishReport::Fault& fault) {
  v1::WorkerRejected rejected;
  rejected.set_name(ForMessage(fault.name, 200));
  for (v1::Finding& finding : fault.findings) {
    if (static_cast<size_t>(rejected.findings_size()) == kMaxFindings) {
      rejected.add_reasons(absl::StrCat("and ", fault.findings.size() - kMaxFindings, " more"));
      break;
    }
    rejected.add_reasons(finding.pointer().empty()
                             ? finding.message()
                             : absl::StrCat(finding.pointer(), ": ", finding.message()));
    *rejected.add_findings() = std::move(finding);
  }
  return rejected;
}

// Cuts an answer into messages of bounded size.
class AnswerWriter {
 public:
  AnswerWriter(const WorkerSet& set, uint64_t revision) {
    head_.set_namespace_(set.ns);
    head_.set_generation(set.generation);
    head_.set_revision(revision);
    head_.set_refusal(set.refusal);
    answers_.push_back(head_);
  }
  void Accepted(std::string name) {
    v1::WorkerPublished* answer = Room(name.size());
    answer->add_accepted(std::move(name));
  }
  void Quarantined(v1::WorkerRejected fault) {
    v1::WorkerPublished* answer = Room(fault.ByteSizeLong());
    *answer->add_quarantined() = std::move(fault);
  }
  void Rejected(v1::WorkerRejected fault) {
    v1::WorkerPublished* answer = Room(fault.ByteSizeLong());
    *answer->add_rejected() = std::move(fault);
  }
  std::vector<v1::WorkerPublished> Take() { return std::move(answers_); }

 private:
  v1::WorkerPublished* Room(size_t bytes) {
    if (bytes_ > 0 && bytes_ + bytes > kAnswerBytes) {
      answers_.back().set_more(true);
      answers_.push_back(head_);
      bytes_ = 0;
    }
    bytes_ += bytes + 4;
    return &answers_.back();
  }

  v1::WorkerPublished head_;
  std::vector<v1::WorkerPublished> answers_;
  size_t bytes_ = 0;
};

}  // namespace

size_t WorkerSets::ToolsElsewhere(const std::string& ns) const {
  size_t tools = 0;
  for (const auto& [name, count] : registered_) {
    if (name != ns && queued_.find(name) == queued_.end()) tools += count;
  }
  for (const auto& [name, queued] : queued_) {
    if (name != ns) tools += queued.tools;
  }
  for (const auto& [name, set] : open_) {
    if (name != ns) tools += set.tools.size();
  }
  return tools;
}

void WorkerSets::Refuse(WorkerSet& set, std::string why) {
  if (set.refusal.empty()) set.refusal = std::move(why);
  for (const v1::Tool& tool : set.tools) {
    if (set.refused_names.size() >= limits_.max_tools) break;
    set.refused_names.push_back(ForMessage(tool.name(), 200));
  }
  set.tools.clear();
  bytes_ -= set.bytes;
  set.bytes = 0;
}

absl::StatusOr<std::vector<WorkerSet>> WorkerSets::Add(v1::WorkerPublish publish,
                                                       std::vector<v1::WorkerRejected> bad_tools) {
  if (!v1::PublishMode_IsValid(publish.mode())) {
    return ProtocolViolation(absl::StrCat("the publish mode ", publish.mode(),
                                          " does not exist; send ATOMIC (1) or BEST_EFFORT (2)"));
  }
  std::vector<WorkerSet> ready;
  const std::string ns = publish.namespace_();
  const auto before = open_.find(ns);
  if (before != open_.end() && before->second.generation != publish.generation()) {
    Refuse(before->second,
           absl::StrCat("generation ", before->second.generation, " was given up: generation ",
                        publish.generation(), " began before its commit"));
    ready.push_back(std::move(before->second));
    open_.erase(before);
  }

  WorkerSet& set = open_[ns];
  set.ns = ns;
  set.generation = publish.generation();
  set.mode =
      publish.mode() == v1::PUBLISH_MODE_UNSPECIFIED ? v1::PUBLISH_MODE_ATOMIC : publish.mode();
  const size_t bytes = publish.ByteSizeLong() + kMessageOverhead;
  set.bytes += bytes;
  bytes_ += bytes;
  for (v1::Tool& tool : *publish.mutable_tools()) set.tools.push_back(std::move(tool));
  for (v1::WorkerRejected& bad : bad_tools) {
    if (set.bad_tools.size() < limits_.max_tools) set.bad_tools.push_back(std::move(bad));
  }

  const auto last = committed_.find(ns);
  const size_t tools = ToolsElsewhere(ns) + set.tools.size();
  if (!set.refusal.empty()) {
    Refuse(set, "");
  } else if (ns.empty()) {
    // The registry would take it: its empty namespace is for the daemon's own tools.
    Refuse(set, "a worker's tools need a namespace: [a-z0-9][a-z0-9-]{0,31}");
  } else if (last != committed_.end() && publish.generation() <= last->second) {
    Refuse(set, absl::StrCat("generation ", publish.generation(), " is not newer than ",
                             last->second, ", the last committed one"));
  } else if (tools > limits_.max_tools) {
    Refuse(set, absl::StrCat("too many tools for one worker: max_tools_per_worker allows ",
                             limits_.max_tools, ", with this set it would have ", tools));
  } else if (bytes_ > limits_.max_bytes) {
    Refuse(set, absl::StrCat("too much at once: sets that are not yet published may hold ",
                             limits_.max_bytes, " bytes together; wait for `published`"));
  }
  if (publish.commit()) {
    if (set.refusal.empty()) {
      committed_[ns] = set.generation;
      ++queued_[ns].sets;
      queued_[ns].tools = set.tools.size();
    }
    ready.push_back(std::move(set));
    open_.erase(ns);
  }
  return ready;
}

WorkerSet WorkerSets::Withdraw(const std::string& ns) {
  const auto open = open_.find(ns);
  if (open != open_.end()) {
    bytes_ -= open->second.bytes;
    open_.erase(open);
  }
  WorkerSet set;
  set.ns = ns;
  set.bytes = kMessageOverhead;
  bytes_ += set.bytes;
  ++queued_[ns].sets;
  queued_[ns].tools = 0;
  return set;
}

void WorkerSets::Settle(const std::string& ns, size_t bytes, bool refused, int64_t registered) {
  bytes_ -= bytes;
  const auto queued = queued_.find(ns);
  if (!refused && queued != queued_.end() && --queued->second.sets == 0) queued_.erase(queued);
  if (registered == 0) registered_.erase(ns);
  if (registered > 0) registered_[ns] = static_cast<size_t>(registered);
}

WorkerSetOutcome PublishSet(Registry* registry, const std::shared_ptr<Backend>& backend,
                            WorkerSet set) {
  WorkerSetOutcome outcome;
  const uint64_t revision = registry->snapshot()->revision();
  // Under ATOMIC a tool that could not even be read is a fault like any other.
  if (!set.refusal.empty() || (set.mode == v1::PUBLISH_MODE_ATOMIC && !set.bad_tools.empty())) {
    AnswerWriter writer(set, revision);
    for (const std::string& name : set.refused_names)
      writer.Rejected(RejectedFor(name, set.refusal));
    for (v1::WorkerRejected& bad : set.bad_tools) writer.Rejected(std::move(bad));
    outcome.answers = writer.Take();
    return outcome;
  }

  std::vector<std::string> names;
  for (const v1::Tool& tool : set.tools) names.push_back(tool.name());
  absl::StatusOr<PublishReport> report =
      registry->Publish(backend, set.ns, std::move(set.tools), set.mode);
  if (!report.ok()) {
    set.refusal = std::string(report.status().message());
    AnswerWriter writer(set, revision);
    for (const std::string& name : names) writer.Rejected(RejectedFor(name, set.refusal));
    for (v1::WorkerRejected& bad : set.bad_tools) writer.Rejected(std::move(bad));
    outcome.answers = writer.Take();
    return outcome;
  }
  AnswerWriter writer(set, report->revision);
  if (!report->refused) {
    outcome.registered = static_cast<int64_t>(report->accepted.size() + report->quarantined.size());
  }
  for (std::string& name : report->accepted) writer.Accepted(std::move(name));
  for (PublishReport::Fault& fault : report->quarantined) writer.Quarantined(RejectedFor(fault));
  for (PublishReport::Fault& fault : report->rejected) writer.Rejected(RejectedFor(fault));
  for (v1::WorkerRejected& bad : set.bad_tools) writer.Rejected(std::move(bad));
  outcome.answers = writer.Take();
  return outcome;
}

}  // namespace toolrack
