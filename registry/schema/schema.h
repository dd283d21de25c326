// The one door to JSON Schema validation. Behind it stands valijson; nothing of it, and no
// exception, comes out.
//
// Dialect by `$schema`: draft-07 and 2020-12 (the default, and with it 2019-09's keywords where
// they mean the same), as far as each keyword can be enforced exactly. What cannot be is a fault at
// compile time, by keyword and JSON Pointer: never a silent accept. Keywords that no dialect knows
// are annotations and are ignored. `format` is an annotation. No network, ever: every `$ref` stays
// inside the document.
#ifndef TOOLRACK_REGISTRY_SCHEMA_SCHEMA_H_
#define TOOLRACK_REGISTRY_SCHEMA_SCHEMA_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

struct SchemaLimits {
  size_t max_bytes = 256 << 10;
  size_t max_nodes = 10000;  // JSON values in the document
  size_t max_depth = 64;
  // Visits of one validation; a schema that fans out further on some data refuses that data, by
  // name.
  size_t max_visits = 100000;
};

// Bumped whenever a verdict could change: remembered verdicts of another version are void.
inline constexpr int kSchemaCheckerVersion = 1;

// A compiled schema. Immutable, thread-safe, no lock on the validating path.
class Schema {
 public:
  struct Compiled;  // the schema, or every fault found
  // `object_root`: the root must be an object schema (tools' inputs): `type` must be "object" or,
  // when absent, be implied by a root that is `{}`-like with `properties`; anything else is a
  // fault.
  static Compiled Compile(absl::string_view text, const SchemaLimits& limits, bool object_root);

  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // The verdict alone: fast, stops at the first fault.
  bool Accepts(const Json& value) const;
  // The faults in words for a model: JSON Pointer, what was wanted, what came (shortened), the
  // allowed values, the nearest name. At most `max`. Empty exactly when Accepts.
  std::vector<FieldFault> Explain(const Json& value, size_t max = 16) const;
  // Rough heap size, for the cache's bound.
  size_t ApproximateBytes() const;

 private:
  struct Rep;
  explicit Schema(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

struct Schema::Compiled {
  std::shared_ptr<const Schema> schema;  // null when there are faults of severity ERROR
  std::vector<v1::Finding>
      findings;  // pointers are into the schema document; rule e.g. `unsupported_keyword`
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_SCHEMA_H_
