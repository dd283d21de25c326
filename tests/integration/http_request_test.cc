// The tool http_request through a real daemon, against a server that counts who connects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "tests/integration/worker_harness.h"
#include "tests/testing/http_peer.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

v1::Config Allowing(const std::vector<std::string>& hosts) {
  v1::Config config;
  v1::HttpToolConfig& http = *config.mutable_builtin()->mutable_http();
  for (const std::string& host : hosts) http.add_allow(host);
  http.set_allow_plaintext(true);
  http.set_allow_private(true);
  for (const char* method : {"GET", "HEAD", "POST"}) http.add_methods(method);
  return config;
}

class HttpRequestTest : public testing::Test {
 protected:
  HttpRequestTest()
      : peer_([this](const PeerRequest& request, PeerConnection& connection) {
          Serve(request, connection);
        }) {}
  void Start(v1::Config config) { server_ = std::make_unique<TestServer>(std::move(config)); }
  std::string Here() const { return absl::StrCat("127.0.0.1:", peer_.port()); }

  v1::ToolResult Ask(const std::string& arguments) {
    v1::CallToolRequest request;
    request.set_name("http_request");
    request.set_arguments_json(arguments);
    v1::CallToolResponse response;
    const absl::Status status =
        FromGrpc(server_->Tools()->CallTool(NewContext().get(), request, &response));
    EXPECT_TRUE(status.ok()) << status;
    return response.result();
  }
  v1::ToolResult Get(const std::string& url) {
    return Ask(absl::StrCat("{\"url\":", JsonQuote(url), "}"));
  }

  virtual void Serve(const PeerRequest& request, PeerConnection& connection) {
    if (request.target == "/png") {
      connection.Answer(200, std::string("\x89PNG\0\xff", 6), "Content-Type: image/png\r\n");
    } else if (request.target == "/bytes") {
      connection.Answer(200, "\xff\xfe\x80", "Content-Type: application/x-thing; a=b\r\n");
    } else if (request.target == "/latin1") {
      connection.Answer(200, "caf\xe9", "Content-Type: text/plain; charset=ISO-8859-1\r\n");
    } else if (request.target == "/missing") {
      connection.Answer(404, "no such page");
    } else if (request.target == "/long") {
      std::string body;
      while (body.size() < 5000) body += "é";
      connection.Answer(200, body);
    } else if (request.target.rfind("/to?", 0) == 0) {
      connection.Answer(302, "", absl::StrCat("Location: ", request.target.substr(4), "\r\n"));
    } else if (request.target.rfind("/again?", 0) == 0) {
      connection.Answer(307, "", absl::StrCat("Location: ", request.target.substr(7), "\r\n"));
    } else if (request.target == "/loop") {
      connection.Answer(301, "", "Location: /loop\r\n");
    } else {
      const auto header = [&](const char* name) {
        const auto at = request.headers.find(name);
        return at == request.headers.end() ? std::string("-") : at->second;
      };
      connection.Answer(
          200, absl::StrCat(request.method, " ", request.body, " sent=", header("authorization"),
                            " type=", header("content-type"), " key=", header("x-api-key")));
    }
  }

  std::unique_ptr<TestServer> server_;
  HttpPeer peer_;
};

std::string Body(const v1::ToolResult& result) {
  return result.content_size() > 1 ? result.content(1).text().text() : "";
}

TEST_F(HttpRequestTest, IsThereOnlyWhenHostsAreAllowed) {
  Start({});
  v1::DescribeToolRequest request;
  request.set_name("http_request");
  v1::Tool tool;
  EXPECT_EQ(ReasonOf(FromGrpc(server_->Tools()->DescribeTool(NewContext().get(), request, &tool))),
            v1::ERROR_REASON_TOOL_NOT_FOUND);
  Start(Allowing({"api.example.com"}));
  ASSERT_TRUE(server_->Tools()->DescribeTool(NewContext().get(), request, &tool).ok());
  EXPECT_THAT(tool.description(), HasSubstr("api.example.com"));
  EXPECT_TRUE(tool.annotations().open_world());
  EXPECT_FALSE(tool.annotations().read_only());
}

