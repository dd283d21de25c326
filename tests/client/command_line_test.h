// Runs the whole command within a test: folder for the sockets, input, and what it printed.
#ifndef TOOLRACK_TESTS_CLIENT_COMMAND_LINE_TEST_H_
#define TOOLRACK_TESTS_CLIENT_COMMAND_LINE_TEST_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "registry/base/stop.h"

namespace toolrack {

class CommandLineTest : public ::testing::Test {
 protected:
  ~CommandLineTest() override { std::filesystem::remove_all(folder_); }

  static std::string MakeFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "toolrack-cli-XXXXXX").string();
    return mkdtemp(pattern.data());
  }

  int Run(std::vector<std::string> arguments) {
    std::istringstream in(input_);
    std::ostringstream out;
    std::ostringstream err;
    Terminal terminal{in,
                      out,
                      err,
                      tty_,
                      tty_,
                      columns_,
                      [](const std::string&) { return std::nullopt; },
                      stop_.token()};
    arguments.insert(arguments.begin(), {"--runtime-dir", folder_});
    const int code = RunToolrack(arguments, terminal);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  const std::string folder_ = MakeFolder();
  std::string input_;
  bool tty_ = false;
  size_t columns_ = 0;
  StopSource stop_;
  std::string out_;
  std::string err_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CLIENT_COMMAND_LINE_TEST_H_
