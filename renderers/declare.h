// How each dialect spells the definitions of tools.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_DECLARE_H_
#define TOOLRACK_RENDERERS_DECLARE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/dialect.h"
#include "renderers/json_text.h"
#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/renderer_service.pb.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

// One tool on its way into a prompt.
struct DeclaredTool {
  const v1::Tool* tool = nullptr;  // canonical name, whole schema
  std::string wire;
  JsonText schema;        // lowered for the dialect
  bool deferred = false;  // the provider knows it, the model does not yet
  bool strict = false;
};

using RenderWarnings = google::protobuf::RepeatedPtrField<v1::RenderWarning>;

// Reads, lowers and, when the options ask for it, normalises the schema of a tool. An empty schema
// is that of plain text: one string `input`.
DeclaredTool PrepareTool(const Dialect& dialect, const v1::Tool& tool,
                         const v1::RenderOptions& options, RenderWarnings& warnings);

// The whole declaration text of a raw-text dialect: `<functions>` lines, or Harmony's namespace.
std::string DeclareText(const Dialect& dialect, const std::vector<DeclaredTool>& tools,
                        const v1::RenderOptions& options, RenderWarnings& warnings);

// The value of the provider's `tools`. `cached`: set the provider's cache field where it has one,
// on the last tool that may carry it.
std::string DeclareJson(const Dialect& dialect, const std::vector<DeclaredTool>& tools,
                        bool cached);
// One entry of it, appended to `out`; `cached`: with the provider's cache field, where it has one.
void AppendEntry(const Dialect& dialect, const DeclaredTool& tool, bool cached, std::string& out);

// Strict mode where the options ask for it and the subset allows it, within the provider's limits
// per request.
void ApplyStrict(const Dialect& dialect, std::vector<DeclaredTool>& tools,
                 RenderWarnings& warnings);

void AddWarning(RenderWarnings& warnings, absl::string_view tool, absl::string_view rule,
                absl::string_view pointer, absl::string_view message);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_DECLARE_H_
