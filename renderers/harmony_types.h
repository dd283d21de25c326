// JSON Schema as the TypeScript of Harmony's developer message.
//
// Two references exist and differ; both are here, each byte for byte: the Rust library
// openai/harmony (template_tools_section) and the Jinja chat template of gpt-oss. Neither escapes
// anything; what could end a comment or a declaration is made harmless here, and only that.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_HARMONY_TYPES_H_
#define TOOLRACK_RENDERERS_HARMONY_TYPES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "renderers/json_text.h"

namespace toolrack {

// kPlain is the library's text without what is odd in it: a description of an object stands once,
// behind the brace where nothing says it above; a closing brace stands under its line; unions are
// in parentheses before `[]`.
enum class HarmonyVariant { kLibrary, kJinja, kPlain };

struct HarmonyTool {
  absl::string_view name;
  absl::string_view description;
  const JsonText* parameters = nullptr;  // null: none
};

// The declaration of one tool with its comment, up to and including the blank line behind it.
// `mended` is set when something had to be made harmless.
std::string HarmonyDeclaration(const HarmonyTool& tool, HarmonyVariant variant, bool& mended);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_HARMONY_TYPES_H_
