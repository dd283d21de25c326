#include "server/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "tests/testing/http_peer.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

HttpClientOptions Local() {
  HttpClientOptions options;
  options.public_only = false;
  options.plaintext = true;
  return options;
}

HttpRequest Get(const std::string& url) {
  HttpRequest request;
  request.url = url;
  return request;
}

// Starts it and waits.
absl::StatusOr<HttpResponse> Ask(HttpClient& client, HttpRequest request) {
  absl::Notification ended;
  absl::StatusOr<HttpResponse> out = absl::UnknownError("hung");
  client.Start(std::move(request), [&](absl::StatusOr<HttpResponse> response) {
    out = std::move(response);
    ended.Notify();
  });
  EXPECT_TRUE(ended.WaitForNotificationWithTimeout(kHung));
  return out;
}

// Echoes what came.
void Echo(const PeerRequest& request, PeerConnection& connection) {
  std::string headers;
  for (const auto& [name, value] : request.headers)
    absl::StrAppend(&headers, name, "=", value, "\n");
  connection.Answer(
      200, absl::StrCat(request.method, " ", request.target, "\n", headers, "\n", request.body),
      "X-One: 1\r\nx-two:  2 \r\n");
}

TEST(HttpClientTest, AsksAndGetsStatusHeadersAndBody) {
  HttpPeer peer(Echo);
  HttpClient client(Local());
  HttpRequest request = Get(peer.Url("/a?b"));
  request.headers = {{"X-Mine", "yes"}, {"X-Empty", ""}};
  const absl::StatusOr<HttpResponse> response = Ask(client, request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->Header("x-one"), "1");
  EXPECT_EQ(response->Header("x-two"), "2");
  EXPECT_EQ(response->Header("none"), "");
  EXPECT_THAT(response->body, HasSubstr("GET /a?b\n"));
  EXPECT_THAT(response->body, HasSubstr("x-mine=yes\n"));
  EXPECT_THAT(response->body, HasSubstr("x-empty=\n"));
  EXPECT_THAT(response->body, HasSubstr("user-agent=toolrack\n"));
  EXPECT_FALSE(response->truncated);
}

TEST(HttpClientTest, SendsBodiesOfEveryMethod) {
  HttpPeer peer(Echo);
  HttpClient client(Local());
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE"}) {
    HttpRequest request = Get(peer.Url());
    request.method = method;
    request.body = std::string("a\0b", 3);
    const absl::StatusOr<HttpResponse> response = Ask(client, request);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_TRUE(absl::StartsWith(response->body, method + " /\n")) << response->body;
    EXPECT_THAT(response->body, HasSubstr("content-length=3\n"));
    EXPECT_THAT(response->body, HasSubstr(std::string("\na\0b", 4)));
    EXPECT_EQ(response->body.find("expect="), std::string::npos);
    EXPECT_EQ(response->body.find("content-type="), std::string::npos);
  }
  HttpRequest head = Get(peer.Url());
  head.method = "HEAD";
  HttpRequest empty = Get(peer.Url());
  empty.method = "POST";
  EXPECT_THAT(Ask(client, empty)->body, HasSubstr("content-length=0\n"));
  EXPECT_EQ(Ask(client, head)->body, "");
}

TEST(HttpClientTest, KeepsConnectionsAndFollowsNothing) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) {
    connection.Answer(302, "", "Location: /elsewhere\r\n");
  });
  HttpClient client(Local());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(client, Get(peer.Url()))->status, 302);
  EXPECT_EQ(peer.connections(), 1);
  EXPECT_EQ(peer.requests().size(), 3u);
}

TEST(HttpClientTest, NoAddressThatIsNotPublicIsEverConnected) {
  HttpPeer peer(Echo);
  HttpClientOptions options;
  options.plaintext = true;
  HttpClient client(options);
  // A name is checked by what it resolves to.
  for (const std::string& host :
       {std::string("127.0.0.1"), std::string("localhost"), std::string("0x7f.1"),
        std::string("0.0.0.0"), std::string("[::1]"), std::string("[::ffff:127.0.0.1]")}) {
    const absl::StatusOr<HttpResponse> response =
        Ask(client, Get(absl::StrCat("http://", host, ":", peer.port(), "/")));
    EXPECT_EQ(response.status().code(), absl::StatusCode::kPermissionDenied)
        << host << ": " << response.status();
  }
  EXPECT_EQ(peer.connections(), 0);
}

TEST(HttpClientTest, OtherProtocolsAreRefused) {
  HttpClient secure({/*public_only=*/false, /*plaintext=*/false, "t", ""});
  HttpPeer peer(Echo);
  EXPECT_EQ(Ask(secure, Get(peer.Url())).status().code(), absl::StatusCode::kInvalidArgument);
  HttpClient client(Local());
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/", "", "no url at all"}) {
    EXPECT_EQ(Ask(client, Get(url)).status().code(), absl::StatusCode::kInvalidArgument) << url;
  }
}

