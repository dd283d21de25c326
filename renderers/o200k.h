// o200k_base: how OpenAI's newer models cut text, with ranks from a file.
#ifndef TOOLRACK_RENDERERS_O200K_H_
#define TOOLRACK_RENDERERS_O200K_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "renderers/tokens.h"

namespace toolrack {

// The length of the first piece of `text`, which is not empty: a word with the blank or sign before
// it and a contraction behind it, up to three digits, signs with line feeds behind them, or blanks.
// As the encoding's own pattern cuts; bytes that are no UTF-8 count as signs. Categories are those
// of utf8proc's Unicode. Linear over a whole text.
size_t O200kPiece(absl::string_view text);

// The length of the special token that `text` begins with; 0: none. Those of o200k_harmony.
size_t O200kSpecial(absl::string_view text);

// Counts with the ranks of `file`. INVALID_ARGUMENT naming file and line. Thread-safe.
absl::StatusOr<std::unique_ptr<const TokenCounter>> LoadO200k(const std::string& file);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_O200K_H_
