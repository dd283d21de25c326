// One ParseOutputStream.
#ifndef TOOLRACK_SERVER_SERVICES_PARSE_STREAM_H_
#define TOOLRACK_SERVER_SERVICES_PARSE_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "registry/base/executor.h"
#include "renderers/output_parser.h"
#include "server/rpc/method_stats.h"
#include "server/services/render_cache.h"

namespace toolrack {

// Reads a message, parses it on the executor, writes what came of it, reads the next: one thing is
// under way at a time, so that a slow reader slows the writer down and nothing piles up. Frees
// itself.
class ParseStream final
    : public grpc::ServerBidiReactor<v1::ParseOutputStreamRequest, v1::ParseOutputStreamResponse>,
      private OutputSink {
 public:
  struct Setting {
    RendererSpec spec;
    ToolViewPtr view;
    ParseOptions options;
  };
  // What the first message asks for.
  using Choose = std::function<absl::StatusOr<Setting>(const v1::ParseOutputStreamRequest&)>;

  ParseStream(Executor* executor, MethodStats* stats, Choose choose);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

  void Text(absl::string_view text) override;
  void Reasoning(absl::string_view text) override;
  void CallBegin(const v1::OutputCallBegin& begin) override;
  void Arguments(absl::string_view piece) override;
  void CallEnd(const v1::OutputCallEnd& end) override;
  void Malformed(const v1::OutputMalformed& malformed) override;
  void Repair(const v1::OutputRepair& repair) override;

  // On the executor.
  void Handle(bool more);
  // Writes, reads or ends.
  void Go();
  void End(const absl::Status& status);

  Executor* const executor_;
  MethodStats* const stats_;
  const Choose choose_;
  v1::ParseOutputStreamRequest in_;
  std::deque<v1::ParseOutputStreamResponse> out_;
  Setting setting_;
  std::unique_ptr<OutputParser> parser_;
  absl::Status status_;
  bool over_ = false;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_PARSE_STREAM_H_
