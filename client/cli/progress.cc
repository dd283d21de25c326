#include "client/cli/progress.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/cli/text.h"

namespace toolrack {
namespace {

constexpr size_t kBarWidth = 20;
constexpr char kWipe[] = "\r\x1b[K";

std::string Counts(const v1::Progress& progress) {
  if (progress.total() > 0) return absl::StrCat(progress.progress(), "/", progress.total());
  return absl::StrCat(progress.progress());
}

}  // namespace

ProgressBar::ProgressBar(std::ostream& err, bool is_tty, size_t columns)
    : err_(err), is_tty_(is_tty), columns_(columns == 0 ? 80 : columns) {}

ProgressBar::~ProgressBar() {
  if (!shown_.empty()) err_ << kWipe << std::flush;
}

void ProgressBar::Show(const v1::Progress& progress) {
  const std::string message = Printable(progress.message(), Lines::kJoin);
  const std::string tail = absl::StrCat(Counts(progress), message.empty() ? "" : " ", message);
  if (!is_tty_) {
    err_ << "progress " << tail << std::endl;
    return;
  }
  shown_.clear();
  if (progress.total() > 0) {
    const double share = std::clamp(progress.progress() / progress.total(), 0.0, 1.0);
    const auto done =
        std::isfinite(share) ? static_cast<size_t>(share * static_cast<double>(kBarWidth)) : 0;
    shown_ = absl::StrCat("[", std::string(done, '#'), std::string(kBarWidth - done, '-'), "] ");
  }
  shown_ = CutToWidth(shown_ + tail, columns_ - 1);
  err_ << kWipe << shown_ << std::flush;
}

void ProgressBar::Say(const v1::LogLine& log) {
  if (!shown_.empty()) err_ << kWipe;
  err_ << Printable(absl::StrCat(log.level(), ": ", log.message()), Lines::kJoin) << '\n'
       << shown_ << std::flush;
}

}  // namespace toolrack
