#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "registry/edit_distance.h"
#include "registry/name.h"

namespace toolrack {
namespace {

// Parts shorter than this are in half of all names.
constexpr size_t kMinPart = 3;

// Lower case, letters and digits only.
std::string Fold(absl::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) {
    if (absl::ascii_isalnum(c)) out += absl::ascii_tolower(c);
  }
  if (out.size() > kMaxCompared) out.resize(kMaxCompared);
  return out;
}

// How often each letter and digit comes.
using Histogram = std::array<int16_t, 36>;

Histogram Count(absl::string_view folded) {
  Histogram histogram{};
  for (const char c : folded) ++histogram[absl::ascii_isdigit(c) ? c - '0' : c - 'a' + 10];
  return histogram;
}

// The edit distance is at least this: each edit mends one surplus and one missing character.
size_t LowerBound(const Histogram& a, const Histogram& b) {
  int surplus = 0, missing = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int difference = a[i] - b[i];
    surplus += difference > 0 ? difference : 0;
    missing += difference < 0 ? -difference : 0;
  }
  return static_cast<size_t>(std::max(surplus, missing));
}

// Costs: 0 and 1 for names equal but for case and separators (and namespace), kEditCost for each
// edit, and for a part kEditCost and one for each character that is missing.
constexpr size_t kEditCost = 4;

struct Candidate {
  size_t cost;
  absl::string_view name;
  bool operator<(const Candidate& other) const {
    return std::tie(cost, name) < std::tie(other.cost, other.name);
  }
};

// The best few, sorted; each name once.
class Best {
 public:
  explicit Best(size_t max) : max_(max) {}

  bool Takes(size_t cost) const { return kept_.size() < max_ || cost <= kept_.back().cost; }
  void Offer(const Candidate& candidate) {
    const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Candidate& kept) {
      return kept.name == candidate.name;
    });
    if (same != kept_.end()) {
      if (same->cost <= candidate.cost) return;
      kept_.erase(same);
    }
    kept_.insert(std::lower_bound(kept_.begin(), kept_.end(), candidate), candidate);
    if (kept_.size() > max_) kept_.pop_back();
  }
  const std::vector<Candidate>& kept() const { return kept_; }

 private:
  size_t max_;
  std::vector<Candidate> kept_;
};

// A name with a namespace is also compared without it: callers forget the namespace.
absl::string_view Tail(absl::string_view name) {
  const size_t at = name.find("__");
  return at == absl::string_view::npos || at == 0 ? absl::string_view() : name.substr(at + 2);
}

}  // namespace

std::vector<std::string> NearestNames(absl::string_view name,
                                      const std::vector<absl::string_view>& names, size_t max) {
  const std::string wanted = Fold(name);
  if (max == 0 || wanted.empty()) return {};
  const size_t bound = std::max<size_t>(1, wanted.size() / 3);
  const Histogram wanted_histogram = Count(wanted);

  Best best(max);
  // Names to measure, by the least distance they can have; measuring is the dear part.
  std::vector<std::vector<std::pair<absl::string_view, std::string>>> to_measure(bound + 1);
  for (const absl::string_view candidate : names) {
    for (const absl::string_view form : {candidate, Tail(candidate)}) {
      if (form.empty()) continue;
      std::string folded = Fold(form);
      if (folded == wanted) {
        best.Offer({form.size() == candidate.size() ? size_t{0} : size_t{1}, candidate});
        break;
      }
      const size_t shorter = std::min(folded.size(), wanted.size());
      const size_t longer = std::max(folded.size(), wanted.size());
      const bool is_part = shorter >= kMinPart &&
                           (absl::StrContains(folded, wanted) || absl::StrContains(wanted, folded));
      if (is_part) best.Offer({kEditCost + longer - shorter, candidate});
      if (longer - shorter > bound) continue;
      const size_t least = LowerBound(wanted_histogram, Count(folded));
      if (least <= bound) to_measure[least].emplace_back(candidate, std::move(folded));
    }
  }
  for (size_t least = 0; least <= bound && best.Takes(least * kEditCost); ++least) {
    for (const auto& [candidate, folded] : to_measure[least]) {
      size_t limit = bound;
      while (limit > 0 && !best.Takes(limit * kEditCost)) --limit;
      const size_t distance = BoundedEditDistance(wanted, folded, limit);
      if (distance <= limit) best.Offer({distance * kEditCost, candidate});
    }
  }

  std::vector<std::string> out;
  for (const Candidate& candidate : best.kept()) out.emplace_back(candidate.name);
  return out;
}

}  // namespace toolrack
