#include "tests/testing/raw_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"

namespace toolrack {

std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string out;
  for (int shift : {16, 8, 0}) out.push_back(static_cast<char>(size >> shift));
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  for (int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(stream >> shift));
  out.append(payload.data(), payload.size());
  return out;
}

const std::string kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Http2Frame(4, 0, 0, "");

RawSocket RawSocket::Unix(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0) return RawSocket(fd);
  ::close(fd);
  return RawSocket(-1);
}

RawSocket RawSocket::Tcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in where{};
  where.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &where.sin_addr);
  uint32_t port = 0;
  if (!absl::SimpleAtoi(address.substr(colon + 1), &port)) return RawSocket(-1);
  where.sin_port = htons(static_cast<uint16_t>(port));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0) return RawSocket(fd);
  ::close(fd);
  return RawSocket(-1);
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

RawSocket::~RawSocket() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawSocket::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawSocket::ReadUntilClosed(int timeout_ms) {
  if (fd_ < 0) return true;
  while (true) {
    pollfd look{fd_, POLLIN, 0};
    if (::poll(&look, 1, timeout_ms) <= 0) return false;
    char buffer[4096];
    const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
    if (size <= 0) return true;
    received_.append(buffer, static_cast<size_t>(size));
  }
}

bool RawSocket::ClosedSoon() { return ReadUntilClosed(20); }
bool RawSocket::WaitUntilClosed() { return ReadUntilClosed(60000); }

}  // namespace toolrack