TEST_F(HttpRequestTest, GivesTextPicturesBytesAndFailures) {
  Start(Allowing({Here()}));
  v1::ToolResult result = Get(peer_.Url("/x"));
  EXPECT_EQ(Body(result), "GET  sent=- type=- key=-");
  EXPECT_THAT(result.content(0).text().text(), HasSubstr("HTTP 200, content-type: text/plain"));
  result = Get(peer_.Url("/png"));
  EXPECT_EQ(result.content(1).image().mime_type(), "image/png");
  EXPECT_EQ(result.content(1).image().data().size(), 6u);
  result = Get(peer_.Url("/bytes"));
  EXPECT_EQ(result.content(1).resource().mime_type(), "application/x-thing");
  EXPECT_EQ(result.content(1).resource().blob(), "\xff\xfe\x80");
  EXPECT_EQ(Body(Get(peer_.Url("/latin1"))), "café");
  result = Get(peer_.Url("/missing"));
  EXPECT_TRUE(result.is_error());
  EXPECT_EQ(result.error().reason(), "EXECUTION_FAILED");
  EXPECT_EQ(result.error().metadata().at("status"), "404");
  EXPECT_EQ(Body(result), "no such page");
}

TEST_F(HttpRequestTest, SendsBodiesAndHeaders) {
  Start(Allowing({Here()}));
  EXPECT_EQ(Body(Ask(absl::StrCat(R"({"url":")", peer_.Url("/x"),
                                  R"(","method":"POST","body":"hé","headers":{"Content-Type":)"
                                  R"("text/x","X-Api-Key":"k"}})"))),
            "POST hé sent=- type=text/x key=k");
  EXPECT_EQ(Body(Ask(absl::StrCat(R"({"url":")", peer_.Url("/x"),
                                  R"(","method":"POST","body_base64":"YWJj"})"))),
            "POST abc sent=- type=- key=-");
  for (const char* bad :
       {R"("method":"DELETE")", R"("method":"get")", R"("headers":{"Host":"evil"})",
        R"("headers":{"Transfer-Encoding":"chunked"})", R"("headers":{"Proxy-Authorization":"x"})",
        R"("headers":{"A":"x\r\nB: y"})", R"("body":"a","body_base64":"YQ==")",
        R"("body_base64":"%%")"}) {
    const size_t before = peer_.requests().size();
    const v1::ToolResult result =
        Ask(absl::StrCat(R"({"url":")", peer_.Url("/x"), "\",", bad, "}"));
    EXPECT_TRUE(result.is_error()) << bad;
    EXPECT_EQ(result.error().reason(), "TOOL_INVALID_ARGUMENT") << bad;
    EXPECT_EQ(peer_.requests().size(), before) << bad;
  }
}

TEST_F(HttpRequestTest, CutsLongAnswersAtACharacter) {
  v1::Config config = Allowing({Here()});
  config.mutable_builtin()->mutable_http()->set_max_response_bytes(1025);
  Start(config);
  const v1::ToolResult result = Get(peer_.Url("/long"));
  EXPECT_EQ(Body(result).size(), 1024u);
  EXPECT_THAT(result.content(0).text().text(), HasSubstr("cut"));
}

// The canary: nobody connects to what is not allowed, whatever the URL looks like.
TEST_F(HttpRequestTest, HostsThatAreNotListedAreNotAsked) {
  Start(Allowing({"api.example.com", "*.example.org:8080", "127.0.0.1:1"}));
  for (const std::string& url :
       {peer_.Url(), absl::StrCat("http://localhost:", peer_.port(), "/"),
        absl::StrCat("http://0x7f.1:", peer_.port(), "/"),
        absl::StrCat("http://api.example.com@127.0.0.1:", peer_.port(), "/"),
        absl::StrCat("http://127.0.0.1:", peer_.port(), "#api.example.com"),
        absl::StrCat("http://127.0.0.1:", peer_.port(), "\\@api.example.com/"),
        absl::StrCat("http://[::ffff:127.0.0.1]:", peer_.port(), "/"),
        std::string("file:///etc/passwd"), std::string("")}) {
    const v1::ToolResult result = Get(url);
    EXPECT_TRUE(result.is_error()) << url;
    EXPECT_EQ(result.error().reason(), "TOOL_INVALID_ARGUMENT") << url;
  }
  EXPECT_EQ(peer_.connections(), 0);
}

