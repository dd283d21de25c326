// A client that does not keep to any protocol.
#ifndef TOOLRACK_TESTS_TESTING_RAW_SOCKET_H_
#define TOOLRACK_TESTS_TESTING_RAW_SOCKET_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace toolrack {

// What an HTTP/2 client says first, with an empty SETTINGS frame.
extern const std::string kHttp2Preface;
// One HTTP/2 frame.
std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload);

// A blocking stream socket. Move-only.
class RawSocket {
 public:
  // Not connected when nobody listens or the backlog is full.
  static RawSocket Unix(const std::string& path);
  // `127.0.0.1:PORT`.
  static RawSocket Tcp(const std::string& address);
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket();

  bool connected() const { return fd_ >= 0; }
  // False when the other side is gone.
  bool Send(absl::string_view bytes);
  // Reads what comes within a short time; true when the other side has closed.
  bool ClosedSoon();
  // Reads until the other side closes; false when that hangs.
  bool WaitUntilClosed();
  // What was read so far.
  const std::string& received() const { return received_; }

 private:
  explicit RawSocket(int fd) : fd_(fd) {}
  bool ReadUntilClosed(int timeout_ms);
  int fd_;
  std::string received_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_RAW_SOCKET_H_
