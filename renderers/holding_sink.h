// A sink that can keep events back: for text of which only its end tells whether it was a call.
#ifndef TOOLRACK_RENDERERS_HOLDING_SINK_H_
#define TOOLRACK_RENDERERS_HOLDING_SINK_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/output.h"

namespace toolrack {

// Passes everything on at once, except between Hold and Release or Discard.
class HoldingSink final : public OutputSink {
 public:
  explicit HoldingSink(OutputSink& to) : to_(to) {}

  void Hold() { holding_ = true; }
  // Gives on what was kept.
  void Release() {
    holding_ = false;
    for (const auto& event : kept_) event(to_);
    kept_.clear();
  }
  void Discard() {
    holding_ = false;
    kept_.clear();
  }

  void Text(absl::string_view text) override {
    if (!holding_) return to_.Text(text);
    kept_.push_back([held = std::string(text)](OutputSink& to) { to.Text(held); });
  }
  void Reasoning(absl::string_view text) override {
    if (!holding_) return to_.Reasoning(text);
    kept_.push_back([held = std::string(text)](OutputSink& to) { to.Reasoning(held); });
  }
  void CallBegin(const v1::OutputCallBegin& begin) override {
    if (!holding_) return to_.CallBegin(begin);
    kept_.push_back([begin](OutputSink& to) { to.CallBegin(begin); });
  }
  void Arguments(absl::string_view piece) override {
    if (!holding_) return to_.Arguments(piece);
    kept_.push_back([held = std::string(piece)](OutputSink& to) { to.Arguments(held); });
  }
  void CallEnd(const v1::OutputCallEnd& end) override {
    if (!holding_) return to_.CallEnd(end);
    kept_.push_back([end](OutputSink& to) { to.CallEnd(end); });
  }
  void Malformed(const v1::OutputMalformed& malformed) override {
    if (!holding_) return to_.Malformed(malformed);
    kept_.push_back([malformed](OutputSink& to) { to.Malformed(malformed); });
  }
  void Repair(const v1::OutputRepair& repair) override {
    if (!holding_) return to_.Repair(repair);
    kept_.push_back([repair](OutputSink& to) { to.Repair(repair); });
  }

 private:
  OutputSink& to_;
  bool holding_ = false;
  std::vector<std::function<void(OutputSink&)>> kept_;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_HOLDING_SINK_H_
