// The arguments of a call: from what the caller sent to one validated JSON object.
//
// The same functions serve real calls, ExplainCall and in-process calls, so that the verdict
// depends on the schema and the arguments alone. Pure functions, thread-safe. CPU work grows with
// the text: some 10 µs a KiB.
#ifndef TOOLRACK_REGISTRY_ARGUMENTS_H_
#define TOOLRACK_REGISTRY_ARGUMENTS_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "registry/snapshot.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

struct ArgumentLimits {
  size_t max_bytes = 1 << 20;
  size_t max_depth = 64;
};

// What the caller sent.
struct ArgumentInput {
  enum class Form { kJson, kText };
  Form form = Form::kJson;
  std::string text;  // JSON: empty, blank or `null` means `{}`
};

// A JSON object: its text, byte for byte as sent (or as wrapped), apart from what was mended, and
// the same parsed.
struct Arguments {
  std::string text;
  std::shared_ptr<const nlohmann::json> value;
  std::vector<v1::Repair> repairs;
};

// Whether the tool takes plain text: it says so, or it has the default schema.
bool TakesRawInput(const v1::Tool& tool);

// Reads and bounds. ARGUMENTS_NOT_JSON, ARGUMENTS_TOO_LARGE; ARGUMENTS_INVALID when it is no
// object; REQUEST_INVALID for plain text to a tool that does not take it. `coerce`: a string that
// holds a JSON object is taken for it.
absl::StatusOr<Arguments> ReadArguments(const v1::Tool& tool, ArgumentInput input,
                                        const ArgumentLimits& limits, bool coerce);

// Against the tool's input schema. ARGUMENTS_INVALID with one fault for each wrong place. `coerce`:
// arguments that do not fit are mended where the schema leaves no doubt (Schema::Mend), and the
// repairs are added to theirs.
absl::Status ValidateArguments(const ToolEntry& entry, bool coerce, Arguments& arguments);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_ARGUMENTS_H_
