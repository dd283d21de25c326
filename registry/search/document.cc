#include "registry/search/document.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/search/tokens.h"

namespace toolrack {

uint32_t TenthsOf(SearchField field, const SearchParams& params) {
  const auto tenths = [](float weight) { return static_cast<uint32_t>(std::lround(weight * 10)); };
  switch (field) {
    case kNameField:
      return tenths(params.name);
    case kTitleField:
      return tenths(params.title);
    case kDescriptionField:
      return tenths(params.description);
    case kParameterField:
      return tenths(params.parameter);
    case kParameterTextField:
      return tenths(params.parameter_text);
    case kValueField:
      return tenths(params.value);
    case kNamespaceField:
    case kCategoryField:
      return tenths(params.owner);
    case kExampleField:
      return tenths(params.example);
  }
  return 0;
}

void ForEachField(const ToolDefinition& definition, const SchemaWords& schema,
                  absl::FunctionRef<void(absl::string_view, SearchField)> take) {
  const v1::Tool& tool = definition.tool;
  take(definition.bare_name, kNameField);
  take(tool.title(), kTitleField);
  take(tool.description(), kDescriptionField);
  take(tool.namespace_(), kNamespaceField);
  for (const std::string& category : tool.categories()) {
    if (category != kDefaultCategory) take(category, kCategoryField);
  }
  for (const std::string& name : schema.names) take(name, kParameterField);
  for (const std::string& text : schema.descriptions) take(text, kParameterTextField);
  for (const std::string& value : schema.values) take(value, kValueField);
  for (const std::string& example : tool.examples()) take(example, kExampleField);
}

std::vector<std::string> FoldedNames(const ToolDefinition& definition) {
  const std::string& bare = definition.bare_name;
  std::vector<std::string> out = {FoldName(definition.tool.name()), FoldName(bare)};
  for (const absl::string_view separator : {"__", "."}) {
    const size_t at = bare.rfind(std::string(separator));
    if (at != std::string::npos) out.push_back(FoldName(bare.substr(at + separator.size())));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (!out.empty() && out.front().empty()) out.erase(out.begin());
  return out;
}

std::vector<uint16_t> Trigrams(absl::string_view text) {
  std::string spaced = " ";
  SplitWords(text, [&spaced](absl::string_view word) { absl::StrAppend(&spaced, word, " "); });
  std::vector<uint16_t> out;
  for (size_t i = 0; i + 3 <= spaced.size(); ++i) {
    uint32_t hash = 2166136261u;  // FNV-1a
    for (size_t j = i; j < i + 3; ++j) {
      hash = (hash ^ static_cast<unsigned char>(spaced[j])) * 16777619u;
    }
    out.push_back(static_cast<uint16_t>(hash ^ hash >> 16));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<float> Normalized(std::vector<float> vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  if (!std::isfinite(sum) || sum <= 0) return {};
  const auto scale = static_cast<float>(1 / std::sqrt(sum));
  for (float& x : vector) x *= scale;
  return vector;
}

std::vector<float> VectorOf(const v1::Tool& tool) {
  if (!absl::StrContains(tool.meta_json(), kVectorKey)) return {};
  const auto meta = nlohmann::json::parse(tool.meta_json(), nullptr, false);
  if (!meta.is_object()) return {};
  const auto found = meta.find(std::string(kVectorKey));
  if (found == meta.end() || !found->is_array() || found->size() > kMaxVector) return {};
  std::vector<float> out;
  out.reserve(found->size());
  for (const auto& number : *found) {
    if (!number.is_number()) return {};
    out.push_back(number.get<float>());
  }
  return Normalized(std::move(out));
}

}  // namespace toolrack
