// The one door to JSON Schema validation. Behind it stands valijson; nothing of it, and no
// exception, comes out.
//
// Dialect by `$schema`: draft-04, draft-06, draft-07, 2019-09 or 2020-12 (the default); another is
// refused. What cannot be enforced exactly is a fault at compile time, by keyword and JSON Pointer:
// never a silent accept. Refused so are look-around and back-references in patterns, and keywords
// of another dialect than the schema's own. Keywords that no dialect knows are ignored; of
// annotations only the form is checked, and so it is with `format` unless SchemaOptions says
// otherwise. No network, ever: every `$ref` stays inside the document (and those that SchemaOptions
// holds). `$dynamicRef` and `$recursiveRef` are exact: a subschema is compiled once for each way of
// reaching it that makes a difference.
//
// Numbers are compared by value: 1.0 is an integer, 64-bit integers are exact, `multipleOf` is
// decimal. Json itself holds a number beyond 64 bits or 17 digits as the nearest double; where the
// text is at hand (AcceptsText …), those are exact, too.
#ifndef TOOLRACK_REGISTRY_SCHEMA_SCHEMA_H_
#define TOOLRACK_REGISTRY_SCHEMA_SCHEMA_H_

#include <cstddef>
#include <memory>
#include <optional>
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
  // Visits of one validation; a schema that fans out further on some data refuses that data, and
  // says so.
  size_t max_visits = 250000;
};

// A document that `$ref` may reach by its URI.
struct SchemaDocument {
  std::string uri;
  std::string text;
};

struct SchemaOptions {
  SchemaLimits limits;
  // The root must be an object schema (tools' inputs): `type` must be "object" or, when absent, be
  // implied by `properties`; `{}` and a lone `$schema` say nothing about an object and are refused
  // as everything else is. Only objects fit such a schema.
  bool object_root = false;
  // Enforces `format` where it is one of those in formats.h; the others stay annotations.
  bool assert_format = false;
  // Reads the schema as OpenAPI 3.0 writes it: draft-04 when there is no `$schema`, and
  // `nullable: true` beside `type` takes null, too.
  bool openapi = false;
  // For tests: the daemon hands none over. Each must be of the schema's own dialect.
  std::vector<SchemaDocument> documents;
};

// Bumped whenever a verdict could change: remembered verdicts of another version are void.
inline constexpr int kSchemaCheckerVersion = 2;

// One place of a value that was mended.
struct SchemaRepair {
  std::string pointer;
  // `string_to_integer`, `string_to_number`, `string_to_boolean`, `string_to_object`,
  // `string_to_array`, `dropped_null`.
  std::string kind;
  std::string before, after;  // JSON texts, shortened; `after` is empty for what was dropped
};

struct Mended {
  std::string text;  // the original apart from the places mended, byte for byte
  std::vector<SchemaRepair> repairs;
  std::shared_ptr<const Json> value = nullptr;  // the text, parsed
};

// A compiled schema. Immutable, thread-safe; no lock of ours on the validating path.
class Schema {
 public:
  struct Compiled;  // the schema, or every fault found
  static Compiled Compile(absl::string_view text, const SchemaOptions& options);
  static Compiled Compile(absl::string_view text, const SchemaLimits& limits, bool object_root);

  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // The verdict alone: fast, stops at the first fault. False, too, for a value that takes more than
  // `max_visits` or is too deep for this schema.
  bool Accepts(const Json& value) const;
  // The same for a value whose JSON is `text`.
  bool AcceptsText(absl::string_view text, const Json& value) const;
  // The faults in words for a model: JSON Pointer, what was wanted, what came (shortened), the
  // allowed values, the nearest name. At most `max`. Empty exactly when Accepts.
  std::vector<FieldFault> Explain(const Json& value, size_t max = 16) const;
  std::vector<FieldFault> ExplainText(absl::string_view text, const Json& value,
                                      size_t max = 16) const;
  // For a value that does not fit, as models write it: the nearest one that does, or nullopt when
  // there is none. A string becomes the number, boolean, object or array whose JSON it is, only
  // where the schema takes no string; a null that is not taken is dropped where the property may be
  // left out. Nothing else is touched. `text` is the JSON of `value`.
  std::optional<Mended> Mend(absl::string_view text, const Json& value) const;
  // Rough heap size, for the cache's bound.
  size_t ApproximateBytes() const;

 private:
  struct Rep;
  explicit Schema(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

struct Schema::Compiled {
  std::shared_ptr<const Schema> schema;  // null when there are faults of severity ERROR
  // Pointers are into the schema document. At most 32. The rules of ERRORs: `not_json`,
  // `not_a_schema`, `schema_too_large`, `unknown_dialect`, `root_not_object`, `invalid_keyword`
  // (its form), `unsupported_keyword`, `unsupported_pattern`, `unresolved_reference`,
  // `reference_cycle` (one that never gets deeper into the value), `internal`. Of WARNINGs:
  // `ignored_keyword`.
  std::vector<v1::Finding> findings;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_SCHEMA_H_
