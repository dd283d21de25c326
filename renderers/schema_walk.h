// Walking and reading JSON Schemas as text: what lowering, strictness and normalising share. Pure,
// thread-safe.
#ifndef TOOLRACK_RENDERERS_SCHEMA_WALK_H_
#define TOOLRACK_RENDERERS_SCHEMA_WALK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/json_text.h"

namespace toolrack {

inline constexpr size_t kMaxSchemaDepth = 32;

// `pointer` one step on.
std::string Step(absl::string_view pointer, absl::string_view key);

// An object or a boolean.
bool IsSchema(const JsonText& value);

// Calls `visit(sub, pointer)` for each subschema right below `schema`.
void EachSubschema(JsonText& schema, absl::string_view pointer,
                   const std::function<void(JsonText&, const std::string&)>& visit);

// The strings of a list member; empty when there is none.
std::vector<std::string> StringsAt(const JsonText& schema, absl::string_view key);
JsonText Strings(const std::vector<std::string>& words);
bool Has(const std::vector<std::string>& words, absl::string_view word);

// Where a local reference (`#`, `#/…`) leads; null when nowhere.
const JsonText* ResolveLocal(const JsonText& root, absl::string_view ref);

// Every local `$ref` written out; a cycle, and what would grow beyond 20,000 nodes, becomes `{}`.
void WriteOutRefs(JsonText& schema);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_SCHEMA_WALK_H_
