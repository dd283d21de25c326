// A registered schema made fit for one provider, and what that cost.
//
// A provider refuses a whole request for one tool's schema, so whatever is known to be refused is
// lowered here: folded, filled in or left out, each with a warning. Validation of calls never sees
// this form. Sources: the vendors' rules for tool schemas, named in the tests.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_LOWERING_H_
#define TOOLRACK_RENDERERS_LOWERING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/dialect.h"
#include "renderers/json_text.h"

namespace toolrack {

struct LoweringNote {
  std::string rule;
  std::string pointer;
  std::string message;
};

// `schema` for `target`. kAny changes nothing. Never fails: what cannot be kept becomes wider.
void LowerSchema(SchemaTarget target, JsonText& schema, std::vector<LoweringNote>& notes);

// `schema`, already lowered, made to keep to the strict subset of `target` (kAnthropic or kOpenAi:
// every object closed, for OpenAI every property required, only the keywords that the grammar
// knows). False, and `why`: it cannot be said there; send it unstrict. Keywords that only narrow
// are dropped with a note: the rack itself still checks them.
bool MakeStrict(SchemaTarget target, JsonText& schema, std::vector<LoweringNote>& notes,
                std::string& why);

// Plainer schemas for models: local `$ref` written out (a cycle becomes `{}`), `anyOf` of plain
// types a type list, other `anyOf` a `oneOf`, `const` an enum, `allOf` of one its member, line
// feeds in descriptions blanks.
void NormaliseSchema(JsonText& schema);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_LOWERING_H_
