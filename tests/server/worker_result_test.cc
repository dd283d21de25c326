#include "server/backends/worker_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/base/errors.h"
#include "server/backends/worker_decode.h"

namespace toolrack {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<v1::ToolResult> Take(v1::WorkerResult answer, WorkerResultLimits limits = {}) {
  return TakeOutcome(answer, "ns__t", "w", limits);
}

v1::WorkerResult Failure(v1::WorkerFailureCode code, const std::string& message,
                         const std::string& details = "") {
  v1::WorkerResult answer;
  answer.mutable_failure()->set_code(code);
  answer.mutable_failure()->set_message(message);
  answer.mutable_failure()->set_details_json(details);
  return answer;
}

TEST(WorkerResult, KeepsEveryFieldByteForByte) {
  v1::WorkerResult answer;
  v1::WorkerToolResult* result = answer.mutable_result();
  result->add_content()->mutable_text()->set_text("héllo");
  result->add_content()->mutable_json()->set_json(R"({"b":12345678901234567890,"a":1.0})");
  auto* image = result->add_content()->mutable_image();
  image->set_data("\xff\x00\x01");
  image->set_mime_type("image/png");
  auto* audio = result->add_content()->mutable_audio();
  audio->set_data("\xfe");
  audio->set_mime_type("audio/wav");
  auto* link = result->add_content()->mutable_resource_link();
  link->set_uri("file:///x");
  link->set_name("x");
  link->set_description("d");
  link->set_mime_type("text/plain");
  auto* resource = result->add_content()->mutable_resource();
  resource->set_uri("file:///y");
  resource->set_blob("\xff");
  result->set_structured_json(R"({"n": 1.0})");
  result->set_summary("s");
  result->set_meta_json(R"({"k":1})");
  result->set_truncated(true);
  result->set_result_handle("mine");
  const auto taken = Take(answer);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->content(0).text().text(), "héllo");
  EXPECT_EQ(taken->content(1).json().json(), R"({"b":12345678901234567890,"a":1.0})");
  EXPECT_EQ(taken->content(2).image().data(), std::string("\xff\x00\x01"));
  EXPECT_EQ(taken->content(2).image().mime_type(), "image/png");
  EXPECT_EQ(taken->content(3).audio().mime_type(), "audio/wav");
  EXPECT_EQ(taken->content(4).resource_link().description(), "d");
  EXPECT_EQ(taken->content(5).resource().blob(), "\xff");
  EXPECT_EQ(taken->structured_json(), R"({"n": 1.0})");
  EXPECT_EQ(taken->summary(), "s");
  EXPECT_EQ(taken->meta_json(), R"({"k":1})");
  EXPECT_FALSE(taken->is_error());
  EXPECT_FALSE(taken->truncated());
  EXPECT_EQ(taken->result_handle(), "");
}

TEST(WorkerResult, TextThatIsNotUtf8CostsThisCallOnly) {
  v1::WorkerResult answer;
  answer.mutable_result()->add_content()->mutable_text()->set_text("ab\xff");
  const auto taken = Take(answer);
  ASSERT_TRUE(taken.ok());
  EXPECT_TRUE(taken->is_error());
  EXPECT_EQ(taken->error().reason(), "TOOL_INTERNAL");
  EXPECT_THAT(taken->content(0).text().text(),
              HasSubstr("its worker sent bytes that are not UTF-8 in a text (byte 2)"));
}

TEST(WorkerResult, JsonThatIsNoneIsAFaultOfTheTool) {
  struct Case {
    void (*set)(v1::WorkerToolResult&);
    const char* text;
  };
  for (const Case& c :
       {Case{[](v1::WorkerToolResult& r) { r.set_structured_json("{,}"); },
             "structured_json that is not JSON"},
        Case{[](v1::WorkerToolResult& r) { r.set_meta_json("[1]"); },
             "meta_json that is not a JSON object"},
        Case{[](v1::WorkerToolResult& r) { r.add_content()->mutable_json()->set_json("nope"); },
             "a JSON content that is not JSON"},
        Case{[](v1::WorkerToolResult& r) { r.set_summary("\xff"); }, "not UTF-8 in summary"},
        Case{[](v1::WorkerToolResult& r) { r.add_content(); }, "holds nothing"}}) {
    v1::WorkerResult answer;
    c.set(*answer.mutable_result());
    const auto taken = Take(answer);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken->error().reason(), "TOOL_INTERNAL");
    EXPECT_THAT(taken->content(0).text().text(), HasSubstr(c.text));
  }
}

TEST(WorkerResult, TooLargeIsAFaultOfTheToolThatNamesLimitAndSize) {
  v1::WorkerResult answer;
  answer.mutable_result()->add_content()->mutable_text()->set_text(std::string(60, 'a'));
  answer.mutable_result()->add_content()->mutable_image()->set_data(std::string(60, 'b'));
  WorkerResultLimits limits;
  limits.max_bytes = 100;
  const auto taken = Take(answer, limits);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->error().reason(), "TOOL_INTERNAL");
  EXPECT_THAT(taken->content(0).text().text(),
              HasSubstr("max_result_bytes: 100 allowed, at least 120 came"));
}

