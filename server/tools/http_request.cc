#include "server/tools/http_request.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "registry/base/proto_time.h"
#include "registry/base/task.h"
#include "registry/base/utf8.h"
#include "registry/typed_tool.h"
#include "server/http/http_url.h"

namespace toolrack {
namespace {

constexpr int kMaxRedirects = 5;
constexpr size_t kMaxHeaders = 64;
constexpr size_t kMaxHeaderBytes = 16 << 10;

struct HttpArgs {
  std::string url;
  std::string method = "GET";
  std::optional<std::map<std::string, std::string>> headers;
  std::optional<std::string> body;
  std::optional<std::string> body_base64;
  static auto Describe() {
    return Fields(
        Field("url", &HttpArgs::url, "The whole URL, https://… ."),
        Field("method", &HttpArgs::method, "The method, in capitals.").Default("GET"),
        Field("headers", &HttpArgs::headers, "Request headers by name."),
        Field("body", &HttpArgs::body, "The body as text; give a content-type header with it."),
        Field("body_base64", &HttpArgs::body_base64, "The body as base64, instead of `body`."));
  }
};

// By these the connection or the client's own framing would be changed.
bool IsForbidden(absl::string_view name) {
  static const std::set<std::string>* const kNames = new std::set<std::string>{
      "host",    "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te",
      "trailer", "expect",         "accept-encoding"};
  const std::string lower = absl::AsciiStrToLower(name);
  return kNames->count(lower) > 0 || absl::StartsWith(lower, "proxy-");
}

// All that goes along to an origin that the caller did not name.
bool IsHarmless(absl::string_view name) {
  for (const absl::string_view each : {"accept", "accept-language", "content-type"}) {
    if (absl::EqualsIgnoreCase(name, each)) return true;
  }
  return false;
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// The parameter of a content type; empty: there is none.
std::string Charset(absl::string_view type) {
  const std::string lower = absl::AsciiStrToLower(type);
  const size_t at = lower.find("charset=");
  if (at == std::string::npos) return "";
  absl::string_view value = absl::string_view(lower).substr(at + 8);
  value = value.substr(0, value.find(';'));
  value = absl::StripAsciiWhitespace(value);
  absl::ConsumePrefix(&value, "\"");
  absl::ConsumeSuffix(&value, "\"");
  return std::string(value);
}

std::string Latin1ToUtf8(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

// The body as text, when it is some.
std::optional<std::string> TextOf(const HttpResponse& response) {
  const std::string charset = Charset(response.Header("content-type"));
  if (charset == "iso-8859-1" || charset == "latin1") return Latin1ToUtf8(response.body);
  absl::string_view body = response.body;
  // A cut one may end in the middle of a character.
  for (int i = 0; response.truncated && i < 3 && !IsUtf8(body); ++i) body.remove_suffix(1);
  if (!IsUtf8(body) || body.find('\0') != absl::string_view::npos) return std::nullopt;
  return std::string(body);
}

void AddBody(const HttpResponse& response, const HttpUrl& url, v1::ToolResult& result) {
  if (response.body.empty()) return;
  if (std::optional<std::string> text = TextOf(response)) {
    result.add_content()->mutable_text()->set_text(*std::move(text));
    return;
  }
  std::string type(response.Header("content-type"));
  type = std::string(absl::StripAsciiWhitespace(type.substr(0, type.find(';'))));
  if (!IsUtf8(type)) type.clear();
  v1::Content& part = *result.add_content();
  if (absl::StartsWith(type, "image/") || absl::StartsWith(type, "audio/")) {
    v1::MediaContent& media =
        absl::StartsWith(type, "image/") ? *part.mutable_image() : *part.mutable_audio();
    media.set_data(response.body);
    media.set_mime_type(type);
    return;
  }
  part.mutable_resource()->set_uri(url.text);
  part.mutable_resource()->set_mime_type(type.empty() ? "application/octet-stream" : type);
  part.mutable_resource()->set_blob(response.body);
}

v1::ToolResult ResultOfResponse(const HttpResponse& response, const HttpUrl& url) {
  v1::ToolResult result;
  std::string head = absl::StrCat("HTTP ", response.status);
  for (const char* name : {"content-type", "location", "retry-after"}) {
    const absl::string_view value = response.Header(name);
    if (!value.empty()) absl::StrAppend(&head, ", ", name, ": ", ForMessage(value, 500));
  }
  absl::StrAppend(&head, ", ", response.body.size(), " bytes",
                  response.truncated ? " (cut: the answer is longer than is taken)" : "", " from ",
                  ForMessage(url.text, 500));
  result.add_content()->mutable_text()->set_text(head);
  result.set_summary(head);
  AddBody(response, url, result);
  if (response.status >= 400) {
    result.set_is_error(true);
    result.mutable_error()->set_reason("EXECUTION_FAILED");
    (*result.mutable_error()->mutable_metadata())["status"] = absl::StrCat(response.status);
  }
  return result;
}

// What may be asked.
struct Rules {
  std::vector<HostPattern> hosts;
  std::string hosts_text;
  std::set<std::string> methods;
  bool plaintext = false;
  absl::Duration timeout;
  uint64_t max_body = 0;

  absl::Status Check(const HttpUrl& url) const {
    if (url.scheme != "https" && !plaintext) {
      return absl::InvalidArgumentError("Only https is allowed here; ask for https://… .");
    }
    for (const HostPattern& host : hosts) {
      if (host.Matches(url)) return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("The host ", url.host, url.default_port() ? "" : absl::StrCat(":", url.port),
                     " is not allowed; these are: ", hosts_text, "."));
  }
};

absl::Status TakeHeaders(const HttpArgs& args, HttpHeaders& out) {
  size_t bytes = 0;
  for (const auto& [name, value] : args.headers.value_or(std::map<std::string, std::string>())) {
    if (IsForbidden(name)) {
      return absl::InvalidArgumentError(absl::StrCat("The header ", ForMessage(name),
                                                     " is set by the tool itself; leave it out."));
    }
    bytes += name.size() + value.size();
    out.emplace_back(name, value);
  }
  if (out.size() > kMaxHeaders || bytes > kMaxHeaderBytes) {
    return absl::InvalidArgumentError("Too many headers: 64 with 16 KiB in all are taken.");
  }
  return absl::OkStatus();
}

absl::Status TakeBody(const HttpArgs& args, std::string& out) {
  if (args.body.has_value() && args.body_base64.has_value()) {
    return absl::InvalidArgumentError("Give `body` or `body_base64`, not both.");
  }
  if (args.body.has_value()) out = *args.body;
  if (args.body_base64.has_value() && !absl::Base64Unescape(*args.body_base64, &out)) {
    return absl::InvalidArgumentError("`body_base64` is no base64.");
  }
  return absl::OkStatus();
}

// In words that say what to do.
absl::Status ForCaller(const absl::Status& status, const HttpUrl& url, absl::Duration timeout) {
  const std::string where = absl::StrCat(url.host, ":", url.port);
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return absl::InvalidArgumentError(
          absl::StrCat("The request cannot be sent: ", status.message(), "."));
    case absl::StatusCode::kPermissionDenied:
      return absl::PermissionDeniedError(absl::StrCat(where, " was not asked: ", status.message(),
                                                      ". Only public addresses may be asked."));
    case absl::StatusCode::kDeadlineExceeded:
      return absl::UnknownError(absl::StrCat(where, " did not answer within ",
                                             absl::FormatDuration(timeout),
                                             ". Try again later, or ask for less."));
    case absl::StatusCode::kUnavailable:
      return absl::UnknownError(absl::StrCat(where, " cannot be reached: ", status.message(),
                                             ". Check the host name, or try again later."));
    default:
      return absl::UnknownError(
          absl::StrCat("The exchange with ", where, " failed: ", status.message(), "."));
  }
}

using Answer = absl::StatusOr<HttpResponse>;

// One hop. CANCELLED when the call was stopped.
Task<Answer> Exchange(HttpClient* client, HttpRequest request, StopToken stop) {
  Completion<std::shared_ptr<Answer>> ended;
  auto done = [ended](Answer answer) { ended.Set(std::make_shared<Answer>(std::move(answer))); };
  const uint64_t number = client->Start(std::move(request), std::move(done));
  auto on_stop = [client, number] { client->Cancel(number); };
  std::stop_callback listener(stop.std_token(), on_stop);
  const std::shared_ptr<Answer> answer = co_await ended;
  co_return std::move(*answer);
}

// What the next hop is; nullopt: `response` is the answer.
std::optional<HttpUrl> NextHop(const Rules& rules, const HttpResponse& response, const HttpUrl& url,
                               HttpRequest& request) {
  const absl::string_view location = response.Header("location");
  if (!IsRedirect(response.status) || location.empty()) return std::nullopt;
  absl::StatusOr<HttpUrl> next = ParseHttpUrl(location, &url);
  if (!next.ok() || !rules.Check(*next).ok()) return std::nullopt;
  const bool to_get = (response.status == 303 && request.method != "HEAD") ||
                      (response.status <= 302 && request.method == "POST");
  if (to_get) {  // RFC 9110, 15.4
    request.method = "GET";
    request.body.clear();
    auto about_body = [](const auto& header) {
      return absl::StartsWithIgnoreCase(header.first, "content-");
    };
    request.headers.erase(
        std::remove_if(request.headers.begin(), request.headers.end(), about_body),
        request.headers.end());
  }
  if (rules.methods.count(request.method) == 0) return std::nullopt;
  if (!next->SameOrigin(url)) {
    auto private_one = [](const auto& header) { return !IsHarmless(header.first); };
    request.headers.erase(
        std::remove_if(request.headers.begin(), request.headers.end(), private_one),
        request.headers.end());
  }
  return *std::move(next);
}

Detached Fetch(HttpClient* client, std::shared_ptr<const Rules> rules, HttpArgs args, ToolCall call,
               ToolReply<v1::ToolResult> reply) {
  absl::StatusOr<HttpUrl> first = ParseHttpUrl(args.url);
  if (!first.ok()) {
    reply(absl::InvalidArgumentError(
        absl::StrCat("`url` cannot be read: ", first.status().message(), ".")));
    co_return;
  }
  HttpUrl url = *std::move(first);
  HttpRequest request;
  request.method = args.method;
  absl::Status fault = rules->Check(url);
  if (fault.ok() && rules->methods.count(args.method) == 0) {
    fault = absl::InvalidArgumentError(
        absl::StrCat("The method ", ForMessage(args.method),
                     " is not allowed; these are: ", absl::StrJoin(rules->methods, ", "), "."));
  }
  if (fault.ok()) fault = TakeHeaders(args, request.headers);
  if (fault.ok()) fault = TakeBody(args, request.body);
  if (!fault.ok()) {
    reply(std::move(fault));
    co_return;
  }
  const absl::Time end = absl::Now() + std::min(rules->timeout, call.context.remaining);
  for (int hop = 0;; ++hop) {
    HttpRequest one = request;
    one.url = url.text;
    one.timeout = std::max(end - absl::Now(), absl::Milliseconds(1));
    one.max_body_bytes = rules->max_body;
    const Answer answer = co_await Exchange(client, std::move(one), call.stop);
    if (!answer.ok()) {
      reply(ForCaller(answer.status(), url, rules->timeout));
      co_return;
    }
    std::optional<HttpUrl> next =
        hop < kMaxRedirects ? NextHop(*rules, *answer, url, request) : std::nullopt;
    if (!next.has_value()) {
      reply(ResultOfResponse(*answer, url));
      co_return;
    }
    url = *std::move(next);
  }
}

}  // namespace

std::string HttpHostMistake(absl::string_view pattern) {
  const absl::StatusOr<HostPattern> parsed = HostPattern::Parse(pattern);
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

std::string HttpMethodMistake(absl::string_view method) {
  const bool fine = !method.empty() && method.size() <= 20 && method != "CONNECT" &&
                    method != "TRACE" && std::all_of(method.begin(), method.end(), [](char c) {
                      return absl::ascii_isupper(static_cast<unsigned char>(c));
                    });
  return fine ? "" : "must be a method in capitals like GET or POST, and not CONNECT or TRACE";
}

HttpClientOptions HttpToolClientOptions(const v1::HttpToolConfig& config) {
  HttpClientOptions options;
  options.public_only = !config.allow_private();
  options.plaintext = config.allow_plaintext();
  return options;
}

ToolFactory MakeHttpRequestTool(HttpClient* client, const v1::HttpToolConfig& config) {
  auto rules = std::make_shared<Rules>();
  for (const std::string& host : config.allow()) {
    if (absl::StatusOr<HostPattern> parsed = HostPattern::Parse(host); parsed.ok()) {
      rules->hosts.push_back(*std::move(parsed));
    }
  }
  rules->hosts_text = absl::StrJoin(config.allow(), ", ");
  rules->methods.insert(config.methods().begin(), config.methods().end());
  if (rules->methods.empty()) rules->methods = {"GET", "HEAD"};
  rules->plaintext = config.allow_plaintext();
  rules->timeout = ToDuration(config.timeout());
  rules->max_body = config.max_response_bytes();
  const bool reads =
      std::all_of(rules->methods.begin(), rules->methods.end(),
                  [](const std::string& method) { return method == "GET" || method == "HEAD"; });
  return MakeTool(
      ToolSpec("http_request",
               absl::StrCat("Makes an HTTP request and gives status, type and body of the answer. "
                            "Hosts: ",
                            ForMessage(rules->hosts_text, 1000),
                            ". Methods: ", absl::StrJoin(rules->methods, ", "), "."))
          .Category("network")
          .ReadOnly(reads)
          .Destructive(!reads)
          .Idempotent(reads)
          .OpenWorld()
          .Example("fetch a web page")
          .Example("ask a web API"),
      [client, rules](HttpArgs args, ToolCall call, ToolReply<v1::ToolResult> reply) {
        Fetch(client, rules, std::move(args), std::move(call), std::move(reply));
      });
}

}  // namespace toolrack
