#include "registry/schema/schema.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "registry/schema/engine.h"
#include "registry/schema/exact.h"
#include "registry/schema/explainer.h"
#include "registry/schema/mender.h"
#include "registry/schema/reader.h"

namespace toolrack {

struct Schema::Rep {
  std::unique_ptr<const NodeSet> nodes;
  std::unique_ptr<const Engine> engine;
  size_t max_visits = 0;
  size_t max_depth = 0;
  size_t bytes = 0;
};

Schema::Schema(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Schema::~Schema() = default;

Schema::Compiled Schema::Compile(absl::string_view text, const SchemaLimits& limits,
                                 bool object_root) {
  SchemaOptions options;
  options.limits = limits;
  options.object_root = object_root;
  return Compile(text, options);
}

Schema::Compiled Schema::Compile(absl::string_view text, const SchemaOptions& options) {
  Compiled out;
  ReadOutcome read = ReadSchema(text, options);
  out.findings = std::move(read.findings);
  if (read.nodes == nullptr) return out;
  auto rep = std::make_unique<Rep>();
  rep->nodes = std::move(read.nodes);
  rep->max_visits = options.limits.max_visits;
  rep->max_depth = options.limits.max_depth;
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Create(*rep->nodes, options.limits.max_visits);
  if (!engine.ok()) {
    v1::Finding& finding = out.findings.emplace_back();
    finding.set_rule("internal");
    finding.set_severity(v1::FINDING_SEVERITY_ERROR);
    finding.set_message(std::string(engine.status().message()));
    return out;
  }
  rep->engine = std::move(*engine);
  rep->bytes = sizeof(Schema) + sizeof(Rep) + rep->engine->ApproximateBytes() +
               ApproximateBytesOf(*rep->nodes);
  out.schema = std::shared_ptr<const Schema>(new Schema(std::move(rep)));
  return out;
}

bool Schema::Accepts(const Json& value) const {
  return rep_->engine->Validate(value) == Verdict::kFits;
}

bool Schema::AcceptsText(absl::string_view text, const Json& value) const {
  return MayHaveLongNumbers(text) ? Accepts(ReadExactly(text)) : Accepts(value);
}

std::vector<FieldFault> Schema::ExplainText(absl::string_view text, const Json& value,
                                            size_t max) const {
  return MayHaveLongNumbers(text) ? Explain(ReadExactly(text), max) : Explain(value, max);
}

std::vector<FieldFault> Schema::Explain(const Json& value, size_t max) const {
  switch (rep_->engine->Validate(value)) {
    case Verdict::kFits:
      return {};
    case Verdict::kTooManySteps:
      return {TooManyStepsFault()};
    case Verdict::kDoesNotFit:
      break;
  }
  std::vector<FieldFault> faults = ExplainFaults(*rep_->nodes, value, max, rep_->max_visits);
  // The verdict stands even if the explainer, which looks a second time, finds no words for it.
  if (faults.empty()) faults.push_back({"", "does not fit the schema"});
  return faults;
}

std::optional<Mended> Schema::Mend(absl::string_view text, const Json& value) const {
  if (AcceptsText(text, value)) return std::nullopt;
  std::optional<Mended> mended = MendText(*rep_->nodes, text, value, rep_->max_visits);
  if (!mended) return std::nullopt;
  auto meant = std::make_shared<Json>();
  const auto parsed = ParseJson(mended->text, {SIZE_MAX, rep_->max_depth}, *meant);
  if (std::holds_alternative<JsonFault>(parsed) || !AcceptsText(mended->text, *meant)) {
    return std::nullopt;
  }
  mended->value = std::move(meant);
  return mended;
}

size_t Schema::ApproximateBytes() const { return rep_->bytes; }

}  // namespace toolrack
