#include "tests/testing/http_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace toolrack {

bool PeerConnection::Write(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

void PeerConnection::WaitForClose() {
  char sink[4096];
  while (::recv(fd_, sink, sizeof sink, 0) > 0) {
  }
  closing = true;
}

void PeerConnection::Answer(int status, const std::string& body, const std::string& headers) {
  Write(absl::StrCat("HTTP/1.1 ", status, " X\r\n", headers, "Content-Length: ", body.size(),
                     "\r\n\r\n", body));
}

HttpPeer::HttpPeer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      connections_.fetch_add(1);
      absl::MutexLock lock(&mu_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] { Serve(fd); });
    }
  });
}

HttpPeer::~HttpPeer() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  std::list<std::thread> threads;
  {
    absl::MutexLock lock(&mu_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string HttpPeer::Url(const std::string& target) const {
  return absl::StrCat("http://127.0.0.1:", port_, target);
}

std::list<PeerRequest> HttpPeer::requests() const {
  absl::MutexLock lock(&mu_);
  return requests_;
}

void HttpPeer::Serve(int fd) {
  std::string buffer;
  char part[65536];
  const auto more = [&] {
    const ssize_t count = ::recv(fd, part, sizeof part, 0);
    if (count > 0) buffer.append(part, static_cast<size_t>(count));
    return count > 0;
  };
  PeerConnection connection(fd);
  while (!connection.closing) {
    size_t end;
    bool there = true;
    while (there && (end = buffer.find("\r\n\r\n")) == std::string::npos) there = more();
    if (!there) break;
    PeerRequest request;
    std::vector<std::string> lines = absl::StrSplit(buffer.substr(0, end), "\r\n");
    buffer.erase(0, end + 4);
    const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
    if (first.size() < 2) break;
    request.method = first[0];
    request.target = first[1];
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::pair<std::string, std::string> header =
          absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
      request.headers[absl::AsciiStrToLower(header.first)] =
          std::string(absl::StripAsciiWhitespace(header.second));
    }
    size_t length = 0;
    (void)absl::SimpleAtoi(request.headers["content-length"], &length);
    while (there && buffer.size() < length) there = more();
    if (!there) break;
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    {
      absl::MutexLock lock(&mu_);
      requests_.push_back(request);
    }
    handler_(request, connection);
  }
  absl::MutexLock lock(&mu_);
  open_.remove(fd);
  ::close(fd);
}

}  // namespace toolrack
