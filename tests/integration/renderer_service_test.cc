// RendererService through real stubs.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "tests/testing/server_fixture.h"
#include "toolrack/v1/renderer_service.grpc.pb.h"

namespace toolrack {
namespace {

class RendererServiceTest : public testing::Test {
 protected:
  absl::StatusOr<v1::RenderInitialResponse> Render(const v1::RenderInitialRequest& request) {
    v1::RenderInitialResponse response;
    const absl::Status status =
        FromGrpc(stub_->RenderInitial(NewContext().get(), request, &response));
    if (!status.ok()) return status;
    return response;
  }
  v1::RenderInitialRequest Of(const std::string& renderer) {
    v1::RenderInitialRequest request;
    request.set_renderer(renderer);
    return request;
  }

  TestServer server_;
  std::unique_ptr<v1::RendererService::Stub> stub_ =
      v1::RendererService::NewStub(server_.Channel("agent"));
};

TEST_F(RendererServiceTest, ListsAndResolves) {
  v1::ListRenderersResponse list;
  ASSERT_TRUE(stub_->ListRenderers(NewContext().get(), {}, &list).ok());
  EXPECT_EQ(list.renderers_size(), 4 * (6 + 55));  // closed and open families
  v1::ResolveRendererRequest request;
  request.set_model("gpt-oss-120b");
  v1::ResolveRendererResponse found;
  ASSERT_TRUE(stub_->ResolveRenderer(NewContext().get(), request, &found).ok());
  EXPECT_EQ(found.renderers(0).name(), "harmony_upfront");
}

TEST_F(RendererServiceTest, RendersTheRegistryTheSameEachTime) {
  const auto first = Render(Of("harmony_upfront"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(absl::StrContains(first->fragments(1).text(), "type calculator = (_: {"));
  EXPECT_EQ(first->shown_size(), 5);
  EXPECT_EQ(first->epoch(), server_->registry().epoch());
  EXPECT_EQ(Render(Of("harmony_upfront"))->SerializeAsString(), first->SerializeAsString());
}

TEST_F(RendererServiceTest, ADisabledToolLeavesTheNextPromptAtOnce) {
  ASSERT_EQ(Render(Of("claude"))->shown_size(), 5);
  v1::SetToolEnabledRequest request;
  request.set_name("echo");
  request.set_enabled(false);
  v1::SetToolEnabledResponse response;
  ASSERT_TRUE(server_.Admin()->SetToolEnabled(NewContext().get(), request, &response).ok());
  EXPECT_EQ(Render(Of("claude"))->shown_size(), 4);
  request.set_enabled(true);
  ASSERT_TRUE(server_.Admin()->SetToolEnabled(NewContext().get(), request, &response).ok());
  EXPECT_EQ(Render(Of("claude"))->shown_size(), 5);
}

TEST_F(RendererServiceTest, FiltersAndMedium) {
  v1::RenderInitialRequest request = Of("claude_deferred");
  request.mutable_filters()->add_names("echo");
  request.mutable_options()->set_medium(v1::RENDER_MEDIUM_JSON);
  const auto rendered = Render(request);
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_TRUE(absl::StrContains(rendered->fragments(0).json(), "\"input_schema\""));
  EXPECT_EQ(rendered->shown_size(), 1);
}

TEST_F(RendererServiceTest, WhatIsWrongIsSaidBeforeAnythingIsDone) {
  EXPECT_EQ(ReasonOf(Render(Of("")).status()), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(ReasonOf(Render(Of("nobody")).status()), v1::ERROR_REASON_REQUEST_INVALID);
  v1::RenderInitialRequest request;
  request.set_session_id("no-such-session");
  EXPECT_EQ(ReasonOf(Render(request).status()), v1::ERROR_REASON_SESSION_NOT_FOUND);
  request = Of("harmony");
  request.mutable_options()->set_medium(v1::RENDER_MEDIUM_JSON);
  EXPECT_EQ(MetadataOf(Render(request).status())["field"], "options.medium");
  request = Of("harmony");
  request.mutable_options()->set_variant("pascal");
  EXPECT_EQ(MetadataOf(Render(request).status())["field"], "options.variant");
}

TEST_F(RendererServiceTest, ParsesTextAndProviderJson) {
  v1::ParseOutputRequest request;
  request.set_renderer("harmony");
  request.set_text(
      "<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{\"text\": "
      "\"a\"}<|call|>");
  v1::ParseOutputResponse response;
  ASSERT_TRUE(stub_->ParseOutput(NewContext().get(), request, &response).ok());
  ASSERT_EQ(response.events_size(), 1);
  EXPECT_EQ(response.events(0).call().name(), "echo");
  EXPECT_EQ(response.events(0).call().arguments_json(), "{\"text\": \"a\"}");
  request.set_renderer("claude_deferred");
  request.set_provider_json(R"([{"type":"tool_use","id":"toolu_1","name":"echo","input":{}}])");
  ASSERT_TRUE(stub_->ParseOutput(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.events(0).call().call_id(), "toolu_1");
}

TEST_F(RendererServiceTest, ParsesAStreamInPieces) {
  const auto context = NewContext();
  const auto stream = stub_->ParseOutputStream(context.get());
  const std::string text =
      "<|channel|>analysis<|message|>Hm\xC3\xA9<|end|><|start|>assistant "
      "to=functions.echo<|channel|>"
      "commentary<|message|>{\"text\": \"a\"}<|call|>";
  for (size_t at = 0; at < text.size(); at += 7) {
    v1::ParseOutputStreamRequest piece;
    if (at == 0) piece.set_renderer("harmony");
    piece.set_text(text.substr(at, 7));
    ASSERT_TRUE(stream->Write(piece));
  }
  stream->WritesDone();
  std::string reasoning, arguments, name;
  bool complete = false;
  v1::ParseOutputStreamResponse event;
  while (stream->Read(&event)) {
    reasoning += event.reasoning();
    arguments += event.arguments_delta();
    if (event.has_call_begin()) name = event.call_begin().name();
    if (event.has_call_end()) complete = event.call_end().complete();
  }
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_EQ(reasoning, "Hmé");
  EXPECT_EQ(name, "echo");
  EXPECT_EQ(arguments, "{\"text\": \"a\"}");
  EXPECT_TRUE(complete);
}

TEST_F(RendererServiceTest, AStreamOfNoKnownRendererIsRefused) {
  const auto context = NewContext();
  const auto stream = stub_->ParseOutputStream(context.get());
  v1::ParseOutputStreamRequest piece;
  piece.set_renderer("nobody");
  stream->Write(piece);
  v1::ParseOutputStreamResponse event;
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_EQ(ReasonOf(FromGrpc(stream->Finish())), v1::ERROR_REASON_REQUEST_INVALID);
}

TEST_F(RendererServiceTest, FormatsResultsAndHistory) {
  v1::FormatResultRequest request;
  request.set_renderer("openai_chat");
  request.mutable_call()->set_call_id("c1");
  request.mutable_status()->set_message("No.");
  v1::FormatResultResponse formatted;
  ASSERT_TRUE(stub_->FormatResult(NewContext().get(), request, &formatted).ok());
  EXPECT_EQ(formatted.message().json(), R"({"role":"tool","tool_call_id":"c1","content":"No."})");
  v1::RenderHistoryRequest history;
  history.set_renderer("harmony");
  v1::Turn& turn = *history.add_turns();
  turn.set_role("user");
  turn.set_text("Hi");
  v1::RenderHistoryResponse messages;
  ASSERT_TRUE(stub_->RenderHistory(NewContext().get(), history, &messages).ok());
  EXPECT_EQ(messages.messages(0).text(), "<|start|>user<|message|>Hi<|end|>");
}

TEST_F(RendererServiceTest, EveryRpcTakesASession) {
  v1::OpenSessionRequest open;
  open.set_renderer("rolling_developer");
  open.add_loaded_tools("echo");
  v1::Session session;
  ASSERT_TRUE(server_.Sessions()->OpenSession(NewContext().get(), open, &session).ok());
  const std::string& id = session.session_id();
  v1::RenderInitialRequest initial;
  initial.set_session_id(id);
  const auto first = Render(initial);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(absl::StrContains(first->fragments(1).text(), "type echo = "));
  EXPECT_FALSE(absl::StrContains(first->fragments(1).text(), "type sleep = "));

  v1::LoadToolsRequest load;
  load.set_session_id(id);
  load.add_names("sleep");
  v1::LoadToolsResponse loaded;
  ASSERT_TRUE(server_.Sessions()->LoadTools(NewContext().get(), load, &loaded).ok());
  EXPECT_EQ(Render(initial)->SerializeAsString(), first->SerializeAsString());
  v1::RenderBoundaryRequest boundary;
  boundary.set_session_id(id);
  v1::RenderBoundaryResponse anew;
  ASSERT_TRUE(stub_->RenderBoundary(NewContext().get(), boundary, &anew).ok());
  EXPECT_TRUE(absl::StrContains(anew.prompt().fragments(1).text(), "type sleep = "));
  EXPECT_EQ(Render(initial)->SerializeAsString(), anew.prompt().SerializeAsString());

  v1::RenderToolLoadRequest tool_load;
  tool_load.set_session_id(id);
  tool_load.set_renderer("claude_deferred");
  tool_load.add_names("echo");
  tool_load.add_names("calculator");
  v1::RenderToolLoadResponse appended;
  ASSERT_TRUE(stub_->RenderToolLoad(NewContext().get(), tool_load, &appended).ok());
  // The prefix shows echo.
  EXPECT_FALSE(absl::StrContains(appended.fragments(0).text(), "\"name\": \"echo\""));
  EXPECT_TRUE(absl::StrContains(appended.fragments(0).text(), "\"name\": \"calculator\""));
  v1::RenderChangesRequest changes;
  changes.set_session_id(id);
  v1::RenderChangesResponse changed;
  ASSERT_TRUE(stub_->RenderChanges(NewContext().get(), changes, &changed).ok());
  EXPECT_EQ(changed.added_size() + changed.removed_size(), 0);

  v1::ParseOutputRequest parse;
  parse.set_session_id(id);
  parse.set_text("<|channel|>commentary to=functions.echo<|message|>{'text': 'a'}<|call|>");
  v1::ParseOutputResponse parsed;
  ASSERT_TRUE(stub_->ParseOutput(NewContext().get(), parse, &parsed).ok());
  EXPECT_EQ(parsed.events(0).call().name(), "echo");
  parse.set_strict(true);
  ASSERT_TRUE(stub_->ParseOutput(NewContext().get(), parse, &parsed).ok());
  EXPECT_TRUE(parsed.events(0).has_malformed());
  const auto context = NewContext();
  const auto stream = stub_->ParseOutputStream(context.get());
  v1::ParseOutputStreamRequest piece;
  piece.set_session_id(id);
  piece.set_strict(true);
  piece.set_text(parse.text());
  ASSERT_TRUE(stream->Write(piece));
  stream->WritesDone();
  bool malformed = false;
  for (v1::ParseOutputStreamResponse event; stream->Read(&event);) {
    malformed = malformed || event.has_malformed();
  }
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(malformed);

  v1::RenderHistoryRequest history;
  history.set_session_id(id);
  history.add_turns()->set_text("Hi");
  v1::RenderHistoryResponse messages;
  ASSERT_TRUE(stub_->RenderHistory(NewContext().get(), history, &messages).ok());
  EXPECT_TRUE(absl::StrContains(messages.messages(0).text(), "<|message|>Hi<|end|>"));
  v1::FormatResultRequest format;
  format.set_session_id(id);
  format.mutable_status()->set_message("No.");
  v1::FormatResultResponse formatted;
  ASSERT_TRUE(stub_->FormatResult(NewContext().get(), format, &formatted).ok());
  EXPECT_TRUE(absl::StrContains(formatted.message().text(), "<|message|>No.<|end|>"));

  v1::CloseSessionRequest close;
  close.set_session_id(id);
  v1::CloseSessionResponse closed;
  ASSERT_TRUE(server_.Sessions()->CloseSession(NewContext().get(), close, &closed).ok());
  EXPECT_EQ(ReasonOf(Render(initial).status()), v1::ERROR_REASON_SESSION_NOT_FOUND);
}

TEST_F(RendererServiceTest, LoadsChangesAndBoundaries) {
  v1::RenderToolLoadRequest load;
  load.set_renderer("claude_deferred");
  load.add_names("echo");
  load.add_names("nothing");
  v1::RenderToolLoadResponse loaded;
  ASSERT_TRUE(stub_->RenderToolLoad(NewContext().get(), load, &loaded).ok());
  EXPECT_TRUE(absl::StrContains(loaded.fragments(0).text(), "\"name\": \"echo\""));
  EXPECT_EQ(loaded.unknown(0), "nothing");
  v1::RenderChangesRequest changes;
  changes.set_renderer("anthropic");
  for (const char* name : {"calculator", "counter", "current_time", "sleep", "gone"}) {
    changes.add_known(name);
  }
  v1::RenderChangesResponse changed;
  ASSERT_TRUE(stub_->RenderChanges(NewContext().get(), changes, &changed).ok());
  EXPECT_EQ(changed.added(0), "echo");
  EXPECT_EQ(changed.removed(0), "gone");
  v1::RenderBoundaryRequest boundary;
  boundary.set_renderer("rolling_developer");
  boundary.add_loaded_tools("echo");
  v1::RenderBoundaryResponse prompt;
  ASSERT_TRUE(stub_->RenderBoundary(NewContext().get(), boundary, &prompt).ok());
  EXPECT_TRUE(absl::StrContains(prompt.prompt().fragments(1).text(), "type echo = "));
}

}  // namespace
}  // namespace toolrack
