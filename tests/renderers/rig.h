// Tools and renderings for the tests of the renderers.
#ifndef TOOLRACK_TESTS_RENDERERS_RIG_H_
#define TOOLRACK_TESTS_RENDERERS_RIG_H_

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "renderers/render.h"

namespace toolrack {

// Definitions that a rendering looks at.
class Tools {
 public:
  v1::Tool& Add(const std::string& name, const std::string& description,
                const std::string& schema) {
    v1::Tool& tool = tools_.emplace_back();
    tool.set_name(name);
    const size_t split = name.find("__");
    if (split != std::string::npos && split > 0) tool.set_namespace_(name.substr(0, split));
    tool.set_description(description);
    tool.set_input_schema(schema);
    return tool;
  }
  // Sorted by name.
  std::vector<const v1::Tool*> View() const {
    std::vector<const v1::Tool*> view;
    for (const v1::Tool& tool : tools_) view.push_back(&tool);
    std::sort(view.begin(), view.end(),
              [](const v1::Tool* a, const v1::Tool* b) { return a->name() < b->name(); });
    return view;
  }

 private:
  std::deque<v1::Tool> tools_;
};

inline v1::RenderInitialResponse Render(const std::string& renderer, const Tools& tools,
                                        v1::RenderOptions options = {},
                                        std::vector<std::string> loaded = {}, int64_t clock = 0) {
  const std::vector<const v1::Tool*> view = tools.View();
  return RenderInitial(*FindRenderer(renderer), {view, std::move(loaded), clock, options, nullptr});
}

inline std::string ContentOf(const v1::RenderInitialResponse& rendered, const std::string& id) {
  for (const v1::Fragment& fragment : rendered.fragments()) {
    if (fragment.id() == id) return fragment.has_json() ? fragment.json() : fragment.text();
  }
  return "";
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_RENDERERS_RIG_H_
