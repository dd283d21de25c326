// Values of formats without types (XML parameters): the tool's schema decides what a text means.
//
// A string stays as it is, also one that looks like a number; a number keeps its digits; `none` is
// not null; nothing is unescaped. Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_VALUE_CODEC_H_
#define TOOLRACK_RENDERERS_VALUE_CODEC_H_

#include <string>

#include "absl/strings/string_view.h"
#include "renderers/json_text.h"

namespace toolrack {

// The JSON types that a schema allows. None set: any.
struct AllowedTypes {
  bool string = false, number = false, boolean = false, null = false, array = false, object = false;
  bool any() const { return !string && !number && !boolean && !null && !array && !object; }
  bool only_string() const { return string && !number && !boolean && !null && !array && !object; }
};

// Of the property `name` of the root schema; references within `root` are followed. Any when it is
// not declared.
AllowedTypes TypesOfProperty(const JsonText& root, absl::string_view name);

// `text` as JSON text. `repaired` is set when a Python literal was taken for what it means.
std::string DecodeValue(const AllowedTypes& types, absl::string_view text, bool& repaired);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_VALUE_CODEC_H_
