#include "server/rpc/acceptor.h"

#include <fcntl.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/clock.h"
#include "registry/base/log.h"
#include "server/rpc/peer.h"

namespace toolrack {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// How soon a client that sent only part of the preface is looked at again.
constexpr absl::Duration kRecheck = absl::Milliseconds(20);
// Connections taken from one socket before the others get their turn.
constexpr int kAcceptBatch = 64;

int SoftFdLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1 << 20;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

int OpenSpare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

// The kernel's number of the socket behind a descriptor: tells whether the descriptor is still the
// one that we handed over.
ino_t InodeOf(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

}  // namespace

struct Acceptor::State {
  struct Handed {
    int fd;
    ino_t inode;
  };
  struct Port {
    ListenSocket socket;
    std::string scope;
    grpc::Server* server;
    int spare_fds;
    std::vector<Handed> handed;
    uint32_t pending = 0;
    uint64_t refused = 0;
  };
  // Accepted, has not spoken yet.
  struct Pending {
    int fd;
    size_t port;
    absl::Duration deadline;
    absl::Duration recheck;  // not polled before
  };

  explicit State(AcceptorOptions o) : options(o) {}

  void Run();
  void AcceptFrom(size_t index) ABSL_LOCKS_EXCLUDED(mu);
  void Take(size_t index, int fd) ABSL_LOCKS_EXCLUDED(mu);
  bool LookAt(Pending& one);
  void Drop(const Pending& one, const char* why);
  void HandOver(const Pending& one) ABSL_LOCKS_EXCLUDED(mu);
  void Refuse(size_t index, int fd, const std::string& why) ABSL_LOCKS_EXCLUDED(mu);
  bool HasRoom(Port& port) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  static void Sweep(Port& port);
  void Warn(const std::string& line);

  const AcceptorOptions options;
  mutable absl::Mutex mu;
  std::vector<Port> ports ABSL_GUARDED_BY(mu);
  std::vector<Pending> pending;  // of the thread
  int wake = -1;
  int spare = -1;
  absl::Duration last_warning = -absl::InfiniteDuration();
  std::thread thread;
};

void Acceptor::State::Sweep(Port& port) {
  port.handed.erase(std::remove_if(port.handed.begin(), port.handed.end(),
                                   [](const Handed& h) { return InodeOf(h.fd) != h.inode; }),
                    port.handed.end());
}

bool Acceptor::State::HasRoom(Port& port) {
  if (port.handed.size() + port.pending < options.max_connections) return true;
  Sweep(port);
  return port.handed.size() + port.pending < options.max_connections;
}

// A client that hammers us must not fill the log.
void Acceptor::State::Warn(const std::string& line) {
  const absl::Duration now = Clock::Real().SteadyNow();
  if (now - last_warning < absl::Seconds(1)) return;
  last_warning = now;
  LogWarning(line);
}

void Acceptor::State::Refuse(size_t index, int fd, const std::string& why) {
  std::string address;
  {
    absl::MutexLock lock(&mu);
    ++ports[index].refused;
    address = ports[index].socket.address();
  }
  ::close(fd);
  Warn(absl::StrCat("refused a connection on ", address, ": ", why));
}

void Acceptor::State::AcceptFrom(size_t index) {
  int listener;
  {
    absl::MutexLock lock(&mu);
    listener = ports[index].socket.fd();
  }
  for (int i = 0; i < kAcceptBatch; ++i) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      Take(index, fd);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EMFILE && errno != ENFILE) return;  // mostly EAGAIN: no more
    // Out of descriptors: give the spare one away to turn the client off, instead of letting it
    // wait in a queue that nobody empties.
    if (spare >= 0) {
      ::close(std::exchange(spare, -1));
      const int turned_off = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (turned_off >= 0) Refuse(index, turned_off, "the process is out of file descriptors");
      spare = OpenSpare();
      if (turned_off >= 0) continue;
    }
    // No spare one either: do not spin until somebody closes something.
    ::poll(nullptr, 0, 50);
    if (spare < 0) spare = OpenSpare();
    return;
  }
}

void Acceptor::State::Take(size_t index, int fd) {
  bool room, is_unix;
  int spare_fds;
  {
    absl::MutexLock lock(&mu);
    Port& port = ports[index];
    room = HasRoom(port);
    is_unix = port.socket.is_unix();
    spare_fds = port.spare_fds;
  }
  if (!room) {
    Refuse(index, fd,
           absl::StrCat("limits.max_connections allows ", options.max_connections, " a socket"));
    return;
  }
  if (fd >= SoftFdLimit() - spare_fds) {
    Refuse(index, fd, "the process is almost out of file descriptors");
    return;
  }
  if (is_unix) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
      Refuse(index, fd, absl::StrCat("SO_PEERCRED: ", strerror(errno)));
      return;
    }
    RememberUnixPeer(fd, peer.uid);
  } else {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    RememberTcpPeer(fd);
  }
  {
    absl::MutexLock lock(&mu);
    ++ports[index].pending;
  }
  Pending one{fd, index, Clock::Real().SteadyNow() + options.handshake_timeout, {}};
  if (!LookAt(one)) pending.push_back(one);
}

