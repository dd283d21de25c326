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

// A name in lower case, letters and digits only; what of it stands after the namespace.
struct Folded {
  std::array<char, kMaxCompared> text;
  size_t size = 0;
  size_t tail = 0;       // where the part after `__` begins; 0: there is none
  uint64_t letters = 0;  // which characters it has
  absl::string_view whole() const { return {text.data(), size}; }
  absl::string_view after_namespace() const { return {text.data() + tail, size - tail}; }
};

void Fold(absl::string_view name, Folded& out) {
  out.size = out.tail = 0;
  out.letters = 0;
  for (size_t i = 0; i < name.size() && out.size < kMaxCompared; ++i) {
    const char c = name[i];
    if (absl::ascii_isalnum(c)) {
      const char lower = absl::ascii_tolower(c);
      out.text[out.size++] = lower;
      out.letters |= uint64_t{1} << (lower & 63);
    } else if (out.tail == 0 && c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out.tail = out.size;
    }
  }
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

}  // namespace

std::vector<std::string> NearestNames(absl::string_view name,
                                      const std::vector<absl::string_view>& names, size_t max) {
  Folded folded;
  Fold(name, folded);
  const std::string wanted(folded.whole());
  const uint64_t wanted_letters = folded.letters;
  if (max == 0 || wanted.empty()) return {};
  const size_t bound = std::max<size_t>(1, wanted.size() / 3);
  const Histogram wanted_histogram = Count(wanted);

  Best best(max);
  // Names to measure, by the least distance they can have; measuring is the dear part.
  std::vector<std::vector<std::pair<absl::string_view, std::string>>> to_measure(bound + 1);
  for (const absl::string_view candidate : names) {
    Fold(candidate, folded);
    // Callers forget the namespace: the name is also compared without it.
    const absl::string_view forms[] = {folded.whole(), folded.after_namespace()};
    const size_t count = folded.tail == 0 ? 1 : 2;
    for (size_t i = 0; i < count; ++i) {
      const absl::string_view form = forms[i];
      if (form == wanted) {
        best.Offer({i, candidate});
        break;
      }
      const size_t shorter = std::min(form.size(), wanted.size());
      const size_t longer = std::max(form.size(), wanted.size());
      const size_t cost_as_part = kEditCost + longer - shorter;
      if (shorter >= kMinPart && best.Takes(cost_as_part)) {
        const bool is_part = form.size() < wanted.size() ? absl::StrContains(wanted, form)
                                                         : absl::StrContains(form, wanted);
        if (is_part) best.Offer({cost_as_part, candidate});
      }
      if (longer - shorter > bound) continue;
      // Characters of the wanted name that the other does not have at all; the tail may have fewer.
      if (static_cast<size_t>(__builtin_popcountll(wanted_letters & ~folded.letters)) > bound) {
        continue;
      }
      const size_t least = LowerBound(wanted_histogram, Count(form));
      if (least <= bound) to_measure[least].emplace_back(candidate, std::string(form));
    }
  }
  for (size_t least = 0; least <= bound && best.Takes(least * kEditCost); ++least) {
    for (const auto& [candidate, form] : to_measure[least]) {
      size_t limit = bound;
      while (limit > 0 && !best.Takes(limit * kEditCost)) --limit;
      const size_t distance = BoundedEditDistance(wanted, form, limit);
      if (distance <= limit) best.Offer({distance * kEditCost, candidate});
    }
  }

  std::vector<std::string> out;
  for (const Candidate& candidate : best.kept()) out.emplace_back(candidate.name);
  return out;
}

}  // namespace toolrack
