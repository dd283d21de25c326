#include "registry/builtin/builtin.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/builtin/calculator.h"
#include "registry/builtin/sleep.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

struct EchoArgs {
  std::string text;
  static auto Describe() { return Fields(Field("text", &EchoArgs::text, "What to give back.")); }
};

std::string Echo(EchoArgs args) { return std::move(args.text); }

struct CounterArgs {
  int32_t increment = 1;
  static auto Describe() {
    return Fields(Field("increment", &CounterArgs::increment, "How much to add; may be negative.")
                      .Default(1));
  }
};

struct CounterValue {
  int64_t value = 0;
  static auto Describe() {
    return Fields(Field("value", &CounterValue::value, "The value after adding."));
  }
};

class Counter {
 public:
  absl::StatusOr<CounterValue> Add(const CounterArgs& args) {
    int64_t before = value_.load();
    int64_t after;
    do {
      if (__builtin_add_overflow(before, args.increment, &after)) {
        return absl::OutOfRangeError("The counter would overflow; it was not changed.");
      }
    } while (!value_.compare_exchange_weak(before, after));
    return CounterValue{after};
  }
  std::string StateJson() const { return absl::StrCat("{\"value\":", value_.load(), "}"); }

 private:
  std::atomic<int64_t> value_{0};
};

struct TimeArgs {
  std::string timezone;
  std::optional<std::string> format;
  static auto Describe() {
    return Fields(
        Field("timezone", &TimeArgs::timezone, "IANA name, e.g. Europe/Berlin or UTC.")
            .MaxLength(64)
            .Default("UTC"),
        Field("format", &TimeArgs::format,
              "strftime pattern for the field `time`, e.g. %Y-%m-%d. Without it RFC 3339.")
            .MaxLength(100));
  }
};

struct TimeNow {
  std::string time, timezone, weekday;
  int64_t unix_seconds = 0;
  static auto Describe() {
    return Fields(Field("time", &TimeNow::time, "The time, in the format asked for."),
                  Field("timezone", &TimeNow::timezone, "The time zone."),
                  Field("weekday", &TimeNow::weekday, "The day of the week."),
                  Field("unix_seconds", &TimeNow::unix_seconds, "Seconds since 1970-01-01 UTC."));
  }
};

// Only names of zone files: Abseil would also open paths, and remembers each name that it was ever
// asked for.
bool ZoneFileExists(const std::string& name) {
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '/' && c != '_' && c != '+' && c != '-') return false;
  }
  if (name.empty() || name.front() == '/') return false;
  const char* folder = std::getenv("TZDIR");
  const std::string path =
      absl::StrCat(folder != nullptr ? folder : "/usr/share/zoneinfo", "/", name);
  return access(path.c_str(), R_OK) == 0;
}

absl::StatusOr<TimeNow> CurrentTime(const Clock& clock, const TimeArgs& args) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (args.timezone != "UTC" &&
      (!ZoneFileExists(args.timezone) || !absl::LoadTimeZone(args.timezone, &zone))) {
    return absl::InvalidArgumentError(
        absl::StrCat("There is no time zone \"", ForMessage(args.timezone, 64),
                     "\" on this machine. Use an IANA name such as Europe/Berlin, or UTC."));
  }
  const absl::Time now = clock.WallNow();
  TimeNow out;
  out.time = absl::FormatTime(args.format.value_or(absl::RFC3339_sec), now, zone);
  out.timezone = args.timezone;
  out.weekday = absl::FormatTime("%A", now, zone);
  out.unix_seconds = absl::ToUnixSeconds(now);
  return out;
}

struct CalculatorArgs {
  std::string expression;
  static auto Describe() {
    return Fields(Field("expression", &CalculatorArgs::expression, "E.g. (2 + 3) * sqrt(16) / 4")
                      .MinLength(1)
                      .MaxLength(kMaxExpressionBytes));
  }
};

std::vector<std::pair<std::string, ToolFactory>> AllTools(const BuiltinParts& parts) {
  Clock* clock = parts.clock;
  return {
      {"echo", MakeTool(ToolSpec("echo",
                                 "Gives the text back unchanged. Good for trying out that "
                                 "calls arrive.")
                            .Category("basic")
                            .ReadOnly()
                            .Idempotent()
                            .OpenWorld(false)
                            .Example("say this back to me"),
                        Echo)},
      {"counter", MakeTool<Counter>(ToolSpec("counter",
                                             "Adds to a counter that starts at 0 and gives its new "
                                             "value.")
                                        .Category("basic")
                                        .ReadOnly(false)
                                        .Destructive(false)
                                        .Idempotent(false)
                                        .OpenWorld(false)
                                        .PerSession()
                                        .Example("count one up"),
                                    &Counter::Add)},
      {"current_time",
       MakeBlockingTool(parts.executor,
                        ToolSpec("current_time",
                                 "The current date and time, in a time zone of "
                                 "your choice.")
                            .Category("basic")
                            .Category("system")
                            .ReadOnly()
                            .OpenWorld(false)
                            .Example("what time is it in Tokyo")
                            .Example("today's date"),
                        [clock](const TimeArgs& args) { return CurrentTime(*clock, args); })},
      {"calculator",
       MakeTool(ToolSpec("calculator",
                         "Evaluates an arithmetic expression in double precision: + - * / % ^, "
                         "parentheses, sqrt abs min max floor ceil round log ln exp sin cos tan "
                         "(radians), pi and e.")
                    .Category("basic")
                    .ReadOnly()
                    .Idempotent()
                    .OpenWorld(false)
                    .Example("what is 15 percent of 80")
                    .Example("square root of 2"),
                [](const CalculatorArgs& args) { return Calculate(args.expression); })},
      {"sleep", MakeSleepTool(parts.timers)},
  };
}

}  // namespace

std::vector<std::string> BuiltinToolNames() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : AllTools({nullptr, nullptr, nullptr})) names.push_back(name);
  return names;
}

std::vector<ToolFactory> BuiltinTools(const BuiltinParts& parts, const v1::BuiltinConfig& config) {
  std::vector<ToolFactory> out;
  if (config.disable_all()) return out;
  const auto& enabled = config.enabled();
  for (auto& [name, factory] : AllTools(parts)) {
    if (enabled.empty() || std::find(enabled.begin(), enabled.end(), name) != enabled.end()) {
      out.push_back(std::move(factory));
    }
  }
  return out;
}

}  // namespace toolrack
