// Byte pair encoding over a table of ranks: how many tokens a text is, exactly.
#ifndef TOOLRACK_RENDERERS_BPE_H_
#define TOOLRACK_RENDERERS_BPE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// Ranks of byte strings; every single byte has one. Immutable, thread-safe.
class RankTable {
 public:
  // `BASE64 RANK` a line, as tiktoken writes them; INVALID_ARGUMENT naming the line.
  static absl::StatusOr<std::unique_ptr<const RankTable>> Parse(absl::string_view text);

  // How many tokens one piece is: of the neighbours whose join has the lowest rank the leftmost are
  // joined, until none has one. O(n log n).
  size_t Count(absl::string_view piece) const;
  size_t size() const { return ranks_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t RankOf(absl::string_view bytes) const;
  size_t CountShort(absl::string_view piece) const;
  size_t CountLong(absl::string_view piece) const;

  std::string bytes_;  // of all tokens, which the keys point into
  absl::flat_hash_map<absl::string_view, uint32_t> ranks_;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_BPE_H_
