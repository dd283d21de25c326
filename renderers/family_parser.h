// What the engines of the open families share: reasoning, markers around calls, what stands between
// them, and candidates, which only their end decides.
//
// An engine reads what stands between a call's opener and its closer. It says when it wants markers
// looked for: within a string it does not, so that text which reads like a closer ends nothing.
#ifndef TOOLRACK_RENDERERS_FAMILY_PARSER_H_
#define TOOLRACK_RENDERERS_FAMILY_PARSER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/call_format.h"
#include "renderers/holding_sink.h"
#include "renderers/marker_machine.h"

namespace toolrack {

class FamilyParserBase {
 protected:
  explicit FamilyParserBase(OutputSink& sink) : holding_(sink) {}
  HoldingSink holding_;
};

class FamilyParser : private FamilyParserBase, public MarkerMachine {
 public:
  FamilyParser(const OfferedTools& offered, OutputSink& sink);

 protected:
  enum Role {
    kThinkOpen,
    kThinkClose,
    kSectionOpen,
    kSectionClose,
    kOpen,
    kClose,
    kNoise,
    kFiller,
    kOwn,  // and on: the engine's
  };

  // A call begins behind the marker `raw`, or, with an empty one, where the text stands.
  virtual void Begin(absl::string_view raw) = 0;
  // Gives how much of `text` was taken.
  virtual size_t Body(absl::string_view text) = 0;
  virtual bool WantsMarkers() const = 0;
  virtual void BodyMarker(int role, absl::string_view raw) = 0;
  // The output is over within a call.
  virtual void BodyEnds() = 0;
  // Markers of the engine's own; may be looked for everywhere but in reasoning.
  virtual Match OwnMatch(absl::string_view) const { return {}; }
  virtual void OwnMarker(int, absl::string_view) {}
  // What the engine's own markers begin with; they may not begin with anything else.
  virtual absl::string_view OwnFirsts() const { return ""; }
  // Whether a call can begin at this character, without a marker, at the beginning of an output.
  virtual bool BeginsBare(char) const { return false; }
  // Whether another call can begin at it behind one, or behind a section's opener.
  virtual bool BeginsNext(char) const { return false; }

  // The call is over; `closer`: its closing marker is still to come.
  void Leave(bool closer);
  void LeaveToText();
  // A marker where no call stands.
  void BetweenMarker(int role, absl::string_view raw);
  // What was held is a call after all.
  void Accept();
  // It is not: all of it is text.
  void Reject() { rejected_ = candidate_on_; }
  // Whether it is still open what this is. Then a name must be known.
  bool candidate() const { return candidate_on_; }
  bool rejected() const { return rejected_; }
  bool in_text() const { return where_ == Where::kText; }
  bool in_body() const { return where_ == Where::kBody; }
  bool in_section() const { return in_section_; }
  // Enters a call from an engine's own marker.
  void Enter(absl::string_view raw);
  // Text that is none of a call.
  void Visible(absl::string_view text);

  const CallFormat& format_;

 private:
  enum class Where { kText, kThinking, kBetween, kBody };
  struct Literal {
    absl::string_view text;
    int role;
  };

  absl::string_view Firsts() const final;
  Match MatchAt(absl::string_view rest) const final;
  size_t OnText(absl::string_view text) final;
  void OnMarker(int role, absl::string_view raw) final;
  void OnEnd() final;

  bool Wants(int role) const;
  size_t PlainText(absl::string_view text);
  size_t BetweenText(absl::string_view text);
  void StartCandidate();
  void EndGarbage();
  void MissingCloser();
  void AfterTaking(absl::string_view taken);
  void Thought(absl::string_view text);

  std::vector<Literal> literals_;
  std::string firsts_, think_firsts_;
  Where where_ = Where::kText;
  bool at_start_ = true;  // nothing but blanks was said yet
  bool thought_ = false;  // this reasoning has said something
  bool in_section_ = false;
  bool unmarked_ = false;  // the last call came without a marker
  bool any_call_ = false;  // in this section
  bool expects_close_ = false;
  std::string between_;  // blanks and separators behind a call
  std::string garbage_;  // in a section, before any call
  // A candidate: everything since it began.
  bool candidate_on_ = false;
  bool from_thinking_ = false;
  bool rejected_ = false;
  bool accepted_ = false;
  std::string candidate_;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_FAMILY_PARSER_H_
