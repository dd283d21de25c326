// How a family writes its calls: one row of data, which one of the engines reads.
#ifndef TOOLRACK_RENDERERS_CALL_FORMAT_H_
#define TOOLRACK_RENDERERS_CALL_FORMAT_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace toolrack {

enum class CallShape {
  kJson,  // an object, a list or lines of `{"name": …, "arguments": {…}}`; or a header and JSON
  kTags,  // `<function=f><parameter=k>v</parameter></function>` and its kin
  kPython,  // `[f(a=1), g()]`
  kBrace,   // `call:f{k:<|"|>v<|"|>}`
  kTree,    // each argument an element of its own name
};

// How tags name what they open.
enum class TagStyle {
  kEquals,     // <function=f>, <parameter=k>
  kAttribute,  // <invoke name="f">, <parameter name="k">
  kPairs,      // f<arg_key>k</arg_key><arg_value>v</arg_value>
};

struct TagNames {
  TagStyle style = TagStyle::kEquals;
  // Between `<` or `</` and the word; kPairs: behind the word.
  absl::string_view affix = {};
  absl::string_view call = "function";
  absl::string_view parameter = "parameter";
  // One newline behind a tag and one before its closer are no part of the value.
  bool newlines = false;
  // `string="true"` tells text from JSON.
  bool typed = false;
  bool cdata = false;
};

// How it is written. `%n` is the name, `%N` the name as JSON, `%a` the arguments, `%k` and `%v` a
// parameter's key and value, `%s` whether that is a text, `%i` an id, `%t` definitions, one a line,
// `%r` a result, `%R` the result as JSON.
struct CallSpelling {
  absl::string_view before = {}, call = {}, join = "\n", after = {};
  absl::string_view parameter = {};  // kTags
  absl::string_view result = "<tool_response>\n%r\n</tool_response>";
  absl::string_view result_role = "user";
  // Empty: words of ours, for which no model was trained.
  absl::string_view declaration = {};
};

struct CallFormat {
  CallShape shape = CallShape::kJson;

  std::vector<absl::string_view> think_open = {}, think_close = {};
  // The prompt has opened the reasoning already.
  bool begins_thinking = false;
  // Stop strings and turn markers: no text, wherever they stand between calls.
  std::vector<absl::string_view> noise = {};
  // Markers between a section's and a call's that say nothing.
  std::vector<absl::string_view> fillers = {};

  // Around all calls.
  std::vector<absl::string_view> section_open = {}, section_close = {};
  // Around one call, or one list of them.
  std::vector<absl::string_view> open = {}, close = {};
  // A call may end without its closer.
  bool closer_optional = false;

  // kJson.
  std::vector<absl::string_view> name_keys = {"name"};
  std::vector<absl::string_view> argument_keys = {"arguments", "parameters"};
  bool name_is_key = false;  // {"f": {…}}
  // What stands between the opener and the arguments: `%n` the name, `%i` an id. None: JSON only.
  std::vector<absl::string_view> headers = {};
  // The prompt ends with the opener of a header (Functionary): the name `all` is text.
  bool begins_header = false;

  // kJson and kPython: also without markers, when the output begins with it, all of it can be read
  // and every name is known.
  bool bare = false;

  TagNames tags = {};  // kTags, kTree

  // kBrace: what texts stand between.
  absl::string_view quote = {};
  // A text in quotes whose property is no text by the schema is what the quotes hold.
  bool unquote = false;

  CallSpelling spelling = {};
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_CALL_FORMAT_H_
