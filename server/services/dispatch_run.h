// One output of a model on its way: read, called, answered. What Dispatch and DispatchStream share.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_RUN_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_RUN_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/stop.h"
#include "registry/call/pipeline.h"
#include "registry/session_table.h"
#include "renderers/output_parser.h"
#include "server/services/core.h"
#include "server/services/dispatch_retry.h"
#include "server/services/prompts.h"
#include "toolrack/v1/dispatcher_service.pb.h"

namespace toolrack {

// Feed or Provide, then Finish, one at a time, off the gRPC threads: a call starts as soon as it
// was read. Calls end on any thread. `done` runs once, after Finish and the last call, on any
// thread, possibly within Finish. Held by shared pointer; its running calls hold it too.
class DispatchRun final : public std::enable_shared_from_this<DispatchRun>, private OutputSink {
 public:
  struct Request {
    std::string session_id;
    std::string turn_id;
    // The output comes as JSON of a provider: messages are written for its API where the family has
    // one.
    bool provider_json = false;
  };
  // Takes what happens: what the parser finds in order, from the thread that feeds; outcomes and
  // progress from any thread; none after `done`. May be empty.
  using Emit = std::function<void(v1::DispatchStreamResponse)>;
  // INTERNAL: a bug of ours.
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::DispatchResponse>)>;

  // SESSION_NOT_FOUND, REQUEST_INVALID. A stop is passed on to all calls. Core and cache outlive
  // the run.
  static absl::StatusOr<std::shared_ptr<DispatchRun>> Begin(const Core& core, RetryLedger& retries,
                                                            Request request, Caller caller,
                                                            StopToken stop, Emit emit, Done done);

  // The next bytes of the output. Beyond `dispatcher.max_output_bytes` nothing is read any more.
  void Feed(absl::string_view bytes);
  // The whole output, as a provider gave it.
  void Provide(absl::string_view json);
  // The output is over.
  void Finish();

 private:
  // One call, or what should have been one. Stays where it is.
  struct Slot {
    v1::DispatchOutcome outcome;
    absl::Status status;  // what outcome.status was made of
    bool over = false;    // outcome.result or outcome.status is there
    bool note = false;    // no result can name it
    StopSource stop;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;
  };
  class Reporter;

  DispatchRun(const Core& core, RetryLedger& retries, Request request, Caller caller,
              StopToken stop, Emit emit, Done done);

  // OutputSink.
  void Text(absl::string_view text) override;
  void Reasoning(absl::string_view text) override;
  void CallBegin(const v1::OutputCallBegin& begin) override;
  void Arguments(absl::string_view piece) override;
  void CallEnd(const v1::OutputCallEnd& end) override;
  void Malformed(const v1::OutputMalformed& malformed) override;
  void Repair(const v1::OutputRepair& repair) override;

  void TellText(absl::string_view text, bool reasoning);
  void AddMalformed(const v1::OutputMalformed& malformed);
  // A call that the parser ended as incomplete and that no Malformed explained.
  void SettleUnfinished();
  Slot& AddSlot(v1::OutputCall call);
  // A whole call: starts it, or says at once why not.
  void AddCall(v1::OutputCall call);
  absl::Status Prepare(const v1::OutputCall& call, v1::CallToolRequest& request) const;
  std::string ToolOf(const v1::CallToolRequest& request) const;
  void Start(Slot& slot, v1::CallToolRequest request);
  void Refuse(Slot& slot, absl::Status status);
  void Ended(Slot& slot, absl::StatusOr<v1::CallToolResponse> answer);
  // The last of the calls and the parser to end answers.
  void LeaveOne(bool here);
  void Answer();
  v1::DispatchResponse MakeResponse();
  void AddMessages(v1::DispatchResponse& response);

  const Core& core_;
  RetryLedger& ledger_;
  const Request request_;
  const Caller caller_;
  const StopToken stop_;
  const Emit emit_;
  Done done_;
  const std::string batch_id_;
  Prompts::Target target_;  // its session is in use as long as the run is
  RetryLimits retries_ = {};
  ToolViewPtr view_;
  const OfferedTools* offered_ = nullptr;  // the view's
  std::unique_ptr<OutputParser> parser_;

  // The feeding thread's.
  uint64_t bytes_ = 0;
  size_t calls_ = 0;
  v1::OutputCall current_;
  std::optional<v1::OutputCall> unfinished_;
  v1::DispatchResponse response_;

  absl::Mutex mu_;
  std::deque<Slot> slots_;  // grows on the feeding thread; each is written by whoever ends it
  size_t pending_ ABSL_GUARDED_BY(mu_) = 1;  // calls, and the parser
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_RUN_H_