TEST(WorkerResult, AnErrorWithoutAReasonIsExecutionFailed) {
  v1::WorkerResult answer;
  answer.mutable_result()->set_is_error(true);
  answer.mutable_result()->add_content()->mutable_text()->set_text("no");
  EXPECT_EQ(Take(answer)->error().reason(), "EXECUTION_FAILED");
}

TEST(WorkerResult, AReasonOfTheRackIsNotTheWorkersToGive) {
  v1::WorkerResult answer;
  answer.mutable_result()->mutable_error()->set_reason("OUTPUT_INVALID");
  (*answer.mutable_result()->mutable_error()->mutable_metadata())["k"] = "v";
  const auto taken = Take(answer);
  EXPECT_TRUE(taken->is_error());
  EXPECT_EQ(taken->error().reason(), "EXECUTION_FAILED");
  EXPECT_EQ(taken->error().metadata().at("tool_reason"), "OUTPUT_INVALID");
  EXPECT_EQ(taken->error().metadata().at("k"), "v");
}

TEST(WorkerResult, FailuresBecomeTheOutcomesOfTheirCodes) {
  const auto not_started = Take(Failure(v1::WORKER_FAILURE_CODE_NOT_STARTED, "busy"));
  EXPECT_EQ(ReasonOf(not_started.status()), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_TRUE(SurelyNotExecuted(not_started.status()));
  EXPECT_THAT(std::string(not_started.status().message()), HasSubstr("busy"));
  struct Case {
    v1::WorkerFailureCode code;
    const char* reason;
  };
  for (const Case& c : {Case{v1::WORKER_FAILURE_CODE_INVALID_ARGUMENT, "TOOL_INVALID_ARGUMENT"},
                        Case{v1::WORKER_FAILURE_CODE_EXECUTION_FAILED, "EXECUTION_FAILED"},
                        Case{v1::WORKER_FAILURE_CODE_INTERNAL, "TOOL_INTERNAL"},
                        Case{v1::WORKER_FAILURE_CODE_UNSPECIFIED, "TOOL_INTERNAL"}}) {
    const auto taken = Take(Failure(c.code, "why", R"({"a":"b","n":1})"));
    ASSERT_TRUE(taken.ok());
    EXPECT_TRUE(taken->is_error());
    EXPECT_EQ(taken->error().reason(), c.reason);
    EXPECT_EQ(taken->content(0).text().text(), "why");
    EXPECT_EQ(taken->error().metadata().at("a"), "b");
    EXPECT_EQ(taken->error().metadata().count("n"), 0u);
  }
}

TEST(WorkerResult, AnAnswerWithoutOutcomeIsAFaultOfTheTool) {
  EXPECT_EQ(Take({})->error().reason(), "TOOL_INTERNAL");
}

TEST(WorkerDecode, OneUnreadableResultCostsItselfOnly) {
  v1::WorkerServiceAttachRequest request;
  v1::WorkerResult* good = request.mutable_results()->add_results();
  good->set_invocation_id(1);
  good->mutable_result()->add_content()->mutable_text()->set_text("fine");
  v1::WorkerResult* bad = request.mutable_results()->add_results();
  bad->set_invocation_id(2);
  (*bad->mutable_result()->mutable_error()->mutable_metadata())["k@"] = "v";
  std::string bytes = request.SerializeAsString();
  bytes[bytes.find('@')] = '\xff';
  v1::WorkerServiceAttachRequest strict;
  ASSERT_FALSE(strict.ParseFromString(bytes));
  WorkerMessage message;
  ASSERT_TRUE(DecodeLeniently(bytes, message).ok());
  ASSERT_EQ(message.request.results().results_size(), 1);
  EXPECT_EQ(message.request.results().results(0).invocation_id(), 1u);
  EXPECT_THAT(message.bad_results, ::testing::ElementsAre(2));
}

TEST(WorkerDecode, NamesTheFieldThatIsNotUtf8) {
  for (const char* field : {"title", "description", "input_schema", "output_schema", "meta_json"}) {
    v1::WorkerServiceAttachRequest request;
    v1::Tool* tool = request.mutable_publish()->add_tools();
    tool->set_name("t");
    tool->GetReflection()->SetString(tool, tool->GetDescriptor()->FindFieldByName(field), "@");
    std::string bytes = request.SerializeAsString();
    bytes[bytes.find('@')] = '\xff';
    WorkerMessage message;
    ASSERT_TRUE(DecodeLeniently(bytes, message).ok()) << field;
    ASSERT_EQ(message.bad_tools.size(), 1u) << field;
    EXPECT_EQ(message.bad_tools[0].findings(0).pointer(), std::string("/") + field);
  }
}

TEST(WorkerDecode, BytesThatAreNoMessageAreAViolation) {
  for (const std::string& bytes :
       {std::string("\xff\xff\xff\xff"), std::string("\x12\x05\x1a\x03\xff\xff\xff", 7),
        std::string("\x0a\x03\x0a\x01\xff", 5), std::string("\x1a\x03\x0a\x01\xff", 5),
        std::string("\x2a\x02\xff\xff", 4)}) {
    WorkerMessage message;
    EXPECT_EQ(ReasonOf(DecodeLeniently(bytes, message)), v1::ERROR_REASON_PROTOCOL_VIOLATION);
  }
}

}  // namespace
}  // namespace toolrack
