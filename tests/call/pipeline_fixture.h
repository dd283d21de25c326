// The fixture of the pipeline's tests: one rig, and a call run to its end.
#ifndef TOOLRACK_TESTS_CALL_PIPELINE_FIXTURE_H_
#define TOOLRACK_TESTS_CALL_PIPELINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/call/rig.h"

namespace toolrack {

class PipelineTest : public testing::Test {
 protected:
  ~PipelineTest() override { EXPECT_EQ(rig_.pipeline.calls_in_flight(), 0u); }

  Answer Ended(v1::CallToolRequest request) {
    Answer answer;
    rig_.Start(std::move(request), answer);
    while (rig_.executor.RunOne()) {
    }
    if (rig_.backend->held() > 0) rig_.backend->Take().done(TextResult("done"));
    EXPECT_EQ(answer.times, 1);
    return answer;
  }
  Answer Ended(const std::string& name, const std::string& arguments) {
    return Ended(Rig::Request(name, arguments));
  }

  Rig rig_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CALL_PIPELINE_FIXTURE_H_
