// A tool as the search sees it: texts in weighted fields, names, trigrams, a vector.
#ifndef TOOLRACK_REGISTRY_SEARCH_DOCUMENT_H_
#define TOOLRACK_REGISTRY_SEARCH_DOCUMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "registry/search/fields.h"
#include "registry/search/params.h"
#include "registry/snapshot.h"

namespace toolrack {

using DefinitionPtr = std::shared_ptr<const ToolDefinition>;

// Bits: in which fields a word stands.
enum SearchField : uint16_t {
  kNameField = 1,
  kTitleField = 2,
  kDescriptionField = 4,
  kParameterField = 8,
  kParameterTextField = 16,
  kValueField = 32,
  kNamespaceField = 64,
  kCategoryField = 128,
  kExampleField = 256,
};

// The weight of a field in tenths.
uint32_t TenthsOf(SearchField field, const SearchParams& params);

// Calls `take` for each text of the tool that is searched. Thread-safe.
void ForEachField(const ToolDefinition& definition, const SchemaWords& schema,
                  absl::FunctionRef<void(absl::string_view, SearchField)> take);

// The category that a tool has when its author chose none: it says nothing.
inline constexpr absl::string_view kDefaultCategory = "basic";

// What a tool may be called for short, folded: its canonical name, the name without namespace, and
// what stands after the last `__` or `.` of that. Sorted, each once.
std::vector<std::string> FoldedNames(const ToolDefinition& definition);

// The trigrams of a name or a query: of its words, each with a gap around it, hashed. Sorted, each
// once.
std::vector<uint16_t> Trigrams(absl::string_view text);

// The embedding in `meta_json` under this key, an array of numbers, scaled to length 1. Empty:
// none, or not one of 1 to kMaxVector finite numbers.
inline constexpr absl::string_view kVectorKey = "toolrack.dev/embedding";
inline constexpr size_t kMaxVector = 8192;
std::vector<float> VectorOf(const v1::Tool& tool);
// Scales to length 1; empty when that cannot be.
std::vector<float> Normalized(std::vector<float> vector);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_DOCUMENT_H_
