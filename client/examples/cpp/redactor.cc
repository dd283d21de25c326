// A hook in C++: `example_redactor unix:/run/toolrack/control.sock [NAME]` blacks out what looks
// like a key or a card number in every result, until it is interrupted.
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <regex>
#include <string>

#include "client/hook.h"

namespace {

const std::regex kSecret(
    R"(\b(sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|[0-9]{4}([ -]?[0-9]{4}){3})\b)");

// Whether there was something to black out.
bool Redact(std::string* text) {
  std::string clean = std::regex_replace(*text, kSecret, "[redacted]");
  if (clean == *text) return false;
  text->swap(clean);
  return true;
}

toolrack::v1::HookVerdict OnResult(const toolrack::v1::HookEvent& event,
                                   const toolrack::v1::Tool&) {
  toolrack::v1::ToolResult result = event.result();
  bool changed = Redact(result.mutable_summary());
  changed |= Redact(result.mutable_structured_json());
  for (toolrack::v1::Content& part : *result.mutable_content()) {
    if (part.has_text()) changed |= Redact(part.mutable_text()->mutable_text());
    if (part.has_json()) changed |= Redact(part.mutable_json()->mutable_json());
  }
  return changed ? toolrack::ReplaceCallResult(std::move(result)) : toolrack::PassCall();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s ADDRESS [NAME]\n", argv[0]);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  toolrack::HookOptions options;
  options.address = argv[1];
  options.name = argc > 2 ? argv[2] : "example-redactor";
  options.points = {toolrack::v1::HOOK_POINT_POST_CALL};
  // Last of all, so that no other hook puts back what it took out; without it nothing gets out.
  options.priority = -1000;
  options.failure_mode = toolrack::v1::HOOK_FAILURE_MODE_FAIL_CLOSED;
  options.on_attached = [](const toolrack::v1::HookWelcome&) {
    std::printf("attached\n");
    std::fflush(stdout);
  };
  toolrack::HookClient hook(options, OnResult);
  const absl::Status started = hook.Start();
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", std::string(started.message()).c_str());
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  hook.Stop();
  return 0;
}
