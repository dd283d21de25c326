// Clients that break the rules: they are turned off, everybody else is served as before.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "tests/testing/raw_socket.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

class AbuseTest : public testing::Test {
 protected:
  static v1::Config Config() {
    v1::Config config;
    config.mutable_limits()->mutable_handshake_timeout()->set_nanos(200000000);
    config.mutable_limits()->set_max_connections(20);
    return config;
  }
  std::string AgentPath() const { return server_.runtime_dir() + "/agent.sock"; }
  void ExpectServed() {
    v1::ListToolsResponse list;
    auto context = NewContext();
    context->set_wait_for_ready(true);
    const grpc::Status status = server_.Tools()->ListTools(context.get(), {}, &list);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  TestServer server_{Config()};
};

TEST_F(AbuseTest, ClosesWhatDoesNotSpeakHttp2) {
  for (const char* text : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02", "x"}) {
    RawSocket socket = RawSocket::Unix(AgentPath());
    ASSERT_TRUE(socket.connected());
    socket.Send(text);
    EXPECT_TRUE(socket.WaitUntilClosed());
    EXPECT_EQ(socket.received(), "");
  }
  RawSocket tcp = RawSocket::Tcp(server_.Address("tcp"));
  tcp.Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(tcp.WaitUntilClosed());
  EXPECT_EQ(server_->listeners()[0].refused_connections(), 3u);
  EXPECT_EQ(server_->listeners()[3].refused_connections(), 1u);
  ExpectServed();
}

TEST_F(AbuseTest, ClosesWhoSaysNothingOrOnlyHalfOfIt) {
  RawSocket silent = RawSocket::Unix(AgentPath());
  RawSocket half = RawSocket::Unix(AgentPath());
  half.Send("PRI * HTTP/2.0\r\n");
  EXPECT_TRUE(silent.WaitUntilClosed());
  EXPECT_TRUE(half.WaitUntilClosed());
  ExpectServed();
}

TEST_F(AbuseTest, TakesAPrefaceInPieces) {
  RawSocket slow = RawSocket::Unix(AgentPath());
  for (char c : kHttp2Preface) ASSERT_TRUE(slow.Send(absl::string_view(&c, 1)));
  // The server's own SETTINGS frame comes.
  EXPECT_FALSE(slow.ClosedSoon());
  while (slow.received().empty()) ASSERT_FALSE(slow.ClosedSoon());
  EXPECT_EQ(slow.received()[3], 4);
}

TEST_F(AbuseTest, BoundsTheConnectionsOfASocket) {
  {
    std::vector<RawSocket> sockets;
    int closed = 0;
    for (int i = 0; i < 40; ++i) {
      sockets.push_back(RawSocket::Unix(AgentPath()));
      sockets.back().Send(kHttp2Preface);
      while (!(closed += sockets.back().ClosedSoon() ? 1 : 0) &&
             sockets.back().received().empty()) {
      }
    }
    EXPECT_EQ(server_->listeners()[0].connections(), 20u);
    EXPECT_EQ(server_->listeners()[0].refused_connections(), 20u);
    // Other sockets have their own bound.
    v1::GetStatusResponse status;
    EXPECT_TRUE(server_.Admin()->GetStatus(NewContext().get(), {}, &status).ok());
  }
  ExpectServed();
}

TEST_F(AbuseTest, SurvivesRandomBytesAfterThePreface) {
  std::mt19937 random(20240229);
  for (int round = 0; round < 200; ++round) {
    RawSocket socket = RawSocket::Unix(AgentPath());
    if (!socket.connected()) continue;
    std::string bytes = kHttp2Preface;
    const int frames = static_cast<int>(random() % 8);
    for (int i = 0; i < frames; ++i) {
      std::string payload(random() % 64, '\0');
      for (char& c : payload) c = static_cast<char>(random());
      bytes += Http2Frame(static_cast<uint8_t>(random() % 12), static_cast<uint8_t>(random()),
                          random() % 4, payload);
    }
    const std::string tail(random() % 16, static_cast<char>(random()));
    socket.Send(bytes + tail);
  }
  ExpectServed();
}

// A unary request by hand: HEADERS with literal fields, then one DATA frame.
std::string RequestByHand(const std::string& path, const std::string& message) {
  std::string headers;
  const auto add = [&headers](const std::string& name, const std::string& value) {
    headers.push_back(0);
    headers.push_back(static_cast<char>(name.size()));
    headers += name;
    headers.push_back(static_cast<char>(value.size()));
    headers += value;
  };
  add(":method", "POST");
  add(":scheme", "http");
  add(":path", path);
  add(":authority", "x");
  add("te", "trailers");
  add("content-type", "application/grpc");
  std::string data(1, '\0');
  for (int shift : {24, 16, 8, 0}) {
    data.push_back(static_cast<char>(static_cast<uint32_t>(message.size()) >> shift));
  }
  return Http2Frame(1, 4, 1, headers) + Http2Frame(0, 1, 1, data + message);
}

TEST_F(AbuseTest, SurvivesMessagesThatAreNoProtobuf) {
  std::mt19937 random(7);
  for (const char* method : {"CallTool", "ListTools", "SearchTools", "CallToolStream", "WatchTools",
                             "ExplainCall", "ReadResult", "DescribeTool"}) {
    for (int round = 0; round < 10; ++round) {
      std::string message(random() % 100, '\0');
      for (char& c : message) c = static_cast<char>(random());
      RawSocket socket = RawSocket::Unix(AgentPath());
      socket.Send(kHttp2Preface +
                  RequestByHand(absl::StrCat("/toolrack.v1.ToolService/", method), message));
      // Wait for the answer, so that the connections do not pile up.
      while (!socket.ClosedSoon() && socket.received().size() < 40) {
      }
    }
  }
  ExpectServed();
}

TEST_F(AbuseTest, SurvivesStreamsThatAreResetAtOnce) {
  RawSocket socket = RawSocket::Unix(AgentPath());
  ASSERT_TRUE(socket.Send(kHttp2Preface));
  std::string request = RequestByHand("/toolrack.v1.ToolService/ListTools", "");
  for (uint32_t stream = 1; stream < 4000; stream += 2) {
    std::string one = request;
    for (size_t at = 0; at + 9 <= one.size();) {
      for (int i = 0; i < 4; ++i) one[at + 5 + i] = static_cast<char>(stream >> (24 - 8 * i));
      at += 9 + (static_cast<uint8_t>(one[at]) << 16 | static_cast<uint8_t>(one[at + 1]) << 8 |
                 static_cast<uint8_t>(one[at + 2]));
    }
    if (!socket.Send(one + Http2Frame(3, 0, stream, std::string("\0\0\0\x08", 4)))) break;
  }
  ExpectServed();
}

TEST_F(AbuseTest, RefusesTextThatIsNotUtf8WithoutHarm) {
  v1::CallToolRequest request;
  request.set_name("echo");
  request.set_arguments_json("\xff\xfe{}");
  v1::CallToolResponse response;
  EXPECT_FALSE(server_.Tools()->CallTool(NewContext().get(), request, &response).ok());
  ExpectServed();
}

}  // namespace
}  // namespace toolrack
