// What the benchmark's own processes share: flags, a stop line, process clocks, a latency
// histogram.
#ifndef TOOLRACK_TESTS_BENCH_HARNESS_H_
#define TOOLRACK_TESTS_BENCH_HARNESS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace toolrack::bench {

// `--name=value` pairs; anything else ends the process with a message.
class Flags {
 public:
  Flags(int argc, char** argv);
  std::string Text(const std::string& name, absl::string_view fallback) const;
  int64_t Number(const std::string& name, int64_t fallback) const;
  double Real(const std::string& name, double fallback) const;

 private:
  std::map<std::string, std::string> values_;
};

// Writes `line` and a newline to standard output at once: the driver waits for such lines.
void Say(absl::string_view line);
// Returns when standard input ends: the driver closes it, or died. At the latest after 10 minutes.
void WaitForEndOfInput();

// CPU time of a process so far, all threads, ended ones included, by its CPU clock (nanosecond
// resolution; the same sum as getrusage). Zero when there is no such process.
absl::Duration ProcessCpu(int64_t pid);

// Counts by value with a relative error below 1 %. Record is thread-safe.
class Histogram {
 public:
  void Record(uint64_t value);
  // 0 when empty. Not while recording.
  uint64_t Quantile(double q) const;

 private:
  static constexpr int kBits = 7;
  static constexpr size_t kBuckets = (64 - kBits) << kBits;
  std::array<std::atomic<uint32_t>, kBuckets> counts_{};
};

}  // namespace toolrack::bench

#endif  // TOOLRACK_TESTS_BENCH_HARNESS_H_