// True: it is done with, handed over or dropped.
bool Acceptor::State::LookAt(Pending& one) {
  char text[kPreface.size()];
  const ssize_t size = ::recv(one.fd, text, sizeof text, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    one.recheck = absl::ZeroDuration();
    return false;
  }
  if (size <= 0) {
    Drop(one, nullptr);  // it left: health checks of the TCP kind do
    return true;
  }
  if (std::memcmp(text, kPreface.data(), static_cast<size_t>(size)) != 0) {
    Drop(one, "it does not speak HTTP/2");
    return true;
  }
  if (static_cast<size_t>(size) == kPreface.size()) {
    HandOver(one);
    return true;
  }
  // What is there stays readable: polling would spin.
  one.recheck = Clock::Real().SteadyNow() + kRecheck;
  return false;
}

void Acceptor::State::Drop(const Pending& one, const char* why) {
  {
    absl::MutexLock lock(&mu);
    --ports[one.port].pending;
  }
  if (why == nullptr) {
    ::close(one.fd);
  } else {
    Refuse(one.port, one.fd, why);
  }
}

void Acceptor::State::HandOver(const Pending& one) {
  grpc::Server* server;
  {
    absl::MutexLock lock(&mu);
    Port& port = ports[one.port];
    --port.pending;
    port.handed.push_back({one.fd, InodeOf(one.fd)});
    server = port.server;
  }
  grpc::AddInsecureChannelFromFd(server, one.fd);
}

void Acceptor::State::Run() {
  ::pthread_setname_np(::pthread_self(), "acceptor");
  std::vector<pollfd> polled;
  while (true) {
    polled.clear();
    polled.push_back({wake, POLLIN, 0});
    size_t port_count;
    {
      absl::MutexLock lock(&mu);
      port_count = ports.size();
      for (const Port& port : ports) polled.push_back({port.socket.fd(), POLLIN, 0});
    }
    const absl::Duration now = Clock::Real().SteadyNow();
    absl::Duration wait = absl::InfiniteDuration();
    for (const Pending& one : pending) {
      const bool rest = one.recheck > now;
      polled.push_back({rest ? -1 : one.fd, POLLIN, 0});
      wait = std::min({wait, one.deadline - now, rest ? one.recheck - now : wait});
    }
    const int timeout =
        wait == absl::InfiniteDuration()
            ? -1
            : static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(wait) + 1));
    if (::poll(polled.data(), polled.size(), timeout) < 0 && errno != EINTR) {
      LogError(absl::StrCat("poll: ", strerror(errno)));
      ::poll(nullptr, 0, 50);
      continue;
    }
    if (polled[0].revents != 0) return;
    const absl::Duration after = Clock::Real().SteadyNow();
    // Before new ones come: the positions in `polled` are those of `pending` now.
    std::vector<Pending> left;
    for (size_t i = 0; i < pending.size(); ++i) {
      Pending one = pending[i];
      const bool look = polled[1 + port_count + i].revents != 0 ||
                        (one.recheck > absl::ZeroDuration() && one.recheck <= after);
      if (look && LookAt(one)) continue;
      if (one.deadline <= after) {
        Drop(one, "it said nothing within limits.handshake_timeout");
        continue;
      }
      left.push_back(one);
    }
    pending.swap(left);
    for (size_t i = 0; i < port_count; ++i) {
      if (polled[1 + i].revents != 0) AcceptFrom(i);
    }
  }
}

Acceptor::Acceptor(AcceptorOptions options) : state_(std::make_unique<State>(options)) {
  state_->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  state_->spare = OpenSpare();
}

Acceptor::~Acceptor() {
  Stop();
  ::close(state_->wake);
  if (state_->spare >= 0) ::close(state_->spare);
}

void Acceptor::Add(ListenSocket socket, std::string scope, grpc::Server* server, int spare_fds) {
  absl::MutexLock lock(&state_->mu);
  state_->ports.push_back({std::move(socket), std::move(scope), server, spare_fds, {}, 0, 0});
}

void Acceptor::Start() {
  state_->thread = std::thread([state = state_.get()] { state->Run(); });
}

void Acceptor::Stop() {
  if (state_->thread.joinable()) {
    const uint64_t one = 1;
    while (::write(state_->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
    state_->thread.join();
  }
  for (const State::Pending& one : state_->pending) ::close(one.fd);
  state_->pending.clear();
  absl::MutexLock lock(&state_->mu);
  state_->ports.clear();
}

std::vector<v1::ListenAddress> Acceptor::Addresses() const {
  std::vector<v1::ListenAddress> out;
  absl::MutexLock lock(&state_->mu);
  for (State::Port& port : state_->ports) {
    State::Sweep(port);
    v1::ListenAddress address;
    address.set_address(port.socket.address());
    address.set_scope(port.scope);
    address.set_connections(static_cast<uint32_t>(port.handed.size()));
    address.set_refused_connections(port.refused);
    out.push_back(std::move(address));
  }
  return out;
}

}  // namespace toolrack
