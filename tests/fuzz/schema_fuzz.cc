// A schema and a value, apart by a line `---`: no input crashes or hangs the door, every refusal
// has a finding, and verdict and explanation agree.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "registry/base/utf8.h"
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
  SchemaLimits limits;
  limits.max_visits = 2000;  // a slow input teaches the fuzzer nothing
  const Schema::Compiled compiled = Schema::Compile(text, limits, false);
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
