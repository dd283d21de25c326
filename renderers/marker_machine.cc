#include "renderers/marker_machine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr size_t kMaxSpan = 64 << 10;

}  // namespace

void MarkerMachine::Take(absl::string_view text) {
  if (held_.empty()) {
    held_ = std::string(text.substr(Run(text, false)));
    return;
  }
  std::string joined;
  joined.swap(held_);
  absl::StrAppend(&joined, text);
  held_ = joined.substr(Run(joined, false));
}

void MarkerMachine::End() {
  const std::string rest = std::move(held_);
  held_.clear();
  Run(rest, true);
  OnEnd();
}

size_t MarkerMachine::Run(absl::string_view text, bool last) {
  size_t from = 0;  // begin of the text that was not given yet
  size_t at = 0;
  // Whether all was taken up to `end`.
  const auto give = [&](size_t end) {
    if (end == from) return true;
    const size_t taken = OnText(text.substr(from, end - from));
    offset_ += taken;
    from += taken;
    return from == end;
  };
  for (;;) {
    // Anew each time: the marker before may have changed what counts as one.
    const absl::string_view firsts = Firsts();
    at = firsts.size() == 1 ? text.find(firsts[0], at) : text.find_first_of(firsts, at);
    // What a marker means may depend on the text before it.
    if (!give(std::min(at, text.size()))) {
      at = from;
      continue;
    }
    if (at >= text.size()) return text.size();
    const Match match = MatchAt(text.substr(at));
    if (match.kind == Match::Kind::kMore && !last) return at;
    if (match.kind != Match::Kind::kYes) {
      at += give(at + 1) ? 1 : 0;
      continue;
    }
    marked_ = offset_;
    OnMarker(match.id, text.substr(at, match.length));
    offset_ += match.length;
    at += match.length;
    from = at;
  }
}

void MarkerMachine::Open(absl::string_view wire_name, const v1::Tool* tool) {
  open_ = true;
  fault_.clear();
  raw_.clear();
  reader_ = std::make_unique<ArgumentsReader>();
  call_.Clear();
  call_.set_call_id(absl::StrCat("call_", calls_++));
  call_.set_wire_name(std::string(wire_name));
  if (tool != nullptr) call_.set_name(tool->name());
  sink_.CallBegin(call_);
}

void MarkerMachine::Raw(absl::string_view text) {
  if (raw_.size() < kMaxSpan) absl::StrAppend(&raw_, Utf8Prefix(text, kMaxSpan - raw_.size()));
}

void MarkerMachine::Drain() {
  if (!piece_.empty()) sink_.Arguments(piece_);
  for (const absl::string_view kind : repairs_) Repair(kind);
  piece_.clear();
  repairs_.clear();
}

void MarkerMachine::ReadArguments(absl::string_view text) {
  Raw(text);
  reader_->Feed(text, piece_, repairs_);
  Drain();
}

void MarkerMachine::CloseRead(bool whole) {
  const ArgumentsReader::End end = reader_->Finish(piece_, repairs_);
  Drain();
  if (end == ArgumentsReader::End::kComplete ||
      (end == ArgumentsReader::End::kTruncated && !whole)) {
    CloseMade(end == ArgumentsReader::End::kComplete);
  } else {
    CloseBad(reader_->reason());
  }
}

void MarkerMachine::CloseMade(bool complete) { EndCall(complete, ""); }

void MarkerMachine::CloseBad(absl::string_view reason) { EndCall(false, reason); }

void MarkerMachine::EndCall(bool complete, absl::string_view fault) {
  open_ = false;
  if (fault.empty()) fault = fault_;
  v1::OutputCallEnd end;
  end.set_call_id(call_.call_id());
  end.set_complete(complete && fault.empty());
  sink_.CallEnd(end);
  if (fault.empty()) return;
  v1::OutputMalformed malformed;
  malformed.set_span(raw_);
  malformed.set_reason(std::string(fault));
  malformed.set_call_id(call_.call_id());
  malformed.set_name(call_.name());
  malformed.set_wire_name(call_.wire_name());
  sink_.Malformed(malformed);
}

void MarkerMachine::Abandon() {
  if (open_) --calls_;
  open_ = false;
}

void MarkerMachine::Malformed(absl::string_view span, absl::string_view reason) {
  v1::OutputMalformed malformed;
  malformed.set_span(std::string(Utf8Prefix(span, kMaxSpan)));
  malformed.set_reason(std::string(reason));
  sink_.Malformed(malformed);
}

void MarkerMachine::Repair(absl::string_view kind) { Mended(kind, marked_); }

void MarkerMachine::Replaced() { Mended("invalid_utf8", offset_ + held_.size()); }

void MarkerMachine::Mended(absl::string_view kind, uint64_t offset) {
  if (strict()) {
    if (!open_) return Malformed("", StrictReason(kind, offset));
    if (fault_.empty()) fault_ = StrictReason(kind, offset);
    return;
  }
  v1::OutputRepair repair;
  if (open_) repair.set_call_id(call_.call_id());
  repair.set_kind(std::string(kind));
  repair.set_offset(offset);
  sink_.Repair(repair);
}

}  // namespace toolrack
