// A schema and a value, apart by a line `---`: no input crashes or hangs the door, every refusal
// has a finding, verdict and explanation agree, and what was mended fits and reads back. A schema
// that starts with a blank is read as OpenAPI.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "registry/base/utf8.h"
#include "registry/schema/lint.h"
#include "registry/schema/schema.h"
#include "tests/fuzz/check.h"

namespace toolrack {
namespace {

constexpr absl::string_view kSeparator = "\n---\n";

void Check(absl::string_view input) {
  const size_t cut = input.find(kSeparator);
  const absl::string_view text = input.substr(0, cut);
  const absl::string_view data =
      cut == absl::string_view::npos ? "{}" : input.substr(cut + kSeparator.size());
  SchemaOptions options;
  options.limits.max_visits = 2000;  // a slow input teaches the fuzzer nothing
  options.assert_format = true;
  options.openapi = text.substr(0, 1) == " ";
  const Schema::Compiled compiled = Schema::Compile(text, options);
  for (const v1::Finding& finding : LintForTargets("t", text)) {
    FUZZ_CHECK(!finding.target().empty() && IsUtf8(finding.message()) && IsUtf8(finding.pointer()));
  }
  size_t errors = 0;
  for (const v1::Finding& finding : compiled.findings) {
    FUZZ_CHECK(!finding.rule().empty() && finding.rule() != "internal");
    FUZZ_CHECK(!finding.message().empty() && IsUtf8(finding.message()));
    errors += finding.severity() == v1::FINDING_SEVERITY_ERROR;
  }
  FUZZ_CHECK((compiled.schema == nullptr) == (errors > 0));
  Json value;
  if (compiled.schema == nullptr ||
      !std::holds_alternative<std::monostate>(ParseJson(data, {1 << 16, 32, 2000}, value))) {
    return;
  }
  const bool accepts = compiled.schema->Accepts(value);
  const std::vector<FieldFault> faults = compiled.schema->Explain(value);
  FUZZ_CHECK(faults.empty() == accepts);
  const std::optional<Mended> mended = compiled.schema->Mend(data, value);
  const bool exactly = compiled.schema->AcceptsText(data, value);
  FUZZ_CHECK(compiled.schema->ExplainText(data, value).empty() == exactly);
  FUZZ_CHECK(!mended || (!exactly && !mended->repairs.empty()));
  if (mended) {
    Json again;
    FUZZ_CHECK(std::holds_alternative<std::monostate>(
        ParseJson(mended->text, {SIZE_MAX, options.limits.max_depth}, again)));
    FUZZ_CHECK(again == *mended->value && compiled.schema->AcceptsText(mended->text, again));
  }
  for (const FieldFault& fault : faults) {
    FUZZ_CHECK(IsUtf8(fault.field) && IsUtf8(fault.description));
    // Said when the explainer, unlike the engine, found nothing.
    FUZZ_CHECK(fault.description != "does not fit the schema");
  }
}

}  // namespace
}  // namespace toolrack

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  toolrack::Check(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
