// Reads the keywords of one subschema into its node, checking the form of each.
#ifndef TOOLRACK_REGISTRY_SCHEMA_RULES_READER_H_
#define TOOLRACK_REGISTRY_SCHEMA_RULES_READER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/schema/keywords.h"
#include "registry/schema/node.h"
#include "registry/schema/schema.h"

namespace toolrack {

class RuleReader {
 public:
  // Gives the node of a subschema, which is read later.
  using Child = std::function<const Node*(const Json& schema)>;
  // Takes a fault: its rule, the keyword (or a longer pointer below the subschema, without its
  // first slash), the message.
  using Report = std::function<void(absl::string_view rule, absl::string_view keyword,
                                    absl::string_view message)>;

  RuleReader(Dialect dialect, const SchemaOptions& options, Node& node, Child child, Report report)
      : dialect_(dialect),
        options_(options),
        node_(node),
        child_(std::move(child)),
        report_(std::move(report)) {}

  // One keyword of `schema`, references aside.
  void Read(const Keyword& keyword, const Json& value, const Json& schema);
  // A name that is no keyword. Its form counts: who shows the schema to others relies on it.
  void ReadAnnotation(const std::string& name, const Json& value);
  // `nullable` of OpenAPI 3.0, beside `type`.
  void ReadNullable(const Json& schema);
  // After the last keyword.
  void Finish();

 private:
  void Invalid(absl::string_view keyword, absl::string_view expected);
  void Unsupported(absl::string_view keyword, absl::string_view why);

  bool ReadCore(absl::string_view name, const Json& value);
  bool ReadValueRule(absl::string_view name, const Json& value);
  bool ReadNumberRule(absl::string_view name, const Json& value, const Json& schema);
  bool ReadStringRule(absl::string_view name, const Json& value);
  bool ReadArrayRule(absl::string_view name, const Json& value, const Json& schema);
  bool ReadObjectRule(absl::string_view name, const Json& value);
  bool ReadCombination(absl::string_view name, const Json& value, const Json& schema);

  void ReadTypes(const Json& value);
  void ReadAllowed(const Json& value);
  void ReadDependencies(const Json& value);
  // nullptr after a fault.
  const Node* ReadSchemaAt(absl::string_view keyword, const Json& value);
  std::vector<const Node*> ReadSchemas(absl::string_view keyword, const Json& value);
  std::vector<std::string> ReadNames(absl::string_view keyword, const Json& value);
  std::optional<Pattern> ReadPattern(absl::string_view keyword, const std::string& source);
  uint64_t ReadCount(absl::string_view keyword, const Json& value);
  std::optional<Json> ReadNumber(absl::string_view keyword, const Json& value);

  ValueRules& values();
  NumberRules& number();
  StringRules& string();
  ArrayRules& array();
  ObjectRules& object();
  Combination& combination();

  const Dialect dialect_;
  const SchemaOptions& options_;
  Node& node_;
  const Child child_;
  const Report report_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_RULES_READER_H_