TEST(HttpClientTest, NothingCanBeSmuggledIntoTheHead) {
  HttpPeer peer(Echo);
  HttpClient client(Local());
  for (const HttpHeaders& headers : std::vector<HttpHeaders>{{{"a", "x\r\nHost: evil"}},
                                                             {{"a\r\nb", "x"}},
                                                             {{"a", std::string("x\0y", 3)}},
                                                             {{"", "x"}},
                                                             {{"a b", "x"}},
                                                             {{"a:", "x"}}}) {
    HttpRequest request = Get(peer.Url());
    request.headers = headers;
    EXPECT_EQ(Ask(client, request).status().code(), absl::StatusCode::kInvalidArgument);
  }
  HttpRequest request = Get(peer.Url());
  request.method = "GET / HTTP/1.1\r\nX: y";
  EXPECT_EQ(Ask(client, request).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(peer.requests().size(), 0u);
}

TEST(HttpClientTest, BodiesAndHeadsHaveTheirBounds) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/head") {
      connection.Answer(200, "", "X: " + std::string(70000, 'x') + "\r\n");
      return;
    }
    // Without a length, and without an end.
    connection.Write("HTTP/1.1 200 OK\r\n\r\n");
    while (connection.Write(std::string(10000, 'b'))) {
    }
    connection.Close();
  });
  HttpClient client(Local());
  HttpRequest request = Get(peer.Url());
  request.max_body_bytes = 25000;
  const absl::StatusOr<HttpResponse> response = Ask(client, request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_TRUE(response->truncated);
  EXPECT_EQ(response->body, std::string(25000, 'b'));
  EXPECT_EQ(Ask(client, Get(peer.Url("/head"))).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(HttpClientTest, SaysHowAServerFails) {
  HttpPeer peer([](const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/cut") {
      connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    } else if (request.target == "/garbage") {
      connection.Write("\x01\x02 what?\r\n\r\n");
    } else if (request.target == "/silent") {
      connection.WaitForClose();
    }
    connection.Close();
  });
  HttpClient client(Local());
  EXPECT_EQ(Ask(client, Get(peer.Url("/cut"))).status().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(Ask(client, Get(peer.Url("/garbage"))).status().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(Ask(client, Get(peer.Url("/close"))).status().code(), absl::StatusCode::kUnknown);
  HttpRequest silent = Get(peer.Url("/silent"));
  silent.timeout = absl::Milliseconds(50);
  EXPECT_EQ(Ask(client, silent).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Ask(client, Get("http://nobody.invalid/")).status().code(),
            absl::StatusCode::kUnavailable);
  uint16_t gone;
  { gone = HttpPeer(Echo).port(); }
  EXPECT_EQ(Ask(client, Get(absl::StrCat("http://127.0.0.1:", gone, "/"))).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(HttpClientTest, GivesABodyAsItComes) {
  absl::Notification first_part;
  HttpPeer peer([&](const PeerRequest&, PeerConnection& connection) {
    connection.Write("HTTP/1.1 103 Early Hints\r\nX: no\r\n\r\n");
    connection.Write(
        "HTTP/1.1 200 OK\r\nX: yes\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n");
    first_part.WaitForNotification();  // the rest only once it is there
    connection.Write("3\r\ntwo\r\n0\r\n\r\n");
  });
  HttpClient client(Local());
  HttpRequest request = Get(peer.Url());
  std::string heard;
  std::vector<std::string> heads;
  request.on_head = [&](const HttpResponse& head) {
    heads.push_back(absl::StrCat(head.status, head.Header("x")));
  };
  request.on_body = [&](absl::string_view part) {
    heard.append(part.data(), part.size());
    if (!first_part.HasBeenNotified()) first_part.Notify();
    return true;
  };
  const absl::StatusOr<HttpResponse> response = Ask(client, request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(heard, "one two");
  EXPECT_EQ(response->body, "");
  EXPECT_THAT(heads, testing::ElementsAre("200yes"));
  request.on_body = [](absl::string_view) { return false; };
  EXPECT_EQ(Ask(client, request).status().code(), absl::StatusCode::kCancelled);
}

TEST(HttpClientTest, CancellingEndsItOnBothSides) {
  absl::Notification asked, left;
  HttpPeer peer([&](const PeerRequest&, PeerConnection& connection) {
    asked.Notify();
    connection.WaitForClose();
    left.Notify();
  });
  HttpClient client(Local());
  absl::Notification ended;
  absl::Status status;
  const uint64_t number = client.Start(Get(peer.Url()), [&](absl::StatusOr<HttpResponse> response) {
    status = response.status();
    ended.Notify();
  });
  asked.WaitForNotification();
  EXPECT_EQ(client.running(), 1u);
  client.Cancel(number);
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(kHung));
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(left.WaitForNotificationWithTimeout(kHung));
  client.Cancel(number);  // over: nothing happens
  client.Cancel(12345);
}

TEST(HttpClientTest, ManyRunAtOnceOnOneThread) {
  constexpr int kMany = 100;
  absl::Mutex mu;
  int asked = 0;
  HttpPeer peer([&](const PeerRequest& request, PeerConnection& connection) {
    {
      absl::MutexLock lock(&mu);
      ++asked;
      const auto all = [&] { return asked == kMany; };
      mu.Await(absl::Condition(&all));  // only when all are there
    }
    connection.Answer(200, request.target);
  });
  HttpClient client(Local());
  absl::BlockingCounter ended(kMany);
  std::atomic<int> good{0};
  for (int i = 0; i < kMany; ++i) {
    const std::string target = absl::StrCat("/", i);
    client.Start(Get(peer.Url(target)), [&, target](absl::StatusOr<HttpResponse> response) {
      if (response.ok() && response->body == target) ++good;
      ended.DecrementCount();
    });
  }
  ended.Wait();
  EXPECT_EQ(good, kMany);
}

TEST(HttpClientTest, ItsEndEndsWhatIsRunning) {
  absl::Notification asked;
  HttpPeer peer([&](const PeerRequest&, PeerConnection& connection) {
    asked.Notify();
    connection.WaitForClose();
  });
  absl::Status status;
  {
    HttpClient client(Local());
    client.Start(Get(peer.Url()),
                 [&](absl::StatusOr<HttpResponse> response) { status = response.status(); });
    asked.WaitForNotification();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace toolrack
