// HTTP requests without a thread for each: libcurl's multi interface on one thread.
#ifndef TOOLRACK_SERVER_HTTP_HTTP_CLIENT_H_
#define TOOLRACK_SERVER_HTTP_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace toolrack {

// Names and values, in their order.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// The head of an answer, and its body unless that went elsewhere.
struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  bool truncated = false;  // the body was longer than allowed; this is its beginning

  // The first header of that name (lower case); empty: there is none.
  absl::string_view Header(absl::string_view name) const;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;      // http or https
  HttpHeaders headers;  // no CR, LF or NUL in them: checked by Start
  std::string body;
  absl::Duration timeout = absl::InfiniteDuration();  // of the whole
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration idle_timeout = absl::InfiniteDuration();  // without a byte; whole seconds
  uint64_t max_body_bytes = UINT64_MAX;
  uint64_t max_header_bytes = 64 << 10;
  // Both may be empty; they run on the client's thread and must not block. With `on_body` the body
  // is given to it as it comes, and is not kept; false ends the transfer with CANCELLED.
  std::function<void(const HttpResponse& head)> on_head;
  std::function<bool(absl::string_view part)> on_body;
};

// Any answer, whatever its status code. Else: INVALID_ARGUMENT (the request), PERMISSION_DENIED (an
// address that is not allowed), UNAVAILABLE (no address, no connection), DEADLINE_EXCEEDED,
// CANCELLED, RESOURCE_EXHAUSTED (too long a head), UNKNOWN (broken off in the middle, no HTTP).
using HttpDone = absl::AnyInvocable<void(absl::StatusOr<HttpResponse>)>;

struct HttpClientOptions {
  // Only addresses of the public internet (IsPublicAddress). What is checked is the address that
  // the socket is opened for, after the name was resolved: a name that changes its address wins
  // nothing.
  bool public_only = true;
  // Also `http:`.
  bool plaintext = false;
  std::string user_agent = "toolrack";
  std::string ca_file;  // instead of the system's certificates; empty: those
};

// Connections are kept and shared by the requests of one client, so whoever needs other options
// needs another client. No proxies, no .netrc, no cookies, no redirects, certificates are always
// verified. Thread-safe.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  // Ends what is running with CANCELLED. Not on its own thread.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Begins at once; never blocks. `done` runs exactly once, on the client's thread. Gives a number
  // for Cancel.
  uint64_t Start(HttpRequest request, HttpDone done);
  // `done` gets CANCELLED, unless it has ended already. Never waits.
  void Cancel(uint64_t number);
  // Requests whose `done` has not run.
  size_t running() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_HTTP_HTTP_CLIENT_H_
