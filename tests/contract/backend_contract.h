// What every Backend must do, as one suite. A backend joins by a factory:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, BackendContract, testing::Values(BackendMaker{"mine", &Make}));
//
// and by linking this folder's binary. The tools that a fixture must offer, by these bare names:
//   echo     gives back the JSON text of its arguments as one text
//   fails    ends with an INVALID_ARGUMENT status, or a result with TOOL_INVALID_ARGUMENT
//   holds    answers only when the fixture's Release() is called, with the text "released"
#ifndef TOOLRACK_TESTS_CONTRACT_BACKEND_CONTRACT_H_
#define TOOLRACK_TESTS_CONTRACT_BACKEND_CONTRACT_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "registry/registry.h"
#include "registry/tool.h"

namespace toolrack {

// A backend with its tools published to `registry`.
class BackendFixture {
 public:
  virtual ~BackendFixture() = default;
  virtual Registry& registry() = 0;
  virtual std::shared_ptr<Backend> backend() = 0;
  // The canonical name of one of the tools.
  virtual std::string NameOf(const std::string& bare) { return bare; }
  // The backend is lost with the calls that it has; false when this kind cannot be.
  virtual bool Lose() { return false; }
  // Ends all calls of `holds` that the tool has got, now and in future.
  virtual void Release() = 0;
};

struct BackendMaker {
  std::string name;
  std::unique_ptr<BackendFixture> (*make)();
};

class BackendContract : public testing::TestWithParam<BackendMaker> {};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CONTRACT_BACKEND_CONTRACT_H_
