#include "server/http/http_url.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

constexpr size_t kMaxUrl = 8192;

struct Free {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

// Empty: the part is not there.
absl::StatusOr<std::string> Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  const CURLUcode code = curl_url_get(url, part, &text, flags);
  if (code != CURLUE_OK) {
    curl_free(text);
    if (code == CURLUE_NO_USER || code == CURLUE_NO_PASSWORD || code == CURLUE_NO_OPTIONS)
      return "";
    return Wrong(curl_url_strerror(code));
  }
  std::string out(text);
  curl_free(text);
  return out;
}

absl::Status Set(CURLU* url, CURLUPart part, const char* text, unsigned flags = 0) {
  const CURLUcode code = curl_url_set(url, part, text, flags);
  return code == CURLUE_OK ? absl::OkStatus() : Wrong(curl_url_strerror(code));
}

bool IsHostChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
}

}  // namespace

absl::StatusOr<HttpUrl> ParseHttpUrl(absl::string_view text, const HttpUrl* base) {
  if (text.size() > kMaxUrl) return Wrong("it is longer than 8,192 bytes");
  if (text.find('\0') != absl::string_view::npos) return Wrong("there is a NUL in it");
  const std::unique_ptr<CURLU, Free> url(curl_url());
  if (base != nullptr) {
    if (absl::Status s = Set(url.get(), CURLUPART_URL, base->text.c_str()); !s.ok()) return s;
  }
  if (absl::Status s = Set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_URLENCODE);
      !s.ok()) {
    return s;
  }
  HttpUrl out;
  absl::StatusOr<std::string> part = Part(url.get(), CURLUPART_SCHEME);
  if (!part.ok()) return part.status();
  out.scheme = absl::AsciiStrToLower(*part);
  if (out.scheme != "http" && out.scheme != "https") return Wrong("it is no http or https URL");
  for (const CURLUPart secret : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS}) {
    part = Part(url.get(), secret);
    if (!part.ok()) return part.status();
    if (!part->empty()) return Wrong("there is a user or a password in it");
  }
  if (Part(url.get(), CURLUPART_ZONEID).ok()) return Wrong("it has a zone in its host");
  part = Part(url.get(), CURLUPART_HOST, CURLU_URLDECODE);
  if (!part.ok()) return part.status();
  out.host = absl::AsciiStrToLower(*part);
  if (absl::EndsWith(out.host, ".")) out.host.pop_back();
  const bool literal = absl::StartsWith(out.host, "[");
  if (out.host.empty() ||
      (!literal && !std::all_of(out.host.begin(), out.host.end(), IsHostChar))) {
    return Wrong(std::any_of(out.host.begin(), out.host.end(),
                             [](char c) { return static_cast<unsigned char>(c) >= 0x80; })
                     ? "its host is not ASCII; write it in its xn-- form"
                     : "its host is none");
  }
  part = Part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  uint32_t port = 0;
  if (!part.ok()) return part.status();
  if (!absl::SimpleAtoi(*part, &port) || port == 0 || port > 65535)
    return Wrong("its port is none");
  out.port = static_cast<uint16_t>(port);
  // What is asked is put together anew from what was read.
  if (absl::Status s = Set(url.get(), CURLUPART_HOST, out.host.c_str()); !s.ok()) return s;
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  part = Part(url.get(), CURLUPART_URL);
  if (!part.ok()) return part.status();
  out.text = *std::move(part);
  return out;
}

absl::StatusOr<HostPattern> HostPattern::Parse(absl::string_view text) {
  HostPattern out;
  absl::string_view host = text;
  out.below_ = absl::ConsumePrefix(&host, "*.");
  if (host.empty() || host.find_first_of("*/@?#% \\") != absl::string_view::npos) {
    return Wrong("must be a host like api.example.com or *.example.com, with :PORT if need be");
  }
  // Read as URLs are, so that both have one form. The scheme only fills in the port.
  const absl::StatusOr<HttpUrl> url = ParseHttpUrl(absl::StrCat("https://", host, "/"));
  if (!url.ok()) {
    return Wrong(
        absl::StrCat("must be a host like api.example.com or *.example.com, with :PORT if "
                     "need be; ",
                     url.status().message()));
  }
  const size_t bracket = host.find(']');
  const bool has_port =
      host.find(':', bracket == absl::string_view::npos ? 0 : bracket) != absl::string_view::npos;
  if (has_port) out.port_ = url->port;
  out.host_ = url->host;
  if (out.below_) {
    const bool is_name = !absl::StartsWith(out.host_, "[") &&
                         std::any_of(out.host_.begin(), out.host_.end(), [](char c) {
                           return absl::ascii_isalpha(static_cast<unsigned char>(c));
                         });
    if (!is_name) return Wrong("must not have `*.` before an address");
    out.host_.insert(0, ".");
  }
  return out;
}

bool HostPattern::Matches(const HttpUrl& url) const {
  if (port_ == 0 ? !url.default_port() : port_ != url.port) return false;
  return below_ ? absl::EndsWith(url.host, host_) && url.host.size() > host_.size()
                : url.host == host_;
}

}  // namespace toolrack
