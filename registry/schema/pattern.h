// `pattern` and `patternProperties`: ECMA-262 regular expressions, run by RE2 in linear time.
#ifndef TOOLRACK_REGISTRY_SCHEMA_PATTERN_H_
#define TOOLRACK_REGISTRY_SCHEMA_PATTERN_H_

#include <re2/re2.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// The RE2 form of an ECMA-262 expression in its Unicode mode, so that both match the same texts.
// UNIMPLEMENTED, naming the construct, for what RE2 cannot do (look-around, back-references) and
// what is not translated; INVALID_ARGUMENT for what is no regular expression.
absl::StatusOr<std::string> TranslatePattern(absl::string_view pattern);

// Whether `text` is an ECMA-262 expression at all, enforceable or not.
bool IsRegex(absl::string_view text);

// A compiled expression. Thread-safe.
class Pattern {
 public:
  // Errors as TranslatePattern.
  static absl::StatusOr<Pattern> Create(absl::string_view pattern);

  // Whether it matches anywhere in `text`.
  bool Matches(absl::string_view text) const {
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_);
  }
  // As the schema writes it.
  const std::string& source() const { return source_; }

 private:
  Pattern(std::string source, std::unique_ptr<RE2> regex)
      : source_(std::move(source)), regex_(std::move(regex)) {}
  std::string source_;
  std::unique_ptr<RE2> regex_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_PATTERN_H_
