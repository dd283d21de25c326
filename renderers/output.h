// What a parser finds in a model's output, and the tools that it may find calls of.
#ifndef TOOLRACK_RENDERERS_OUTPUT_H_
#define TOOLRACK_RENDERERS_OUTPUT_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "renderers/catalog.h"
#include "renderers/render.h"
#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/renderer_service.pb.h"

namespace toolrack {

// Takes what is found, in order; nothing is ever taken back. Texts are whole UTF-8 characters;
// neighbours of a kind belong together. Between CallBegin and CallEnd come only Arguments and
// Repair.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void Text(absl::string_view text) = 0;
  virtual void Reasoning(absl::string_view text) = 0;
  virtual void CallBegin(const v1::OutputCallBegin& begin) = 0;
  // The pieces together are one JSON object.
  virtual void Arguments(absl::string_view piece) = 0;
  // `complete` false: it may not be run; why comes as Malformed, or the output ended within it.
  virtual void CallEnd(const v1::OutputCallEnd& end) = 0;
  virtual void Malformed(const v1::OutputMalformed& malformed) = 0;
  virtual void Repair(const v1::OutputRepair& repair) = 0;
};

// Gathers events for a whole output: a call is one event; one that was not understood is only its
// Malformed.
class OutputCollector final : public OutputSink {
 public:
  explicit OutputCollector(v1::ParseOutputResponse& out) : out_(out) {}
  void Text(absl::string_view text) override;
  void Reasoning(absl::string_view text) override;
  void CallBegin(const v1::OutputCallBegin& begin) override;
  void Arguments(absl::string_view piece) override;
  void CallEnd(const v1::OutputCallEnd& end) override;
  void Malformed(const v1::OutputMalformed& malformed) override;
  void Repair(const v1::OutputRepair& repair) override;

 private:
  v1::ParseOutputResponse& out_;
};

// The wire-name table of one renderer over some tools. The tools outlive it. Immutable,
// thread-safe.
class OfferedTools {
 public:
  OfferedTools(const RendererSpec& spec, ToolSpan tools);
  // By wire name, else by canonical name. Null: no such tool was offered.
  const v1::Tool* Find(absl::string_view wire_name) const;
  const Dialect& dialect() const { return *dialect_; }

 private:
  const Dialect* dialect_;
  absl::flat_hash_map<std::string, const v1::Tool*> by_wire_;
};

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_OUTPUT_H_
