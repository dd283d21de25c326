// A dialect: how one model family spells declarations, calls and results. A row, not a class.
#ifndef TOOLRACK_RENDERERS_DIALECT_H_
#define TOOLRACK_RENDERERS_DIALECT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "renderers/markers.h"
#include "toolrack/v1/renderer.pb.h"

namespace toolrack {

// The code that a row drives: how declarations and results are written.
enum class DeclareEngine {
  kFunctionLines,    // `<functions>` with one JSON object a line
  kHarmony,          // TypeScript in a developer message
  kAnthropic,        // Messages API
  kOpenAiChat,       // Chat Completions
  kOpenAiResponses,  // Responses
  kGemini,           // generateContent
  kFamily,           // an open family: see families.h
};

// How raw text is read.
enum class ParseEngine {
  kNone,  // it is all text
  kXmlParameters,
  kHarmony,
  kFamily,
};

// What a provider accepts as a schema.
enum class SchemaTarget { kAny, kAnthropic, kOpenAi, kGemini };

// How this family's prompt is laid out: what a change of the tools throws away.
enum class PromptOrder {
  kToolsSystemMessages,  // Claude: everything behind the tools
  kFlatPrefix,           // OpenAI: everything from the first changed byte on
  kDateEffortTools,      // Harmony: system message with date and effort, then the tools
};

struct CallFormat;

struct Dialect {
  absl::string_view name;
  DeclareEngine declare;
  ParseEngine parse;
  v1::RenderMedium medium;
  v1::Placement placement;  // of the declarations
  absl::string_view role;   // of the message that carries them; empty for API_TOOLS
  PromptOrder order;
  SchemaTarget schema;
  size_t max_name;
  bool dots_in_names;
  size_t max_tools;  // that the provider takes in one request; 0: no known bound
  std::vector<absl::string_view> stop_strings;
  Markers markers;
  absl::string_view think_open, think_close;  // empty: no reasoning in the text
  // Disclosures that the family was trained or made for.
  std::vector<absl::string_view> native;
  // The same family's row for the other medium; empty: none.
  absl::string_view sibling;
  absl::string_view description;
  // Of an open family.
  const CallFormat* calls = nullptr;
  // What servers and parsers call it.
  std::vector<absl::string_view> aliases = {};
};

// All of them, sorted by name. The explicit list.
absl::Span<const Dialect> AllDialects();
// Null when there is none.
const Dialect* FindDialect(absl::string_view name);

// The wire name of a tool in a dialect: see WireName; Gemini's must begin with a letter or `_`.
std::string WireNameFor(const Dialect& dialect, absl::string_view canonical);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_DIALECT_H_
