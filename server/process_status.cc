#include "server/process_status.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "registry/name.h"

namespace toolrack {
namespace {

void ReadProcStatus(v1::GetStatusResponse& out) {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line)) {
    uint64_t number = 0;
    const size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) continue;
    const absl::string_view rest = absl::string_view(line).substr(digits);
    if (!absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")), &number)) continue;
    if (absl::StartsWith(line, "VmRSS:")) out.set_rss_bytes(number << 10);
    if (absl::StartsWith(line, "Threads:")) out.set_threads(static_cast<uint32_t>(number));
  }
}

}  // namespace

void FillProcessStatus(absl::Time start, absl::Duration uptime, v1::GetStatusResponse& out) {
  out.mutable_start_time()->set_seconds(absl::ToUnixSeconds(start));
  out.mutable_start_time()->set_nanos(
      static_cast<int32_t>(absl::ToUnixNanos(start) - absl::ToUnixSeconds(start) * 1000000000));
  out.mutable_uptime()->set_seconds(absl::ToInt64Seconds(uptime));
  out.mutable_uptime()->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(uptime - absl::Seconds(absl::ToInt64Seconds(uptime)))));
  out.set_pid(::getpid());
  ReadProcStatus(out);
  std::error_code error;
  uint32_t fds = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    ++fds;
  }
  out.set_open_fds(fds);
}

void FillRegistryStatus(const Registry& registry, v1::GetStatusResponse& out) {
  const SnapshotPtr snapshot = registry.snapshot();
  out.set_epoch(registry.epoch());
  out.set_revision(snapshot->revision());
  out.set_definitions_revision(snapshot->definitions_revision());
  std::array<uint64_t, v1::ToolState_ARRAYSIZE> counts{};
  snapshot->ForEach("", [&counts](const ToolEntryPtr& entry) {
    if (!IsReservedName(entry->name())) ++counts[static_cast<size_t>(entry->state)];
    return true;
  });
  for (int state = v1::TOOL_STATE_ACTIVE; state < v1::ToolState_ARRAYSIZE; ++state) {
    if (counts[state] == 0) continue;
    const std::string name = v1::ToolState_Name(static_cast<v1::ToolState>(state));
    (*out.mutable_tools())[absl::AsciiStrToLower(name.substr(sizeof("TOOL_STATE_") - 1))] =
        counts[state];
  }
}

}  // namespace toolrack
