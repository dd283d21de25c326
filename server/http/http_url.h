// URLs as the transfer engine reads them, and which hosts may be asked.
#ifndef TOOLRACK_SERVER_HTTP_HTTP_URL_H_
#define TOOLRACK_SERVER_HTTP_HTTP_URL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// One http or https URL, in normal form. Read by libcurl's own parser, so that what is checked is
// what is asked: no two readings of one text.
struct HttpUrl {
  std::string scheme;  // `http` or `https`
  std::string host;    // lower case, no dot at the end; IPv6 in brackets
  uint16_t port = 0;
  std::string text;  // the whole, without fragment

  bool default_port() const { return port == (scheme == "https" ? 443 : 80); }
  bool SameOrigin(const HttpUrl& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
};

// `base`: what a relative one (of a redirect) is relative to; may be null. INVALID_ARGUMENT with
// what is wrong; also when there is a user or a password in it.
absl::StatusOr<HttpUrl> ParseHttpUrl(absl::string_view text, const HttpUrl* base = nullptr);

// `api.example.com`, `*.example.com` (whatever ends so, not `example.com` itself), `127.0.0.1`,
// `[::1]`; each with `:PORT`, else only the scheme's own port.
class HostPattern {
 public:
  // INVALID_ARGUMENT with what is wrong.
  static absl::StatusOr<HostPattern> Parse(absl::string_view text);
  bool Matches(const HttpUrl& url) const;

 private:
  std::string host_;    // normal form, without `*`
  bool below_ = false;  // `*.`: host_ begins with a dot
  uint16_t port_ = 0;   // 0: the scheme's own
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_HTTP_HTTP_URL_H_
