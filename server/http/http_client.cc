#include "server/http/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "server/http/public_address.h"

namespace toolrack {
namespace {

constexpr int kPollMs = 60'000;

long Milliseconds(absl::Duration duration) {  // 0 is "no limit" to curl
  if (duration == absl::InfiniteDuration()) return 0;
  return std::max<int64_t>(1, absl::ToInt64Milliseconds(duration));
}

bool IsToken(absl::string_view text) {  // RFC 9110, 5.6.2
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("!#$%&'*+-.^_`|~").find(c) != absl::string_view::npos;
  });
}

absl::Status CheckRequest(const HttpRequest& request) {
  if (!IsToken(request.method)) return absl::InvalidArgumentError("the method is none");
  for (const auto& [name, value] : request.headers) {
    if (!IsToken(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", ForMessage(name), "` is no name of a header"));
    }
    if (value.find_first_of("\r\n\0", 0, 3) != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("the header `", name, "` has a line break or a NUL in it"));
    }
  }
  return absl::OkStatus();
}

// One request. Only the client's thread touches it once it is in its multi handle.
struct Transfer {
  uint64_t number = 0;
  HttpRequest request;
  HttpDone done;
  bool public_only = true;

  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  char error[CURL_ERROR_SIZE] = "";
  HttpResponse response;
  uint64_t head_bytes = 0;
  std::string refused;  // the address that was not allowed
  bool head_too_long = false;
  bool left = false;  // on_body said so

  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
};

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  absl::string_view line(data, size * count);
  transfer.head_bytes += line.size();
  if (transfer.head_bytes > transfer.request.max_header_bytes) {
    transfer.head_too_long = true;
    return 0;
  }
  line = absl::StripAsciiWhitespace(line);
  if (absl::StartsWith(line, "HTTP/")) {  // also after an interim answer
    transfer.response.headers.clear();
    long code = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &code);
    transfer.response.status = static_cast<int>(code);
  } else if (line.empty()) {
    if (transfer.response.status >= 200 && transfer.request.on_head) {
      transfer.request.on_head(transfer.response);
    }
  } else if (const size_t colon = line.find(':'); colon != absl::string_view::npos) {
    transfer.response.headers.emplace_back(
        absl::AsciiStrToLower(line.substr(0, colon)),
        std::string(absl::StripLeadingAsciiWhitespace(line.substr(colon + 1))));
  }
  return size * count;
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const absl::string_view part(data, size * count);
  if (transfer.request.on_body) {
    transfer.left = !transfer.request.on_body(part);
    return transfer.left ? 0 : part.size();
  }
  std::string& body = transfer.response.body;
  const uint64_t room = transfer.request.max_body_bytes - body.size();
  body.append(part.data(), std::min<uint64_t>(part.size(), room));
  transfer.response.truncated = part.size() > room;
  return transfer.response.truncated ? 0 : part.size();
}

curl_socket_t OpenSocket(void* user, curlsocktype, curl_sockaddr* address) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  if (transfer.public_only && !IsPublicAddress(&address->addr)) {
    transfer.refused = AddressText(&address->addr);
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

absl::Status StatusOf(CURLcode code, const Transfer& transfer) {
  if (transfer.head_too_long) {
    return absl::ResourceExhaustedError(absl::StrCat("the head of the answer is longer than ",
                                                     transfer.request.max_header_bytes, " bytes"));
  }
  if (transfer.left) return absl::CancelledError("the transfer was left");
  const std::string text =
      ForMessage(transfer.error[0] != '\0' ? transfer.error : curl_easy_strerror(code), 300);
  if (!transfer.refused.empty() && code == CURLE_COULDNT_CONNECT) {
    return absl::PermissionDeniedError(absl::StrCat("the host has the address ", transfer.refused,
                                                    ", which is not on the public internet"));
  }
  curl_off_t asked = 0;  // how long it took until the request could be sent; 0: it was not
  curl_easy_getinfo(transfer.easy, CURLINFO_PRETRANSFER_TIME_T, &asked);
  // curl's word for an answer that is no HTTP.
  if (code == CURLE_UNSUPPORTED_PROTOCOL && asked > 0) return absl::UnknownError(text);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return absl::InvalidArgumentError(text);
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(text);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::UnavailableError(text);
    default:
      return absl::UnknownError(text);
  }
}

void InitOnce() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;
}

}  // namespace

absl::string_view HttpResponse::Header(absl::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

struct HttpClient::State {
  explicit State(HttpClientOptions o) : options(std::move(o)) {
    InitOnce();
    multi = curl_multi_init();
  }
  ~State() { curl_multi_cleanup(multi); }

  void Run();
  void Begin(std::unique_ptr<Transfer> transfer);
  void Prepare(Transfer& transfer);
  void End(Transfer* transfer, absl::StatusOr<HttpResponse> outcome);
  void TakeEnded();

  const HttpClientOptions options;
  CURLM* multi;
  // Only the thread's.
  absl::flat_hash_map<uint64_t, std::unique_ptr<Transfer>> transfers;

  absl::Mutex mu;
  std::vector<std::unique_ptr<Transfer>> coming ABSL_GUARDED_BY(mu);
  std::vector<uint64_t> leaving ABSL_GUARDED_BY(mu);
  bool stopping ABSL_GUARDED_BY(mu) = false;
  uint64_t last ABSL_GUARDED_BY(mu) = 0;
  std::atomic<size_t> running{0};
  std::thread thread;
};

void HttpClient::State::Prepare(Transfer& transfer) {
  CURL* easy = transfer.easy = curl_easy_init();
  HttpRequest& request = transfer.request;
  transfer.public_only = options.public_only;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, options.plaintext ? "http,https" : "https");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // nor the one of the environment
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  if (!options.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, Milliseconds(request.timeout));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(request.connect_timeout));
  if (request.idle_timeout != absl::InfiniteDuration()) {
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                     std::max<long>(1, absl::ToInt64Seconds(request.idle_timeout)));
  }
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  const bool sends = !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
                     request.method == "PATCH";
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (sends) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (request.method != "GET" || sends) {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  for (const auto& [name, value] : request.headers) {
    // A header without a value is written so.
    const std::string line =
        value.empty() ? absl::StrCat(name, ";") : absl::StrCat(name, ": ", value);
    transfer.headers = curl_slist_append(transfer.headers, line.c_str());
  }
  // No waiting for a 100, and no type that nobody gave.
  for (const char* none : {"Expect:", "Content-Type:"}) {
    const absl::string_view name(none, std::char_traits<char>::length(none) - 1);
    const bool given = std::any_of(
        request.headers.begin(), request.headers.end(),
        [name](const auto& header) { return absl::EqualsIgnoreCase(header.first, name); });
    if (!given) transfer.headers = curl_slist_append(transfer.headers, none);
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
}

void HttpClient::State::Begin(std::unique_ptr<Transfer> transfer) {
  Transfer* const raw = transfer.get();
  transfers.emplace(raw->number, std::move(transfer));
  if (absl::Status status = CheckRequest(raw->request); !status.ok()) {
    return End(raw, std::move(status));
  }
  Prepare(*raw);
  if (curl_multi_add_handle(multi, raw->easy) != CURLM_OK) {
    End(raw, absl::InternalError("the transfer could not be begun"));
  }
}

void HttpClient::State::End(Transfer* transfer, absl::StatusOr<HttpResponse> outcome) {
  if (transfer->easy != nullptr) curl_multi_remove_handle(multi, transfer->easy);
  HttpDone done = std::move(transfer->done);
  transfers.erase(transfer->number);
  done(std::move(outcome));
  running.fetch_sub(1);
}

void HttpClient::State::TakeEnded() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* user = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
    auto* transfer = reinterpret_cast<Transfer*>(user);
    const bool fine =
        code == CURLE_OK || (code == CURLE_WRITE_ERROR && transfer->response.truncated);
    if (fine) {
      HttpResponse response = std::move(transfer->response);
      End(transfer, std::move(response));
    } else {
      End(transfer, StatusOf(code, *transfer));
    }
  }
}

void HttpClient::State::Run() {
  while (true) {
    std::vector<std::unique_ptr<Transfer>> begin;
    std::vector<uint64_t> cancel;
    bool stop = false;
    {
      absl::MutexLock lock(&mu);
      begin.swap(coming);
      cancel.swap(leaving);
      stop = stopping;
    }
    for (std::unique_ptr<Transfer>& transfer : begin) Begin(std::move(transfer));
    if (stop) {
      while (!transfers.empty()) {
        End(transfers.begin()->second.get(), absl::CancelledError("the client ends"));
      }
      return;
    }
    for (const uint64_t number : cancel) {
      const auto at = transfers.find(number);
      if (at != transfers.end()) End(at->second.get(), absl::CancelledError("cancelled"));
    }
    int active = 0;
    curl_multi_perform(multi, &active);
    TakeEnded();
    curl_multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
}

HttpClient::HttpClient(HttpClientOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  state_->thread = std::thread([state = state_.get()] { state->Run(); });
}

HttpClient::~HttpClient() {
  {
    absl::MutexLock lock(&state_->mu);
    state_->stopping = true;
  }
  curl_multi_wakeup(state_->multi);
  state_->thread.join();
}

uint64_t HttpClient::Start(HttpRequest request, HttpDone done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  state_->running.fetch_add(1);
  uint64_t number = 0;
  {
    absl::MutexLock lock(&state_->mu);
    number = transfer->number = ++state_->last;
    state_->coming.push_back(std::move(transfer));
  }
  curl_multi_wakeup(state_->multi);
  return number;
}

void HttpClient::Cancel(uint64_t number) {
  {
    absl::MutexLock lock(&state_->mu);
    state_->leaving.push_back(number);
  }
  curl_multi_wakeup(state_->multi);
}

size_t HttpClient::running() const { return state_->running.load(); }

}  // namespace toolrack
