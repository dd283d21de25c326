#include "server/services/prompts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

std::vector<std::string> LoadedNames(const Session& session) {
  std::vector<std::string> names;
  for (v1::LoadedTool& tool : session.loaded_tools())
    names.push_back(std::move(*tool.mutable_name()));
  return names;
}

// Whether the prefix shows this definition of the tool from its beginning on.
bool Shows(const PromptBase& base, const v1::Tool& tool) {
  const PinnedTools::Item* item = base.tools->Find(tool.name());
  if (item == nullptr || item->definition->tool.digest() != tool.digest()) return false;
  return item->definition->tool.always_load() ||
         std::binary_search(base.loaded.begin(), base.loaded.end(), tool.name());
}

}  // namespace

std::vector<CatalogRule> ConfiguredRules(const v1::RenderersConfig& config) {
  std::vector<CatalogRule> out;
  for (const v1::RendererRule& rule : config.rules()) {
    for (const std::string& model : rule.models()) {
      out.push_back({model, {rule.renderers().begin(), rule.renderers().end()}});
    }
  }
  return out;
}

absl::StatusOr<Prompts::Target> Prompts::Find(const std::string& session_id,
                                              const std::string& renderer, const std::string& who) {
  Target target;
  target.who = who;
  std::string name = renderer;
  if (!session_id.empty()) {
    TR_ASSIGN_OR_RETURN(target.session, parts_.sessions->Enter(session_id, who));
    if (name.empty()) name = target.session->renderer();
    if (name.empty() && !target.session->model().empty()) {
      const v1::ResolveRendererResponse found = Resolve(target.session->model());
      if (found.renderers().empty()) {
        return RequestInvalid(
            "renderer", "", absl::StrCat("a renderer, for the session's model: ", found.message()));
      }
      name = found.renderers(0).name();
    }
  }
  if (name.empty()) {
    return RequestInvalid("renderer", "",
                          session_id.empty() ? "a renderer's name; ListRenderers has them"
                                             : "a renderer's name, since the session was opened "
                                               "without one; ListRenderers has them");
  }
  TR_ASSIGN_OR_RETURN(target.spec, FindRenderer(name));
  return target;
}

ToolViewPtr Prompts::View(const PinnedTools& tools, const Target& target,
                          const v1::RenderFilters& filters) {
  return View(tools, target, filters,
              target.session ? target.session->filters() : v1::ToolFilter());
}

ToolViewPtr Prompts::View(const PinnedTools& tools, const Target& target,
                          const v1::RenderFilters& filters, const v1::ToolFilter& session_filters) {
  // Before the rules themselves: rules that change in between are kept under an older version.
  const std::string seen_by = absl::StrCat(parts_.policy->version(), " ", target.who);
  return cache_.View(tools, filters, session_filters, seen_by,
                     parts_.policy->VisibilityOf(target.who));
}

ToolViewPtr Prompts::Newest(const Target& target, const v1::RenderFilters& filters) {
  return View(*parts_.sessions->Newest(), target, filters);
}

ToolViewPtr Prompts::Prefix(const Target& target, const v1::RenderFilters& filters) {
  if (!target.session) return Newest(target, filters);
  return View(*target.session->prompt().Peek().tools, target, filters);
}

ToolViewPtr Prompts::Offered(const Target& target, const v1::RenderFilters& filters) {
  ToolViewPtr newest = View(*parts_.sessions->Newest(), target, filters, v1::ToolFilter());
  if (!target.session) return newest;
  return cache_.Joined(std::move(newest), Prefix(target, filters));
}

std::shared_ptr<const v1::RenderInitialResponse> Prompts::Render(const Target& target,
                                                                 const PromptBase& base,
                                                                 const v1::RenderFilters& filters,
                                                                 RenderInput input) {
  const ToolViewPtr view = View(*base.tools, target, filters);
  input.tools = view->tools();
  input.loaded.insert(input.loaded.end(), base.loaded.begin(), base.loaded.end());
  input.tokens = parts_.tokens;
  return cache_.Initial(target.spec, *view, std::move(input));
}

std::shared_ptr<const v1::RenderInitialResponse> Prompts::Initial(const Target& target,
                                                                  const v1::RenderFilters& filters,
                                                                  RenderInput input) {
  if (!target.session) {
    return Render(target, {parts_.sessions->Newest(), {}}, filters, std::move(input));
  }
  Session& session = *target.session.get();
  return Render(target, session.prompt().Base(LoadedNames(session)), filters, std::move(input));
}

std::shared_ptr<const v1::RenderInitialResponse> Prompts::Boundary(const Target& target,
                                                                   const v1::RenderFilters& filters,
                                                                   RenderInput input) {
  if (!target.session) return Initial(target, filters, std::move(input));
  const PromptBase base = target.session.get()->Boundary(parts_.sessions->Newest(),
                                                         parts_.policy->VisibilityOf(target.who));
  return Render(target, base, filters, std::move(input));
}

v1::RenderChangesResponse Prompts::Changes(const Target& target, const v1::RenderFilters& filters,
                                           RenderInput input, std::vector<std::string> known) {
  const PinnedToolsPtr now = parts_.sessions->Newest();
  const ToolViewPtr view = View(*now, target, filters);
  if (target.session) {
    const PinnedToolsPtr told = target.session.get()->prompt().Tell(now);
    known.clear();
    for (const v1::Tool* tool : View(*told, target, filters)->tools())
      known.push_back(tool->name());
  }
  input.tools = view->tools();
  input.tokens = parts_.tokens;
  return RenderChanges(target.spec, input, known);
}

v1::RenderToolLoadResponse Prompts::Load(const Target& target, RenderInput input,
                                         const std::vector<std::string>& names,
                                         absl::string_view call_id) {
  const ToolViewPtr view = View(*parts_.sessions->Newest(), target, {}, v1::ToolFilter());
  input.tools = view->tools();
  input.tokens = parts_.tokens;
  if (!target.session) return RenderToolLoad(target.spec, input, names, call_id);
  const PromptBase base = target.session.get()->prompt().Peek();
  std::vector<std::string> fresh;
  for (const std::string& name : names) {
    const v1::Tool* tool = view->Find(name);
    if (tool == nullptr || !Shows(base, *tool)) fresh.push_back(name);
  }
  return RenderToolLoad(target.spec, input, fresh, call_id);
}

}  // namespace toolrack
