// The part that all marker-driven parsers share: text goes through, markers are found also when
// they come in pieces, and one call after another is opened and closed.
#ifndef TOOLRACK_RENDERERS_MARKER_MACHINE_H_
#define TOOLRACK_RENDERERS_MARKER_MACHINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/arguments.h"
#include "renderers/output.h"
#include "renderers/output_parser.h"

namespace toolrack {

class MarkerMachine : public OutputParser {
 public:
  MarkerMachine(const OfferedTools& offered, OutputSink& sink) : offered_(offered), sink_(sink) {}

 protected:
  struct Match {
    enum class Kind { kNo, kMore, kYes } kind = Kind::kNo;
    int id = 0;
    size_t length = 0;
  };
  // Characters that a marker can begin with, one or two.
  virtual absl::string_view Firsts() const = 0;
  // Whether a marker stands at the front of `rest`, which begins with one of them. kMore: it may,
  // once more comes; must not be given for more than 1 KiB. May depend on the state.
  virtual Match MatchAt(absl::string_view rest) const = 0;
  // Text between markers, in any pieces. Gives how much of it was taken, at least one byte or a
  // change of state: the rest is looked at anew, by what counts as a marker now.
  virtual size_t OnText(absl::string_view text) = 0;
  virtual void OnMarker(int id, absl::string_view raw) = 0;
  virtual void OnEnd() = 0;

  // Calls. Between Open and Close all text of the call should be given to Arguments or Emit, and
  // its raw form to Raw.
  void Open(absl::string_view wire_name, const v1::Tool* tool);
  bool open() const { return open_; }
  // Text that is JSON of a kind.
  void ReadArguments(absl::string_view text);
  // Arguments that `reader` reads on from here; it may have read some already.
  void ReadOn(std::unique_ptr<ArgumentsReader> reader) { reader_ = std::move(reader); }
  // JSON made here.
  void EmitArguments(absl::string_view json) { sink_.Arguments(json); }
  void Raw(absl::string_view text);
  // Ends a call whose arguments were read. `whole`: its end was seen, so that too little is a fault
  // and not a cut.
  void CloseRead(bool whole);
  // Ends a call whose arguments were made here.
  void CloseMade(bool complete);
  // Ends it as not understood.
  void CloseBad(absl::string_view reason);
  // The call was none: forgets it.
  void Abandon();
  void Malformed(absl::string_view span, absl::string_view reason);
  // Something was mended; when reading is strict it is Malformed instead, and so is the call that
  // is open.
  void Repair(absl::string_view kind);

  const OfferedTools& offered_;
  OutputSink& sink_;

 private:
  void Take(absl::string_view text) final;
  void End() final;
  void Replaced() final;
  // Takes what is decided of `text`; gives how much that is.
  size_t Run(absl::string_view text, bool last);
  void Drain();
  void Mended(absl::string_view kind, uint64_t offset);
  void EndCall(bool complete, absl::string_view fault);

  std::string held_;     // an undecided beginning of a marker
  uint64_t offset_ = 0;  // of what is being looked at
  uint64_t marked_ = 0;  // of the last marker: where repairs are said to be
  bool open_ = false;
  uint32_t calls_ = 0;
  v1::OutputCallBegin call_;
  std::string fault_;  // of the open call, when reading is strict
  std::unique_ptr<ArgumentsReader> reader_;
  std::string raw_;
  std::string piece_;
  std::vector<absl::string_view> repairs_;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_MARKER_MACHINE_H_
