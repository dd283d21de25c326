// What a typed tool cannot be, one form a case: `check.py` compiles this once as it is, which must
// pass, and once with REFUSED defined, which must fail with the sentence of each case.
#include <memory>
#include <string>

#include "registry/base/executor.h"
#include "registry/typed_tool.h"

namespace toolrack {

struct GoodArgs {
  int n = 0;
  static auto Describe() { return Fields(Field("n", &GoodArgs::n, "A number")); }
};

void Good(Executor* executor) {
  const ToolSpec spec("t");
  MakeTool(spec, [](const GoodArgs& args) { return args.n; });
  MakeTool(spec, [](const std::string& text) { return text; });
  MakeTool(spec, [](GoodArgs args, ToolReply<int> reply) { reply(args.n); });
  MakeBlockingTool(executor, spec, [](const GoodArgs& args) { return args.n; });
}

#ifdef REFUSED
struct NotDescribed {
  int n = 0;
};
struct HoldsPointer {
  int* n = nullptr;
  static auto Describe() { return Fields(Field("n", &HoldsPointer::n, "")); }
};

void Refused(Executor* executor) {
  const ToolSpec spec("t");
  int state = 0;
  // case: const and not a template
  MakeTool(spec, [state](const GoodArgs& args) mutable { return state += args.n; });
  // case: takes one argument struct
  MakeTool(spec, [](const GoodArgs& a, const GoodArgs& b) { return a.n + b.n; });
  // case: are a struct with
  MakeTool(spec, [](const NotDescribed& args) { return args.n; });
  // case: one ToolReply is enough
  MakeTool(spec, [](GoodArgs, ToolReply<int>, ToolReply<int>) {});
  // case: through its ToolReply returns void
  MakeTool(spec, [](GoodArgs args, ToolReply<int>) { return args.n; });
  // case: references would dangle
  MakeTool(spec, [](const GoodArgs&, ToolReply<int>) {});
  // case: no thread to block
  MakeBlockingTool(executor, spec, [](GoodArgs, ToolReply<int>) {});
  // case: this type cannot be used in a typed tool
  MakeTool(spec, [](const HoldsPointer&) {});
}
#endif

}  // namespace toolrack
