#include "client/cli/address.h"

#include <sys/un.h>

#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace toolrack {
namespace {

std::string SocketIn(const std::string& folder, Scope scope) {
  return absl::StrCat("unix:", absl::StripSuffix(folder, "/"), "/",
                      scope == Scope::kAgent ? "agent.sock" : "control.sock");
}

absl::StatusOr<std::string> Checked(std::string address) {
  if (absl::StartsWith(address, "/")) address = absl::StrCat("unix:", address);
  absl::string_view path = address;
  if (absl::ConsumePrefix(&path, "unix:") && path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the socket path ", path, " has ", path.size(),
                                                   " bytes, a Unix socket allows ",
                                                   sizeof(sockaddr_un::sun_path) - 1));
  }
  return address;
}

bool HasSocket(const std::string& address) {
  std::error_code error;
  return std::filesystem::is_socket(address.substr(sizeof("unix:") - 1), error);
}

}  // namespace

absl::StatusOr<std::string> ResolveAddress(const AddressOptions& options, Scope scope,
                                           const Environment& environment) {
  if (!options.address.empty()) return Checked(options.address);
  if (!options.runtime_dir.empty()) return Checked(SocketIn(options.runtime_dir, scope));
  if (auto address = environment("TOOLRACK_ADDRESS")) return Checked(*address);
  if (auto folder = environment("TOOLRACK_RUNTIME_DIR")) return Checked(SocketIn(*folder, scope));
  std::vector<std::string> candidates;
  if (auto folder = environment("XDG_RUNTIME_DIR")) {
    candidates.push_back(SocketIn(absl::StrCat(*folder, "/toolrack"), scope));
  }
  candidates.push_back(SocketIn("/run/toolrack", scope));
  for (const std::string& candidate : candidates) {
    if (HasSocket(candidate)) return Checked(candidate);
  }
  return Checked(candidates.front());
}

}  // namespace toolrack
