#include "registry/base/log.h"

#include <spdlog/details/file_helper.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

spdlog::level::level_enum ToSpd(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

std::atomic<bool> g_json{false};

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
// %v is a JSON string literal in this form: see Log.
constexpr const char* kJsonPattern =
    R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%v})";

// spdlog's own file sink cannot open its file anew.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Throws spdlog_ex, as Reopen does.
  explicit FileSink(const std::string& file) { file_.open(file); }
  void Reopen() {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string name = file_.filename();
    // Opened beside the old one first, which stays when that fails.
    spdlog::details::file_helper().open(name);
    file_.reopen(/*truncate=*/false);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    file_.write(line);
  }
  void flush_() override { file_.flush(); }
  spdlog::details::file_helper file_;
};

std::shared_ptr<spdlog::logger> MakeStderrLogger() {
  auto logger = std::make_shared<spdlog::logger>("toolrack",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(kTextPattern);
  logger->flush_on(spdlog::level::warn);
  return logger;
}

std::atomic<spdlog::logger*> g_logger{nullptr};

void Use(std::shared_ptr<spdlog::logger> logger) {
  // Another thread may be writing to the old one at this moment, so it stays. Few are ever made.
  static auto* kept = new std::vector<std::shared_ptr<spdlog::logger>>;
  kept->push_back(logger);
  spdlog::set_default_logger(logger);  // for flush_every
  g_logger.store(logger.get(), std::memory_order_release);
}

spdlog::logger& Logger() {
  static std::once_flag once;
  std::call_once(once, [] { Use(MakeStderrLogger()); });
  return *g_logger.load(std::memory_order_acquire);
}

}  // namespace

absl::Status StartLog(const LogOptions& options) {
  Logger();
  spdlog::sink_ptr sink;
  try {
    if (options.file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<FileSink>(options.file);
    }
  } catch (const spdlog::spdlog_ex& error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot open the log file ", options.file,
                                                      ": ", error.what(),
                                                      "; give another path in log.file"));
  }
  auto logger = std::make_shared<spdlog::logger>("toolrack", std::move(sink));
  g_json = options.json;
  logger->set_pattern(options.json ? kJsonPattern : kTextPattern);
  logger->set_level(ToSpd(options.level));
  logger->flush_on(spdlog::level::warn);
  // A full disk must not stop the daemon; spdlog then reports to standard error, at most once a
  // second.
  Use(std::move(logger));
  spdlog::flush_every(std::chrono::seconds(1));
  return absl::OkStatus();
}

void StopLog() {
  Logger().flush();
  spdlog::flush_every(std::chrono::seconds(0));
  g_json = false;
  Use(MakeStderrLogger());
}

absl::Status ReopenLog() {
  for (const spdlog::sink_ptr& sink : Logger().sinks()) {
    auto* file = dynamic_cast<FileSink*>(sink.get());
    if (file == nullptr) continue;
    try {
      file->Reopen();
    } catch (const spdlog::spdlog_ex& error) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot open the log file again: ", error.what(), "; the old one stays open"));
    }
  }
  return absl::OkStatus();
}

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpd(level)); }

bool LogEnabled(LogLevel level) { return Logger().should_log(ToSpd(level)); }

void Log(LogLevel level, absl::string_view line) {
  spdlog::logger& logger = Logger();
  const spdlog::level::level_enum spd = ToSpd(level);
  if (!logger.should_log(spd)) return;
  if (g_json) {
    const std::string quoted = JsonQuote(line);
    logger.log(spd, spdlog::string_view_t(quoted.data(), quoted.size()));
    return;
  }
  // One line stays one line, whatever is in it.
  std::string clean;
  if (line.find_first_of("\n\r\x1b") != absl::string_view::npos) {
    clean = std::string(line);
    for (char& c : clean) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    line = clean;
  }
  logger.log(spd, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace toolrack
