#include "server/services/dispatch_meta.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/call/steps.h"
#include "registry/outcome.h"
#include "renderers/json_text.h"
#include "renderers/meta_tools.h"
#include "renderers/signature.h"

namespace toolrack {
namespace {

constexpr int kMostFound = 20;
constexpr size_t kMostDescribed = 20;

// What a search or a description gives: a text for the model, the same for programs.
class Answer {
 public:
  explicit Answer(const std::optional<RendererSpec>& spec) : spec_(spec) {}

  // One line, and with `schema` one more.
  void Add(const v1::Tool& tool, bool schema) {
    const std::string wire =
        spec_ ? WireNameFor(*spec_->dialect, tool.name()) : std::string(tool.name());
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", Signature(wire, tool.input_schema()), ": ",
                    tool.description());
    if (schema) absl::StrAppend(&text_, "\n", tool.input_schema());
    JsonText one = JsonText::Object();
    one.Set("name", JsonText::String(tool.name()));
    one.Set("description", JsonText::String(tool.description()));
    tools_.items.push_back(std::move(one));
    names_.push_back(tool.name());
  }
  void Say(absl::string_view line) {
    if (!line.empty()) absl::StrAppend(&text_, text_.empty() ? "" : "\n", line);
  }
  void Load(SessionTable& sessions, const CallContext& context) {
    v1::LoadToolsRequest request;
    request.set_session_id(context.session_id);
    for (const std::string& name : names_) request.add_names(name);
    const absl::StatusOr<v1::LoadToolsResponse> loaded = sessions.Load(request, context.principal);
    if (!loaded.ok()) return Say(loaded.status().message());
    for (const v1::LoadedTool& tool : loaded->loaded()) {
      loaded_.items.push_back(JsonText::String(tool.name()));
    }
    for (const std::string& name : loaded->already_loaded()) {
      already_.items.push_back(JsonText::String(name));
    }
    for (const v1::NotLoadedTool& tool : loaded->not_loaded()) {
      Say(absl::StrCat("Not loaded: ", tool.name(), ". ", tool.message()));
    }
  }
  const std::vector<std::string>& names() const { return names_; }

  v1::ToolResult Result(absl::string_view summary) && {
    v1::ToolResult result = TextResult(text_);
    JsonText all = JsonText::Object();
    all.Set("tools", std::move(tools_));
    all.Set("loaded", std::move(loaded_));
    all.Set("already_loaded", std::move(already_));
    result.set_structured_json(WriteJson(all));
    result.set_summary(std::string(summary));
    return result;
  }

 private:
  const std::optional<RendererSpec>& spec_;
  std::string text_;
  std::vector<std::string> names_;
  JsonText tools_ = JsonText::Array();
  JsonText loaded_ = JsonText::Array();
  JsonText already_ = JsonText::Array();
};

// A tool whose work is done on the executor.
class MetaTool : public Tool {
 public:
  explicit MetaTool(const MetaToolParts& parts) : parts_(parts) {}
  void Execute(ToolCall call, ToolDone done) override {
    // Shared, so that a refused post leaves it here.
    auto end = std::make_shared<ToolDone>(std::move(done));
    const bool taken = parts_.executor->Post([this, call = std::move(call), end] {
      if (call.stop.stop_requested()) return (*end)(absl::CancelledError("Stopped."));
      try {
        (*end)(Work(call));
      } catch (const std::exception& error) {
        (*end)(absl::InternalError(error.what()));
      }
    });
    if (!taken) {
      (*end)(BackendUnavailable("a meta tool", "the daemon's own threads"));
    }
  }

 protected:
  virtual absl::StatusOr<v1::ToolResult> Work(const ToolCall& call) = 0;

  ToolVisibility VisibilityOf(const ToolCall& call) const {
    return parts_.policy->VisibilityOf(call.context.principal);
  }
  std::optional<RendererSpec> RendererOf(const ToolCall& call) const {
    const CallContext& context = call.context;
    if (context.session_id.empty()) return std::nullopt;
    const absl::StatusOr<Prompts::Target> target =
        parts_.prompts->Find(context.session_id, /*renderer=*/"", context.principal);
    if (!target.ok()) return std::nullopt;
    return target->spec;
  }
  static bool Loads(const std::optional<RendererSpec>& spec) {
    return spec &&
           (spec->disclosure == Disclosure::kDeferred || spec->disclosure == Disclosure::kRolling);
  }
  const MetaToolParts parts_;
};

class ToolSearch final : public MetaTool {
 public:
  using MetaTool::MetaTool;

