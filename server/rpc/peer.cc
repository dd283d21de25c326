#include "server/rpc/peer.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

// Descriptors are numbers of the process, so the table is the process's too. Untouched pages of it
// cost nothing. 0: not known, 1: TCP, else uid + 2.
constexpr int kMaxFd = 1 << 20;
std::atomic<uint64_t>* Table() {
  // Zeroed memory is a valid table. Never freed: connections may outlive everything else.
  static auto* const table =
      static_cast<std::atomic<uint64_t>*>(std::calloc(kMaxFd, sizeof(std::atomic<uint64_t>)));
  return table;
}

bool IsLowerHex(absl::string_view text) {
  for (char c : text) {
    if (!absl::ascii_isdigit(c) && (c < 'a' || c > 'f')) return false;
  }
  return true;
}

bool AllZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

}  // namespace

void RememberUnixPeer(int fd, uid_t uid) {
  if (fd >= 0 && fd < kMaxFd) Table()[fd].store(uint64_t{uid} + 2, std::memory_order_release);
}

void RememberTcpPeer(int fd) {
  if (fd >= 0 && fd < kMaxFd) Table()[fd].store(1, std::memory_order_release);
}

std::string PrincipalOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  int fd = -1;
  if (!absl::StartsWith(peer, "fd:") || !absl::SimpleAtoi(absl::string_view(peer).substr(3), &fd) ||
      fd < 0 || fd >= kMaxFd) {
    return "unknown";
  }
  const uint64_t entry = Table()[fd].load(std::memory_order_acquire);
  if (entry == 0) return "unknown";
  if (entry == 1) return "tcp";
  return absl::StrCat("uid:", entry - 2);
}

std::string TraceparentOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  if (metadata.empty()) return "";
  const auto range = metadata.equal_range("traceparent");
  if (range.first == range.second || std::next(range.first) != range.second) return "";
  const absl::string_view text(range.first->second.data(), range.first->second.size());
  // version "-" trace id "-" span id "-" flags
  if (text.size() != 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return "";
  const absl::string_view version = text.substr(0, 2), trace = text.substr(3, 32),
                          span = text.substr(36, 16), flags = text.substr(53, 2);
  if (!IsLowerHex(version) || !IsLowerHex(trace) || !IsLowerHex(span) || !IsLowerHex(flags) ||
      version == "ff" || AllZero(trace) || AllZero(span)) {
    return "";
  }
  return std::string(text);
}

}  // namespace toolrack
