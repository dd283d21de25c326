#include "renderers/reply.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "renderers/history.h"
#include "renderers/json_text.h"
#include "renderers/meta_tools.h"
#include "renderers/outcome_text.h"

namespace toolrack {
namespace {

// The text of an outcome with what was loaded in it, for families that read definitions as part of
// a result.
v1::TurnResult WithDefinitions(const Reply& reply) {
  v1::TurnResult out = reply.outcome;
  if (!out.has_result()) return out;
  for (const v1::Fragment& fragment : reply.loaded) {
    if (fragment.has_text()) {
      out.mutable_result()->add_content()->mutable_text()->set_text(fragment.text());
    }
  }
  return out;
}

class Replies {
 public:
  Replies(const RendererSpec& spec, const v1::RenderOptions& options, RenderWarnings& warnings)
      : spec_(spec), options_(options), warnings_(warnings) {}

  std::vector<v1::OutMessage> Render(const std::vector<Reply>& replies) {
    switch (spec_.dialect->declare) {
      case DeclareEngine::kAnthropic:
        Anthropic(replies);
        break;
      case DeclareEngine::kOpenAiResponses:
        Responses(replies);
        break;
      case DeclareEngine::kFunctionLines:
        FunctionLines(replies);
        break;
      default:
        Results(replies);
        Notes(replies);
    }
    return std::move(out_);
  }

 private:
  void Append(const v1::Turn& turn) {
    for (v1::OutMessage& message : RenderHistory(spec_, {turn}, options_, warnings_)) {
      out_.push_back(std::move(message));
    }
  }
  static std::string TextOf(const Reply& note) {
    bool is_error = false;
    return OutcomeText(note.outcome, is_error);
  }

  void Results(const std::vector<Reply>& replies) {
    v1::Turn turn;
    turn.set_role("tool");
    for (const Reply& reply : replies) {
      if (!reply.note) *turn.add_results() = WithDefinitions(reply);
    }
    if (turn.results_size() > 0) Append(turn);
  }

  void Notes(const std::vector<Reply>& replies) {
    v1::Turn turn;
    turn.set_role("user");
    for (const Reply& reply : replies) {
      if (!reply.note) continue;
      absl::StrAppend(turn.mutable_text(), turn.text().empty() ? "" : "\n\n", TextOf(reply));
    }
    if (!turn.text().empty()) Append(turn);
  }

  // One message; a loaded call's result is references, nothing else.
  void Anthropic(const std::vector<Reply>& replies) {
    JsonText content = JsonText::Array();
    JsonText notes = JsonText::Array();
    for (const Reply& reply : replies) {
      if (reply.note) {
        JsonText block = JsonText::Object();
        block.Set("type", JsonText::String("text"));
        block.Set("text", JsonText::String(TextOf(reply)));
        notes.items.push_back(std::move(block));
        continue;
      }
      const bool loaded = !reply.loaded.empty() && reply.loaded[0].has_json();
      const std::string json = loaded
                                   ? reply.loaded[0].json()
                                   : FormatResult(spec_, reply.outcome, options_, warnings_).json();
      content.items.push_back(*ParseJsonText(json));
    }
    for (JsonText& note : notes.items) content.items.push_back(std::move(note));
    if (content.items.empty()) return;
    JsonText message = JsonText::Object();
    message.Set("role", JsonText::String("user"));
    message.Set("content", std::move(content));
    v1::OutMessage& out = out_.emplace_back();
    out.set_role("user");
    out.set_json(WriteJson(message));
  }

  // A search is answered by a list of tools and by nothing else: what is to be said of it besides
  // is a message of its own.
  void Responses(const std::vector<Reply>& replies) {
    std::vector<Reply> notes;
    for (const Reply& reply : replies) {
      if (reply.note) {
        notes.push_back(reply);
        continue;
      }
      v1::OutMessage message;
      if (!reply.loaded.empty() && reply.loaded[0].has_json()) {
        message.set_json(reply.loaded[0].json());
      } else if (IsSearch(reply)) {
        message.set_json(EmptySearch(reply.outcome.call().call_id()));
        notes.push_back(reply);
        notes.back().note = true;
      } else {
        message = FormatResult(spec_, reply.outcome, options_, warnings_);
      }
      out_.push_back(std::move(message));
    }
    Notes(notes);
  }
  bool IsSearch(const Reply& reply) const {
    return spec_.disclosure == Disclosure::kDeferred &&
           reply.outcome.call().wire_name() == kToolSearch;
  }
  static std::string EmptySearch(const std::string& call_id) {
    JsonText out = JsonText::Object();
    out.Set("type", JsonText::String("tool_search_output"));
    out.Set("execution", JsonText::String("client"));
    out.Set("call_id", JsonText::String(call_id));
    out.Set("status", JsonText::String("completed"));
    out.Set("tools", JsonText::Array());
    return WriteJson(out);
  }

  // One text: the results, then the definitions, which stand outside of them, then what is said.
  void FunctionLines(const std::vector<Reply>& replies) {
    v1::Turn turn;
    turn.set_role("tool");
    std::string rest;
    for (const Reply& reply : replies) {
      if (!reply.note) *turn.add_results() = reply.outcome;
      for (const v1::Fragment& fragment : reply.loaded) {
        absl::StrAppend(&rest, "\n\n", fragment.text());
      }
    }
    if (turn.results_size() > 0) {
      Append(turn);
      absl::StrAppend(out_.back().mutable_text(), rest);
    }
    const size_t before = out_.size();
    Notes(replies);
    if (before == 1 && out_.size() == 2) {
      absl::StrAppend(out_[0].mutable_text(), "\n\n", out_[1].text());
      out_.pop_back();
    }
  }

  const RendererSpec& spec_;
  const v1::RenderOptions& options_;
  RenderWarnings& warnings_;
  std::vector<v1::OutMessage> out_;
};

}  // namespace

std::vector<v1::OutMessage> RenderReplies(const RendererSpec& spec,
                                          const std::vector<Reply>& replies,
                                          const v1::RenderOptions& options,
                                          RenderWarnings& warnings) {
  return Replies(spec, options, warnings).Render(replies);
}

}  // namespace toolrack