 private:
  absl::StatusOr<v1::ToolResult> Work(const ToolCall& call) override {
    v1::SearchToolsRequest request;
    request.set_query(call.arguments->at("query").get<std::string>());
    request.set_max_results(
        std::clamp(static_cast<int>(call.arguments->value("limit", 5.0)), 1, kMostFound));
    request.set_detail(v1::TOOL_VIEW_FULL);
    if (absl::StartsWith(request.query(), "select:")) request.set_mode(v1::SEARCH_MODE_SELECT);
    const absl::StatusOr<v1::SearchToolsResponse> found =
        parts_.searcher->Search(request, VisibilityOf(call));
    if (!found.ok()) return found.status();
    const std::optional<RendererSpec> spec = RendererOf(call);
    Answer answer(spec);
    for (const v1::SearchHit& hit : found->hits()) answer.Add(hit.tool(), /*schema=*/false);
    answer.Say(found->message());
    if (found->more_names_size() > 0) {
      std::string more = "Further matches:";
      for (const std::string& name : found->more_names()) absl::StrAppend(&more, " ", name);
      answer.Say(more);
    }
    if (Loads(spec) && !answer.names().empty()) answer.Load(*parts_.sessions, call.context);
    if (found->hits().empty() && found->message().empty()) {
      answer.Say("Nothing was found. Try other words for what is to be done.");
    }
    return std::move(answer).Result(absl::StrCat(found->hits_size(), " tools found"));
  }
};

class ToolDescribe final : public MetaTool {
 public:
  using MetaTool::MetaTool;

 private:
  absl::StatusOr<v1::ToolResult> Work(const ToolCall& call) override {
    const ToolVisibility visible = VisibilityOf(call);
    const std::optional<RendererSpec> spec = RendererOf(call);
    const SnapshotPtr snapshot = parts_.registry->snapshot();
    Answer answer(spec);
    std::set<std::string> seen;
    std::vector<std::string> unknown;
    for (const auto& item : call.arguments->at("names")) {
      const std::string name = item.get<std::string>();
      if (!seen.insert(name).second) continue;
      if (seen.size() > kMostDescribed) {
        unknown.push_back(absl::StrCat("Only ", kMostDescribed, " tools are described at once."));
        break;
      }
      const ToolEntry* entry = snapshot->Find(name);
      const bool there = entry != nullptr && entry->state != v1::TOOL_STATE_QUARANTINED &&
                         (!visible || visible(*entry->definition));
      if (there) {
        answer.Add(entry->definition->tool, /*schema=*/true);
      } else {
        unknown.emplace_back(NotFoundWithNearest(*parts_.registry, name, visible).message());
      }
    }
    const size_t described = answer.names().size();
    if (Loads(spec) && described > 0) answer.Load(*parts_.sessions, call.context);
    for (const std::string& line : unknown) answer.Say(line);
    v1::ToolResult result = std::move(answer).Result(absl::StrCat(described, " tools described"));
    if (described == 0 && !unknown.empty()) {
      result.set_is_error(true);
      result.mutable_error()->set_reason("TOOL_INVALID_ARGUMENT");
    }
    return result;
  }
};

class ToolCallTool final : public MetaTool {
 public:
  using MetaTool::MetaTool;

 private:
  absl::StatusOr<v1::ToolResult> Work(const ToolCall&) override {
    return absl::InvalidArgumentError(
        "This way no tool is reached: call the tool by its own name, with its own arguments.");
  }
};

template <typename T>
ToolFactory Factory(const v1::Tool& definition, bool reads, const MetaToolParts& parts) {
  return [definition, reads, parts] {
    v1::Tool tool = definition;
    tool.add_categories("basic");
    if (reads) {
      tool.mutable_annotations()->set_read_only(true);
      tool.mutable_annotations()->set_idempotent(true);
      tool.mutable_annotations()->set_open_world(false);
    }
    return std::make_pair(std::move(tool), std::shared_ptr<Tool>(std::make_shared<T>(parts)));
  };
}

}  // namespace

std::vector<ToolFactory> MetaTools(const MetaToolParts& parts) {
  return {Factory<ToolSearch>(ToolSearchDefinition(), true, parts),
          Factory<ToolDescribe>(ToolDescribeDefinition(), true, parts),
          Factory<ToolCallTool>(ToolCallDefinition(), false, parts)};
}

LoadedByMeta LoadedBy(const v1::ToolResult& result) {
  LoadedByMeta out;
  if (result.is_error()) return out;
  const std::optional<JsonText> all = ParseJsonText(result.structured_json());
  if (!all || !all->is_object()) return out;
  const auto names = [&all](const char* key, std::vector<std::string>& into) {
    const JsonText* list = all->Find(key);
    if (list == nullptr) return;
    for (const JsonText& item : list->items) {
      if (item.is_string()) into.push_back(item.text);
    }
  };
  names("loaded", out.newly);
  names("already_loaded", out.already);
  return out;
}

}  // namespace toolrack
