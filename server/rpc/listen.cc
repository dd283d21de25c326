#include "server/rpc/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

constexpr int kBacklog = 1024;

absl::Status CannotListen(const std::string& address, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("Cannot listen on ", address, ": ", what, ": ", strerror(errno), "."));
}

}  // namespace

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::exchange(other.path_, "")),
      address_(std::exchange(other.address_, "")) {}

ListenSocket::~ListenSocket() {
  if (fd_ < 0) return;
  if (!path_.empty()) ::unlink(path_.c_str());
  ::close(fd_);
}

absl::StatusOr<ListenSocket> ListenSocket::Unix(const std::string& path, mode_t mode,
                                                std::optional<gid_t> group) {
  const std::string address = absl::StrCat("unix:", path);
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.size() >= sizeof where.sun_path) {
    return absl::FailedPreconditionError(absl::StrCat(
        "The socket path ", path, " has ", path.size(), " bytes; the system takes at most ",
        sizeof where.sun_path - 1, ". Give a shorter folder with --runtime-dir."));
  }
  std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      errno = EEXIST;
      return CannotListen(address, "something that is no socket lies there; remove it");
    }
    if (::unlink(path.c_str()) != 0) return CannotListen(address, "removing the old socket failed");
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return CannotListen(address, "socket");
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
    const absl::Status status = CannotListen(address, "bind");
    ::close(fd);
    return status;
  }
  ListenSocket socket(fd, path, address);
  // A bound socket that does not listen refuses everybody: no window with a wrong mode.
  if (group.has_value() && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
    return CannotListen(address, "giving it to the socket group failed");
  }
  if (::chmod(path.c_str(), mode) != 0) return CannotListen(address, "chmod");
  if (::listen(fd, kBacklog) != 0) return CannotListen(address, "listen");
  return socket;
}

absl::StatusOr<ListenSocket> ListenSocket::Tcp(TcpAddress address) {
  sockaddr_storage where{};
  socklen_t size = 0;
  if (address.v6) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&where);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    ::inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr);
    size = sizeof *v6;
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&where);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    ::inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr);
    size = sizeof *v4;
  }
  const int fd = ::socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) return CannotListen(address.ToString(), "socket");
  ListenSocket socket(fd, "", address.ToString());
  const int on = 1;
  // Only against addresses of dead connections; it does not let two listeners share a port.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.v6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&where), size) != 0 ||
      ::listen(fd, kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return absl::AlreadyExistsError(absl::StrCat(
          "The address ", address.ToString(),
          " is in use by another process. Stop it, or listen on another port (0: a free one)."));
    }
    return CannotListen(address.ToString(), "bind");
  }
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size);
  address.port = ntohs(address.v6 ? reinterpret_cast<sockaddr_in6*>(&where)->sin6_port
                                  : reinterpret_cast<sockaddr_in*>(&where)->sin_port);
  socket.address_ = address.ToString();
  return socket;
}

}  // namespace toolrack
