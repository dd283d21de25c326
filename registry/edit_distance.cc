#include "registry/edit_distance.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace toolrack {

size_t BoundedEditDistance(absl::string_view a, absl::string_view b, size_t bound) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > bound) return bound + 1;
  std::array<std::array<uint16_t, kMaxCompared + 1>, 3> rows;
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<uint16_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& above2 = rows[(i + 1) % 3];
    row[0] = static_cast<uint16_t>(i);
    uint16_t least = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      uint16_t cost = above[j - 1] + (a[i - 1] != b[j - 1]);
      cost = std::min<uint16_t>(cost, above[j] + 1);
      cost = std::min<uint16_t>(cost, row[j - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost = std::min<uint16_t>(cost, above2[j - 2] + 1);
      }
      row[j] = cost;
      least = std::min(least, cost);
    }
    if (least > bound) return bound + 1;
  }
  return std::min<size_t>(rows[a.size() % 3][b.size()], bound + 1);
}

}  // namespace toolrack
