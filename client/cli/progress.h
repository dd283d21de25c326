// The progress of a running call, on standard error.
#ifndef TOOLRACK_CLIENT_CLI_PROGRESS_H_
#define TOOLRACK_CLIENT_CLI_PROGRESS_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// On a terminal one line that is drawn anew and wiped at the end, elsewhere one line for each
// report. Not thread-safe.
class ProgressBar {
 public:
  // `columns`: width of the terminal; 0: 80.
  ProgressBar(std::ostream& err, bool is_tty, size_t columns);
  ~ProgressBar();
  void Show(const v1::Progress& progress);
  // A line of the tool's log, above the bar.
  void Say(const v1::LogLine& log);

 private:
  std::ostream& err_;
  const bool is_tty_;
  const size_t columns_;
  std::string shown_;  // the bar's line; empty: none
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_PROGRESS_H_
