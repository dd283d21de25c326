// DispatchStream through real stubs: output as it comes.
#include <gmock/gmock.h>

#include <future>
#include <random>

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"
#include "tests/integration/dispatch_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTwoCalls[] =
    "Let me söe…<function_calls>\n<invoke name=\"echo\">\n<parameter "
    "name=\"text\">grüße</parameter>\n</invoke>\n<invoke name=\"nobody\">\n</invoke>\n"
    "</function_calls>";

class DispatchStreamTest : public DispatchTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::DispatchStreamRequest, v1::DispatchStreamResponse>;

  static v1::DispatchStreamRequest First(const std::string& session, const std::string& text,
                                         const std::string& turn = "") {
    v1::DispatchStreamRequest request;
    request.set_session_id(session);
    request.set_turn_id(turn);
    request.set_text(text);
    return request;
  }
  static v1::DispatchStreamRequest More(const std::string& text) {
    v1::DispatchStreamRequest request;
    request.set_text(text);
    return request;
  }
  // The whole exchange, cut where `cuts` says; the events without the last one, which is returned.
  absl::StatusOr<v1::DispatchResponse> Run(const std::string& session, const std::string& text,
                                           const std::vector<size_t>& cuts,
                                           std::vector<v1::DispatchStreamResponse>& events) {
    const auto context = NewContext();
    const auto stream = stub_->DispatchStream(context.get());
    size_t from = 0;
    EXPECT_TRUE(
        stream->Write(First(session, text.substr(0, cuts.empty() ? text.size() : cuts[0]))));
    for (size_t i = 0; i < cuts.size(); ++i) {
      from = cuts[i];
      const size_t to = i + 1 < cuts.size() ? cuts[i + 1] : text.size();
      EXPECT_TRUE(stream->Write(More(text.substr(from, to - from))));
    }
    stream->WritesDone();
    v1::DispatchStreamResponse event;
    v1::DispatchResponse last;
    while (stream->Read(&event)) {
      if (event.has_response()) {
        last = event.response();
      } else {
        events.push_back(event);
      }
    }
    const absl::Status status = FromGrpc(stream->Finish());
    if (!status.ok()) return status;
    return last;
  }
  // Without what differs from call to call.
  static std::string Plain(v1::DispatchResponse response) {
    response.clear_retry();
    return response.DebugString();
  }
};

TEST_F(DispatchStreamTest, AnySplitGivesWhatDispatchGives) {
  const std::string session = Open("claude");
  const std::string text = kTwoCalls;
  const std::string whole = Plain(Dispatch(Text(session, text)));
  EXPECT_THAT(whole, HasSubstr("TOOL_NOT_FOUND"));
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<size_t> cuts;
    for (size_t at = 1; at < text.size(); ++at) {
      if (random() % (1 + round % 12) == 0) cuts.push_back(at);
    }
    std::vector<v1::DispatchStreamResponse> events;
    const auto response = Run(session, text, cuts, events);
    ASSERT_TRUE(response.ok()) << response.status();
    ASSERT_EQ(Plain(*response), whole);
    std::string said;
    for (const v1::DispatchStreamResponse& event : events) {
      EXPECT_TRUE(IsUtf8(event.text()));
      EXPECT_TRUE(IsUtf8(event.arguments_delta()));
      said += event.text();
    }
    EXPECT_EQ(said, response->text());
  }
}

TEST_F(DispatchStreamTest, ACallStartsAsSoonAsItIsWhole) {
  const std::string session = Open("claude");
  TestTools tools(server_->registry(), "slow");
  const auto held = tools.AddHeld("one");
  const auto context = NewContext();
  const auto stream = stub_->DispatchStream(context.get());
  ASSERT_TRUE(
      stream->Write(First(session, "<function_calls>\n<invoke name=\"slow__one\">\n</invoke>\n")));
  // The output is not over, the call runs.
  ASSERT_TRUE(held->WaitFor(1));
  v1::Progress progress;
  progress.set_progress(1);
  held->front().reporter->OnProgress(progress);
  v1::DispatchStreamResponse event;
  std::string call_id;
  while (!event.has_progress()) {
    ASSERT_TRUE(stream->Read(&event));
    if (event.has_call_begin()) call_id = event.call_begin().call_id();
  }
  EXPECT_EQ(event.progress().call_id(), call_id);
  held->Answer("done");
  while (!event.has_outcome()) ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.outcome().call().call_id(), call_id);
  ASSERT_TRUE(stream->Write(More("</function_calls>")));
  stream->WritesDone();
  while (!event.has_response()) ASSERT_TRUE(stream->Read(&event));
  EXPECT_THAT(Outcomes(event.response()), ElementsAre("ok:done"));
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(DispatchStreamTest, LeavingStopsTheCalls) {
  const std::string session = Open("claude");
  TestTools tools(server_->registry(), "slow");
  const auto held = tools.AddHeld("one");
  const auto context = NewContext();
  const auto stream = stub_->DispatchStream(context.get());
  ASSERT_TRUE(
      stream->Write(First(session, "<function_calls>\n<invoke name=\"slow__one\">\n</invoke>\n")));
  ASSERT_TRUE(held->WaitFor(1));
  context->TryCancel();
  EXPECT_EQ(held->WaitForStop(), StopReason::kCaller);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(DispatchStreamTest, TheDaemonEndsStreamsThatWait) {
  const auto context = NewContext();
  const auto stream = stub_->DispatchStream(context.get());
  ASSERT_TRUE(stream->Write(First(Open("claude"), "Hm")));
  v1::DispatchStreamResponse event;
  ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.text(), "Hm");
  server_.Stop();
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(DispatchStreamTest, WhatIsWrongIsSaid) {
  std::vector<v1::DispatchStreamResponse> events;
  EXPECT_EQ(ReasonOf(Run("none", "Hi", {}, events).status()), v1::ERROR_REASON_SESSION_NOT_FOUND);
  const auto context = NewContext();
  const auto stream = stub_->DispatchStream(context.get());
  stream->WritesDone();
  v1::DispatchStreamResponse event;
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_EQ(ReasonOf(FromGrpc(stream->Finish())), v1::ERROR_REASON_REQUEST_INVALID);
}

TEST_F(DispatchStreamTest, AnAnswerIsDone) {
  std::vector<v1::DispatchStreamResponse> events;
  const auto response =
      Run(Open("harmony"), "<|channel|>final<|message|>42.<|return|>", {9}, events);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_TRUE(response->done());
  EXPECT_EQ(response->text(), "42.");
}

// Nobody reads: the writer is held up, and nothing piles up; once read, all is there.
TEST_F(DispatchStreamTest, ASlowReaderGetsEverything) {
  const std::string session = Open("claude");
  const auto context = NewContext();
  const auto stream = stub_->DispatchStream(context.get());
  const std::string piece(64 << 10, 'x');
  constexpr int kPieces = 48;
  auto writer = std::async(std::launch::async, [&] {
    if (!stream->Write(First(session, ""))) return false;
    for (int i = 0; i < kPieces; ++i) {
      if (!stream->Write(More(piece))) return false;
    }
    return stream->WritesDone();
  });
  size_t bytes = 0;
  v1::DispatchStreamResponse event;
  v1::DispatchResponse last;
  while (stream->Read(&event)) {
    bytes += event.text().size();
    if (event.has_response()) last = event.response();
  }
  EXPECT_TRUE(writer.get());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(bytes, kPieces * piece.size());
  EXPECT_EQ(last.text().size(), bytes);
}

}  // namespace
}  // namespace toolrack
