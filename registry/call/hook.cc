#include "registry/call/hook.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

class FunctionHook : public Hook {
 public:
  FunctionHook(HookSpec spec, HookFunction function)
      : spec_(std::move(spec)), function_(std::move(function)) {}

  const HookSpec& spec() const override { return spec_; }
  uint64_t Ask(HookQuestion question, HookDone done) override {
    done(Run(question));
    return 0;
  }
  void Forget(uint64_t) override {}
  void Tell(HookQuestion question) override { Run(question).IgnoreError(); }

 private:
  absl::StatusOr<HookVerdict> Run(const HookQuestion& question) const {
    try {
      return function_(*question.event, question.tool->definition->tool);
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("failed: ", ForMessage(error.what())));
    } catch (...) {
      return absl::InternalError("failed with an exception of unknown type");
    }
  }

  const HookSpec spec_;
  const HookFunction function_;
};

}  // namespace

const char* HookActionName(HookVerdict::Action action) {
  switch (action) {
    case HookVerdict::Action::kPass:
      return "pass";
    case HookVerdict::Action::kReplaceArguments:
      return "replace_arguments";
    case HookVerdict::Action::kReplaceResult:
      return "replace_result";
    case HookVerdict::Action::kDeny:
      return "deny";
    case HookVerdict::Action::kAnswer:
      return "answer";
  }
  return "";
}

std::shared_ptr<Hook> MakeHook(HookSpec spec, HookFunction function) {
  return std::make_shared<FunctionHook>(std::move(spec), std::move(function));
}

HookVerdict PassVerdict() { return HookVerdict(); }

HookVerdict ReplaceArguments(std::string arguments_json) {
  HookVerdict verdict;
  verdict.action = HookVerdict::Action::kReplaceArguments;
  verdict.arguments = std::move(arguments_json);
  return verdict;
}

HookVerdict ReplaceResult(v1::ToolResult result) {
  HookVerdict verdict;
  verdict.action = HookVerdict::Action::kReplaceResult;
  verdict.result = std::move(result);
  return verdict;
}

HookVerdict Deny(std::string reason) {
  HookVerdict verdict;
  verdict.action = HookVerdict::Action::kDeny;
  verdict.reason = std::move(reason);
  return verdict;
}

HookVerdict AnswerInstead(v1::ToolResult result) {
  HookVerdict verdict;
  verdict.action = HookVerdict::Action::kAnswer;
  verdict.result = std::move(result);
  return verdict;
}

}  // namespace toolrack
