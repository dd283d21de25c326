// Definitions of public tools, all at once, and what the renderers make of them. Absent: the tests
// skip by name.
#ifndef TOOLRACK_TESTS_RENDERERS_REAL_TOOLS_H_
#define TOOLRACK_TESTS_RENDERERS_REAL_TOOLS_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/renderers/rig.h"
#include "tests/schema/shared_data.h"

namespace toolrack {

inline const Tools& RealTools() {
  static const Tools* tools = [] {
    auto* made = new Tools;
    int number = 0;
    for (const Json& line : ReadLines(SharedPath("data/real_tools.jsonl"))) {
      const auto text = [&line](const char* key) {
        const auto at = line.find(key);
        return at != line.end() && at->is_string() ? at->get<std::string>() : std::string();
      };
      const std::string schema = line.contains("inputSchema") ? line["inputSchema"].dump() : "";
      made->Add(absl::StrCat("s", number % 97, "__", text("name"), "_", number),
                text("description"), schema);
      ++number;
    }
    return made;
  }();
  return *tools;
}

// The tests of one vendor's rules over all of them.
class RealToolsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RealTools().View().empty()) GTEST_SKIP() << "no shared data";
  }
  static const v1::RenderInitialResponse& Rendered(const std::string& renderer,
                                                   bool strict = false) {
    static auto* kept = new std::map<std::pair<std::string, bool>, v1::RenderInitialResponse>;
    auto& at = (*kept)[{renderer, strict}];
    if (at.fragments().empty()) {
      v1::RenderOptions options;
      options.set_strict(strict);
      at = Render(renderer, RealTools(), options);
    }
    return at;
  }
  // The parsed `tools` of a renderer.
  static const JsonText& List(const std::string& renderer, bool strict = false) {
    static auto* kept = new std::map<std::pair<std::string, bool>, JsonText>;
    auto& at = (*kept)[{renderer, strict}];
    if (at.items.empty()) at = *ParseJsonText(ContentOf(Rendered(renderer, strict), "tools"));
    return at;
  }
};

// Every subschema, with where it stands and how deep.
using VisitSchema = std::function<void(const JsonText&, const std::string&, size_t)>;
inline void EverySchema(const JsonText& schema, const VisitSchema& visit,
                        const std::string& at = "", size_t depth = 1) {
  visit(schema, at, depth);
  for (const JsonMember& member : schema.members) {
    const std::string here = at + "/" + member.key;
    const JsonText& value = member.value;
    for (const char* key :
         {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}) {
      if (member.key != key || !value.is_object()) continue;
      for (const JsonMember& sub : value.members) {
        EverySchema(sub.value, visit, here + "/" + sub.key, depth + 1);
      }
    }
    for (const char* key : {"anyOf", "oneOf", "allOf", "prefixItems"}) {
      if (member.key != key) continue;
      for (const JsonText& sub : value.items) EverySchema(sub, visit, here, depth + 1);
    }
    for (const char* key : {"items", "not", "if", "then", "else", "contains", "propertyNames",
                            "additionalProperties"}) {
      if (member.key == key && value.is_object()) EverySchema(value, visit, here, depth + 1);
    }
  }
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_RENDERERS_REAL_TOOLS_H_
