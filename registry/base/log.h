// The daemon's own log: short lines for the person on call. Never argument values at info or above.
//
// Backed by spdlog with a buffered synchronous sink, flushed every second and on each warning.
// Thread-safe. Before StartLog, and after StopLog, lines go to standard error.
#ifndef TOOLRACK_REGISTRY_BASE_LOG_H_
#define TOOLRACK_REGISTRY_BASE_LOG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace toolrack {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  std::string file;  // empty: standard error
  bool json = false;
};

// FAILED_PRECONDITION when the file cannot be opened; the old log stays then.
absl::Status StartLog(const LogOptions& options);
void StopLog();
// The file is opened by its name again: it was moved away. FAILED_PRECONDITION when it cannot be
// opened; the old one stays then. Nothing to do without a file.
absl::Status ReopenLog();
void SetLogLevel(LogLevel level);
bool LogEnabled(LogLevel level);
void Log(LogLevel level, absl::string_view line);
inline void LogDebug(absl::string_view line) { Log(LogLevel::kDebug, line); }
inline void LogInfo(absl::string_view line) { Log(LogLevel::kInfo, line); }
inline void LogWarning(absl::string_view line) { Log(LogLevel::kWarning, line); }
inline void LogError(absl::string_view line) { Log(LogLevel::kError, line); }

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_LOG_H_