TEST_F(HttpRequestTest, AddressesThatAreNotPublicAreNotAskedUnlessToldSo) {
  v1::Config config = Allowing({Here(), absl::StrCat("localhost:", peer_.port())});
  config.mutable_builtin()->mutable_http()->set_allow_private(false);
  Start(config);
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    const v1::ToolResult result = Get(absl::StrCat("http://", host, ":", peer_.port(), "/"));
    EXPECT_TRUE(result.is_error());
    EXPECT_THAT(result.content(0).text().text(), HasSubstr("not on the public internet"));
  }
  EXPECT_EQ(peer_.connections(), 0);
}

TEST_F(HttpRequestTest, FollowsRedirectsByTheSameRules) {
  HttpPeer other([](const PeerRequest& request, PeerConnection& connection) {
    const auto at = request.headers.find("authorization");
    connection.Answer(200,
                      absl::StrCat("other sent=", at == request.headers.end() ? "-" : at->second,
                                   " accept=", request.headers.at("accept")));
  });
  HttpPeer canary([](const PeerRequest&, PeerConnection& connection) { connection.Answer(200); });
  Start(Allowing({Here(), absl::StrCat("127.0.0.1:", other.port())}));
  const auto with_secret = [&](const std::string& target, const std::string& more = "") {
    return Ask(absl::StrCat(R"({"url":")", peer_.Url(target),
                            R"(","headers":{"Authorization":"s3","Accept":"a/b"})", more, "}"));
  };
  EXPECT_EQ(Body(with_secret("/to?/x")), "GET  sent=s3 type=- key=-");
  EXPECT_EQ(Body(with_secret("/to?" + other.Url("/y"))), "other sent=- accept=a/b");
  const std::string post = R"(,"method":"POST","body":"b")";
  EXPECT_EQ(Body(with_secret("/to?/x", post)), "GET  sent=s3 type=- key=-");
  EXPECT_EQ(Body(with_secret("/again?/x", post)), "POST b sent=s3 type=- key=-");
  // Not allowed, no end: the redirect itself is the answer.
  EXPECT_THAT(with_secret("/to?" + canary.Url()).content(0).text().text(), HasSubstr("HTTP 302"));
  EXPECT_THAT(with_secret("/to?file:///etc/passwd").content(0).text().text(),
              HasSubstr("HTTP 302"));
  EXPECT_EQ(canary.connections(), 0);
  const size_t before = peer_.requests().size();
  EXPECT_THAT(with_secret("/loop").content(0).text().text(), HasSubstr("HTTP 301"));
  EXPECT_EQ(peer_.requests().size(), before + 6);
}

TEST(HttpRequestStopTest, ACallerThatLeavesEndsTheTransfer) {
  absl::Notification asked, closed;
  HttpPeer peer([&](const PeerRequest&, PeerConnection& connection) {
    asked.Notify();
    connection.WaitForClose();
    closed.Notify();
  });
  TestServer server(Allowing({absl::StrCat("127.0.0.1:", peer.port())}));
  SideCall call(server, "http_request", absl::StrCat("{\"url\":\"", peer.Url(), "\"}"));
  ASSERT_TRUE(asked.WaitForNotificationWithTimeout(kHung));
  call.Cancel();
  EXPECT_TRUE(closed.WaitForNotificationWithTimeout(kHung));
  EXPECT_EQ(call.Status().code(), absl::StatusCode::kCancelled);
}

TEST(HttpRequestStopTest, AServerThatDoesNotAnswerIsGivenUp) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) { connection.WaitForClose(); });
  v1::Config config = Allowing({absl::StrCat("127.0.0.1:", peer.port())});
  config.mutable_builtin()->mutable_http()->mutable_timeout()->set_nanos(50'000'000);
  TestServer server(config);
  SideCall call(server, "http_request", absl::StrCat("{\"url\":\"", peer.Url(), "\"}"));
  EXPECT_THAT(call.Text(), HasSubstr("did not answer within 50ms"));
  EXPECT_TRUE(call.response().result().is_error());
}

}  // namespace
}  // namespace toolrack
