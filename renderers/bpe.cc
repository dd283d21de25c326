#include "renderers/bpe.h"

#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

// Below this looking through all neighbours each time is faster than a heap.
constexpr size_t kShort = 96;

}  // namespace

absl::StatusOr<std::unique_ptr<const RankTable>> RankTable::Parse(absl::string_view text) {
  struct Row {
    size_t begin, length;
    uint32_t rank;
  };
  auto table = std::make_unique<RankTable>();
  std::vector<Row> rows;
  std::set<uint32_t> seen;
  size_t number = 0;
  const auto wrong = [&number](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number, ": ", what, "; a line is BASE64 RANK"));
  };
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t blank = line.find(' ');
    std::string token;
    uint32_t rank = 0;
    if (blank == absl::string_view::npos) return wrong("no blank");
    if (!absl::Base64Unescape(line.substr(0, blank), &token) || token.empty()) {
      return wrong("no base64");
    }
    if (!absl::SimpleAtoi(line.substr(blank + 1), &rank) || rank == kNone) return wrong("no rank");
    if (!seen.insert(rank).second) return wrong(absl::StrCat("rank ", rank, " stands twice"));
    rows.push_back({table->bytes_.size(), token.size(), rank});
    table->bytes_ += token;
  }
  table->ranks_.reserve(rows.size());
  for (const Row& row : rows) {
    const absl::string_view token = absl::string_view(table->bytes_).substr(row.begin, row.length);
    if (!table->ranks_.emplace(token, row.rank).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the token of rank ", row.rank, " stands twice; a line is BASE64 RANK"));
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (table->RankOf(absl::string_view(&c, 1)) == kNone) {
      return absl::InvalidArgumentError(
          absl::StrCat("byte ", byte, " has no rank; the file is not whole"));
    }
  }
  return table;
}

uint32_t RankTable::RankOf(absl::string_view bytes) const {
  const auto at = ranks_.find(bytes);
  return at == ranks_.end() ? kNone : at->second;
}

size_t RankTable::Count(absl::string_view piece) const {
  if (piece.size() < 2) return piece.size();
  if (ranks_.contains(piece)) return 1;
  return piece.size() <= kShort ? CountShort(piece) : CountLong(piece);
}

size_t RankTable::CountShort(absl::string_view piece) const {
  // Where parts begin, and the rank of each joined with the next one.
  struct Part {
    size_t begin;
    uint32_t rank;
  };
  std::vector<Part> parts;
  parts.reserve(piece.size() + 1);
  for (size_t i = 0; i <= piece.size(); ++i) parts.push_back({i, kNone});
  const auto join = [&](size_t i) {
    return i + 2 < parts.size()
               ? RankOf(piece.substr(parts[i].begin, parts[i + 2].begin - parts[i].begin))
               : kNone;
  };
  for (size_t i = 0; i + 2 < parts.size(); ++i) parts[i].rank = join(i);
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].rank < parts[best].rank) best = i;
    }
    if (parts[best].rank == kNone) return parts.size() - 1;
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    parts[best].rank = join(best);
    if (best > 0) parts[best - 1].rank = join(best - 1);
  }
}

size_t RankTable::CountLong(absl::string_view piece) const {
  const size_t size = piece.size();
  // A list of parts by where they begin; a joined part is gone.
  std::vector<size_t> next(size + 1), before(size + 1);
  std::vector<uint32_t> rank(size + 1, kNone);
  for (size_t i = 0; i <= size; ++i) {
    next[i] = i + 1;
    before[i] = i - 1;
  }
  using Pair = std::pair<uint32_t, size_t>;
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> heap;
  const auto join = [&](size_t i) {
    rank[i] = kNone;
    if (next[i] >= size) return;
    rank[i] = RankOf(piece.substr(i, next[next[i]] - i));
    if (rank[i] != kNone) heap.push({rank[i], i});
  };
  for (size_t i = 0; i < size; ++i) join(i);
  size_t count = size;
  while (!heap.empty()) {
    const auto [best, i] = heap.top();
    heap.pop();
    if (rank[i] != best) continue;  // of parts that are no more
    const size_t gone = next[i];
    rank[gone] = kNone;
    next[i] = next[gone];
    before[next[i]] = i;
    --count;
    join(i);
    if (i > 0) join(before[i]);
  }
  return count;
}

}  // namespace toolrack
