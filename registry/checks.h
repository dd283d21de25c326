// What a definition must pass to be registered, and the form in which it is kept.
#ifndef TOOLRACK_REGISTRY_CHECKS_H_
#define TOOLRACK_REGISTRY_CHECKS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "registry/schema/schema.h"
#include "registry/snapshot.h"
#include "registry/tool.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// The schema of a tool that gives none.
extern const char kDefaultInputSchema[];

// The limits in force: defaults for what is 0.
v1::LimitsConfig WithDefaults(v1::LimitsConfig limits);
// How schemas are compiled, apart from what differs from one to the next.
SchemaOptions SchemaOptionsOf(const v1::LimitsConfig& limits,
                              const v1::ValidationConfig& validation);

// Remembers what the schema checker said, by the schema's text. Bounded. Thread-safe.
class VerdictCache {
 public:
  explicit VerdictCache(SchemaOptions options) : options_(std::move(options)) {}

  using Findings = std::shared_ptr<const std::vector<v1::Finding>>;
  // Compiles what is not known yet: some 0.1 ms.
  Findings Check(absl::string_view schema, bool object_root, bool openapi);

 private:
  static constexpr size_t kMaxKept = 100000;
  const SchemaOptions options_;
  absl::Mutex mutex_;
  // When the young ones are many, they become the old ones, and the old ones go.
  absl::flat_hash_map<std::string, Findings> young_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Findings> old_ ABSL_GUARDED_BY(mutex_);
};

// One definition after its checks.
struct CheckedTool {
  // As it will be kept and listed, apart from revision, state and source: always UTF-8 and within
  // the limits, also when it is faulty. `name` is the canonical name.
  v1::Tool tool;
  // As given; UTF-8 replaced where it is none.
  std::string bare_name;
  // The name breaks the rules: `tool` cannot be listed. One finding says why.
  bool rejected = false;
  // A finding of severity ERROR: to be quarantined.
  bool faulty = false;
  // Its schemas are written in OpenAPI 3.0's way, says the configuration.
  bool openapi = false;
  ToolSettings settings;
};

// Thread-safe.
class DefinitionChecker {
 public:
  DefinitionChecker(v1::LimitsConfig limits, const v1::ValidationConfig& validation,
                    std::vector<v1::ToolConfig> settings);

  // All faults at once. `reserved`: a name that begins with `__` is fine.
  CheckedTool Check(absl::string_view ns, v1::Tool given, bool reserved = false);
  // Whether the configuration switches the tool off.
  bool DisabledByConfig(absl::string_view canonical) const;

 private:
  bool OpenApiByConfig(absl::string_view canonical) const;
  void Configure(CheckedTool& checked) const;

  const v1::LimitsConfig limits_;
  const std::vector<v1::ToolConfig> settings_;
  VerdictCache verdicts_;
};

// Adds what providers would refuse (schema/lint.h): made when somebody asks, as it would double the
// size of a catalogue. Some 20 µs.
void AddTargetFindings(v1::Tool& tool);

// Lower-case hex SHA-256 over the tool's canonical name, title, description, schemas, categories
// and annotations. Each part is framed by its length, so that no two tools give the same bytes.
std::string DefinitionDigest(const v1::Tool& tool);

// `pattern` with `*` for any characters, against the whole of `name`. Linear in practice: no
// backtracking beyond the last star.
bool MatchesGlob(absl::string_view pattern, absl::string_view name);

// "rule: message" for reports.
v1::Finding MakeFinding(absl::string_view rule, absl::string_view pointer,
                        v1::FindingSeverity severity, std::string message);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CHECKS_H_
