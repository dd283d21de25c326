// A small HTTP server that a test scripts byte by byte: what real servers do wrong included.
#ifndef TOOLRACK_TESTS_TESTING_HTTP_PEER_H_
#define TOOLRACK_TESTS_TESTING_HTTP_PEER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"

namespace toolrack {

// One request as it came.
struct PeerRequest {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // lower case
};

// The connection of one request. Write gives false once the other side is gone.
class PeerConnection {
 public:
  explicit PeerConnection(int fd) : fd_(fd) {}
  bool Write(const std::string& bytes);
  // Waits until the other side closes.
  void WaitForClose();
  // A whole answer with its length; the connection stays open for the next request.
  void Answer(int status, const std::string& body = "",
              const std::string& headers = "Content-Type: text/plain\r\n");
  // The connection ends after this request.
  void Close() { closing = true; }

  bool closing = false;

 private:
  const int fd_;
};

class HttpPeer {
 public:
  using Handler = std::function<void(const PeerRequest&, PeerConnection&)>;
  // Listens on a free port of 127.0.0.1.
  explicit HttpPeer(Handler handler);
  ~HttpPeer();  // closes every connection

  uint16_t port() const { return port_; }
  std::string Url(const std::string& target = "/") const;
  // Connections that were made so far.
  int connections() const { return connections_.load(); }
  // The requests so far.
  std::list<PeerRequest> requests() const;

 private:
  void Serve(int fd);

  const Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  mutable absl::Mutex mu_;
  std::list<PeerRequest> requests_ ABSL_GUARDED_BY(mu_);
  std::list<int> open_ ABSL_GUARDED_BY(mu_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mu_);
  std::thread acceptor_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_HTTP_PEER_H_
