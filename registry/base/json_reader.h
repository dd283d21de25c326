// The fast half of ParseJson: takes what is good, and says nothing about what is not.
#ifndef TOOLRACK_REGISTRY_BASE_JSON_READER_H_
#define TOOLRACK_REGISTRY_BASE_JSON_READER_H_

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "registry/base/json.h"

namespace toolrack {

// True: `text` keeps to all that json.h asks for, and `out`, which was null, holds it: the same
// value that nlohmann's own parser makes of it. False: it does not, or needs a closer look (e.g. a
// number below the smallest double); `out` is then anything.
//
// One pass, recursion-free. Three to five times as fast as nlohmann's lexer, which goes byte by
// byte through virtual calls and a token buffer.
bool ReadGoodJson(absl::string_view text, const JsonLimits& limits, Json& out);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_JSON_READER_H_
