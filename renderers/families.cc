#include "renderers/families.h"

#include <algorithm>
#include <utility>

namespace toolrack {

const std::vector<Family>& AllFamilies() {
  static const auto* kFamilies = [] {
    auto* all = new std::vector<Family>;
    for (auto* list : {&JsonFamilies, &HeaderFamilies, &TagFamilies, &LiteralFamilies}) {
      for (Family& family : list()) all->push_back(std::move(family));
    }
    for (Family& family : *all) {
      // A stop string is no text.
      for (const absl::string_view stop : family.stops) {
        std::vector<absl::string_view>& noise = family.calls.noise;
        if (std::find(noise.begin(), noise.end(), stop) == noise.end()) noise.push_back(stop);
      }
    }
    return all;
  }();
  return *kFamilies;
}

Dialect FamilyDialect(const Family& family) {
  const CallFormat& calls = family.calls;
  Markers markers;
  for (const auto* list : {&calls.section_open, &calls.section_close, &calls.open, &calls.close,
                           &calls.think_open, &calls.think_close, &calls.noise, &calls.fillers}) {
    for (const absl::string_view text : *list) {
      if (std::find(markers.literals.begin(), markers.literals.end(), text) ==
          markers.literals.end()) {
        markers.literals.push_back(text);
      }
    }
  }
  return {.name = family.name,
          .declare = DeclareEngine::kFamily,
          .parse = ParseEngine::kFamily,
          .medium = v1::RENDER_MEDIUM_TEXT,
          .placement = v1::PLACEMENT_SYSTEM_PROMPT,
          .role = "system",
          .order = PromptOrder::kFlatPrefix,
          .schema = SchemaTarget::kAny,
          .max_name = 64,
          .dots_in_names = true,
          .max_tools = 0,
          .stop_strings = family.stops,
          .markers = std::move(markers),
          .think_open = calls.think_open.empty() ? "" : calls.think_open[0],
          .think_close = calls.think_close.empty() ? "" : calls.think_close[0],
          // Where the words of the declaration are ours no model was trained for them.
          .native = calls.spelling.declaration.empty() ? std::vector<absl::string_view>()
                                                       : std::vector<absl::string_view>{"upfront"},
          .sibling = "",
          .description = family.description,
          .calls = &family.calls,
          .aliases = family.aliases};
}

}  // namespace toolrack
