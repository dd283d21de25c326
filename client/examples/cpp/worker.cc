// A worker in C++: `example_worker unix:/run/toolrack/worker.sock [NAME]` offers some tools under
// the namespace `example` until it is interrupted.
#include "client/worker.h"

#include <pthread.h>

#include <cctype>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "absl/synchronization/notification.h"
#include "registry/base/json.h"

namespace {

toolrack::v1::Tool Define(const char* name, const char* description, const char* schema) {
  toolrack::v1::Tool tool;
  tool.set_name(name);
  tool.set_description(description);
  tool.set_input_schema(schema);
  return tool;
}

// The daemon has validated the arguments: the member is there and a string.
toolrack::WorkerOutcome Shout(const toolrack::WorkerCall& call) {
  auto arguments = toolrack::ParseJsonOrStatus(call.arguments_json());
  if (!arguments.ok()) return arguments.status();
  std::string text = (*arguments)["text"].get<std::string>();
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return toolrack::TextOutcome(text);
}

// Shows progress, and how a tool that takes its time heeds the stop.
toolrack::WorkerOutcome Wait(const toolrack::WorkerCall& call) {
  auto arguments = toolrack::ParseJsonOrStatus(call.arguments_json());
  if (!arguments.ok()) return arguments.status();
  const double seconds = (*arguments)["seconds"].get<double>();
  absl::Notification stopped;
  const toolrack::StopToken stop = call.stop();
  const std::stop_callback on_stop(stop.std_token(), [&stopped] { stopped.Notify(); });
  call.Progress(0, seconds, "waiting");
  if (stopped.WaitForNotificationWithTimeout(absl::Seconds(seconds)))
    return absl::CancelledError("Stopped before the time was over.");
  call.Progress(seconds, seconds, "done");
  return toolrack::TextOutcome("The time is over.");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: example_worker ADDRESS [NAME]\n");
    return 2;
  }
  // Signals are waited for below; the worker's threads inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  toolrack::WorkerOptions options;
  options.address = argv[1];
  options.name = argc > 2 ? argv[2] : "example-worker";
  options.on_published = [](const toolrack::v1::WorkerPublished& published) {
    for (const auto& name : published.accepted()) std::printf("published %s\n", name.c_str());
    for (const auto& fault : published.rejected()) {
      std::printf("rejected %s: %s\n", fault.name().c_str(),
                  fault.reasons_size() > 0 ? fault.reasons(0).c_str() : "no reason");
    }
    std::fflush(stdout);
  };
  toolrack::Worker worker(options);

  worker.AddTool("example",
                 Define("shout", "Gives the text back in capitals.",
                        R"({"type":"object","properties":{"text":{"type":"string"}},)"
                        R"("required":["text"],"additionalProperties":false})"),
                 Shout);
  worker.AddTool(
      "example",
      Define("arguments", "Gives its arguments back, byte for byte.", R"({"type":"object"})"),
      [](const toolrack::WorkerCall& call) {
        return toolrack::JsonOutcome(call.arguments_json());
      });
  worker.AddTool("example", Define("fail", "Fails, and says so.", R"({"type":"object"})"),
                 [](const toolrack::WorkerCall&) -> toolrack::WorkerOutcome {
                   return absl::UnknownError("This tool always fails.");
                 });
  const char kSeconds[] =
      R"({"type":"object","properties":{"seconds":{"type":"number","minimum":0}},)"
      R"("required":["seconds"],"additionalProperties":false})";
  toolrack::v1::Tool wait = Define("wait", "Waits, and tells how far it is.", kSeconds);
  // Waiting twice does no harm: the daemon may try again when a worker is lost.
  wait.mutable_annotations()->set_idempotent(true);
  worker.AddTool("example", wait, Wait);
  worker.AddTool("example", Define("launch", "Counts down, then launches.", kSeconds), Wait);

  const absl::Status started = worker.Start();
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", std::string(started.message()).c_str());
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  worker.Stop(absl::Seconds(10));
  return 0;
}
