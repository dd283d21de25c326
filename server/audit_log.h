// The record of calls: who called what, with which arguments (their digest), and what became of it.
#ifndef TOOLRACK_SERVER_AUDIT_LOG_H_
#define TOOLRACK_SERVER_AUDIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/call/pipeline.h"

namespace toolrack {

// One JSON object and a line feed. Always there: `time` (RFC 3339, UTC, microseconds), `call_id`,
// `principal`, `tool`, `outcome`, `duration_us`, `argument_bytes`, `result_bytes`. There when there
// is something to say: `arguments_sha256`, `digest` (the tool's definition), `session_id`,
// `batch_id`, `backend`, `attempts`, `cached`, `hook` (that answered in the tool's place),
// `approval_id`, `traceparent`. Texts of callers are shortened and are valid UTF-8; nothing of the
// arguments or of the result is in it.
std::string FormatAuditLine(const CallRecord& call);

// A file that lines are appended to by a thread of its own, so that no call waits for a disk.
// What cannot be written is kept and tried again each second, up to 8 MiB; more is lost, and
// counted. A line is whole, also where the disk was full in the middle of it. Thread-safe.
class AuditLog {
 public:
  static constexpr size_t kMaxWaitingBytes = 8 << 20;

  // Opens, with mode 0600 when it is new. FAILED_PRECONDITION with what to do.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(std::string file);
  // Tries once more to write what waits.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void Add(const CallRecord& call);
  // Opens the file by its name again, soon: it was moved away. The old one stays when that fails.
  void Reopen();
  // Waits until all that was added, and a Reopen, was tried.
  void Flush();
  // The last write went well.
  bool writable() const;
  // Lines that were lost.
  uint64_t lost() const;
  const std::string& file() const { return file_; }

 private:
  struct State;
  AuditLog(std::string file, std::unique_ptr<State> state);
  const std::string file_;
  const std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_AUDIT_LOG_H_
