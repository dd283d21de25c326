#include "tests/bench/harness.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace toolrack::bench {

Flags::Flags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    size_t equals = arg.find('=');
    if (!absl::StartsWith(arg, "--") || equals == absl::string_view::npos) {
      std::fprintf(stderr, "%s: flags are --name=value, not %s\n", argv[0], argv[i]);
      std::exit(2);
    }
    values_[std::string(arg.substr(2, equals - 2))] = std::string(arg.substr(equals + 1));
  }
}

std::string Flags::Text(const std::string& name, absl::string_view fallback) const {
  auto it = values_.find(name);
  return it == values_.end() ? std::string(fallback) : it->second;
}

int64_t Flags::Number(const std::string& name, int64_t fallback) const {
  int64_t value = fallback;
  auto it = values_.find(name);
  if (it != values_.end() && !absl::SimpleAtoi(it->second, &value)) {
    std::fprintf(stderr, "--%s is a whole number\n", name.c_str());
    std::exit(2);
  }
  return value;
}

double Flags::Real(const std::string& name, double fallback) const {
  double value = fallback;
  auto it = values_.find(name);
  if (it != values_.end() && !absl::SimpleAtod(it->second, &value)) {
    std::fprintf(stderr, "--%s is a number\n", name.c_str());
    std::exit(2);
  }
  return value;
}

void Say(absl::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
}

void WaitForEndOfInput() {
  const absl::Time latest = absl::Now() + absl::Minutes(10);
  char buffer[256];
  while (absl::Now() < latest) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 1000) > 0 && read(STDIN_FILENO, buffer, sizeof(buffer)) <= 0) return;
  }
}

absl::Duration ProcessCpu(int64_t pid) {
  clockid_t clock;
  timespec now;
  if (clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 ||
      clock_gettime(clock, &now) != 0) {
    return absl::ZeroDuration();
  }
  return absl::DurationFromTimespec(now);
}

void Histogram::Record(uint64_t value) {
  // Values below 2^kBits have a bucket each; above, each octave has 2^kBits buckets.
  size_t bucket = value;
  if (value >= (uint64_t{1} << kBits)) {
    const int shift = std::bit_width(value) - 1 - kBits;
    bucket = (static_cast<size_t>(shift + 1) << kBits) + ((value >> shift) - (1u << kBits));
  }
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
}

uint64_t Histogram::Quantile(double q) const {
  uint64_t total = 0;
  for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
  uint64_t left = static_cast<uint64_t>(q * static_cast<double>(total));
  for (size_t i = 0; i < kBuckets; ++i) {
    const uint64_t count = counts_[i].load(std::memory_order_relaxed);
    if (count > left) {
      const size_t octave = i >> kBits;
      if (octave == 0) return i;
      return (uint64_t{1} << (octave - 1)) * ((i & ((1u << kBits) - 1)) + (1u << kBits));
    }
    left -= count;
  }
  return 0;
}

}  // namespace toolrack::bench
