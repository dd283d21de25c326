#include "client/typed_worker.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/base/json.h"

namespace toolrack {
namespace {

// What the tool tells goes to the daemon. Early content has no message of its own on the stream.
class CallTeller : public CallReporter {
 public:
  explicit CallTeller(std::shared_ptr<const WorkerCall> call) : call_(std::move(call)) {}
  void OnProgress(v1::Progress progress) override {
    call_->Progress(progress.progress(), progress.total(), progress.message());
  }
  void OnLog(v1::LogLine line) override { call_->Log(line.level(), line.message()); }
  void OnContent(v1::Content) override {}

 private:
  const std::shared_ptr<const WorkerCall> call_;
};

absl::Duration RemainingOf(const v1::Invocation& invocation) {
  if (!invocation.has_remaining()) return absl::InfiniteDuration();
  return absl::Seconds(invocation.remaining().seconds()) +
         absl::Nanoseconds(invocation.remaining().nanos());
}

}  // namespace

void AddTypedTool(Worker& worker, absl::string_view ns, const ToolFactory& factory) {
  auto [meta, tool] = factory();
  const auto handler = [tool = std::move(tool)](std::shared_ptr<const WorkerCall> call,
                                                WorkerDone done) {
    const v1::Invocation& invocation = call->invocation();
    // The daemon has held the text to its limits.
    JsonLimits limits;
    limits.max_bytes = SIZE_MAX;
    absl::StatusOr<Json> arguments = ParseJsonOrStatus(call->arguments_json(), limits);
    if (!arguments.ok()) {
      done(arguments.status());
      return;
    }
    ToolCall typed;
    typed.arguments_json = call->arguments_json();
    typed.arguments = std::make_shared<const Json>(*std::move(arguments));
    typed.context.call_id = invocation.call_id();
    typed.context.batch_id = invocation.batch_id();
    typed.context.call_index = invocation.call_index();
    typed.context.session_id = invocation.session_id();
    typed.context.principal = invocation.principal();
    typed.context.traceparent = invocation.traceparent();
    typed.context.attempt = invocation.attempt();
    typed.context.remaining = RemainingOf(invocation);
    typed.stop = call->stop();
    typed.reporter = std::make_shared<CallTeller>(call);
    tool->Execute(std::move(typed), std::move(done));
  };
  worker.AddAsyncTool(ns, std::move(meta), handler);
}

}  // namespace toolrack
