#include "renderers/catalog.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "registry/base/errors.h"
#include "renderers/families.h"

namespace toolrack {
namespace {

constexpr std::array<Disclosure, 4> kDisclosures = {Disclosure::kUpfront, Disclosure::kDeferred,
                                                    Disclosure::kDispatcher, Disclosure::kRolling};

struct Alias {
  absl::string_view alias;
  absl::string_view name;
};
constexpr Alias kAliases[] = {{"rolling_developer", "harmony_rolling"}};

std::vector<CatalogRule> ClosedRules() {
  return {
      // Provider schemes.
      {"anthropic", {"claude_deferred", "anthropic_deferred", "anthropic", "claude"}},
      {"bedrock", {"anthropic_deferred", "anthropic"}},
      {"openai_chat", {"openai_chat", "openai_chat_deferred", "openai_chat_dispatcher"}},
      {"openai_responses", {"openai_responses_deferred", "openai_responses", "harmony_upfront"}},
      {"openai", {"openai_responses_deferred", "openai_responses", "openai_chat"}},
      {"azure", {"openai_chat", "openai_responses"}},
      {"gemini", {"gemini", "gemini_dispatcher"}},
      {"vllm", {"openai_chat", "openai_chat_dispatcher"}},
      {"sglang", {"openai_chat", "openai_chat_dispatcher"}},
      {"llamacpp", {"openai_chat", "openai_chat_dispatcher"}},
      {"ollama", {"openai_chat", "openai_chat_dispatcher"}},
      {"lmstudio", {"openai_chat", "openai_chat_dispatcher"}},
      {"openrouter", {"openai_chat", "openai_chat_dispatcher"}},
      // Models.
      {"*gpt-oss*", {"harmony_upfront", "harmony_dispatcher", "rolling_developer"}},
      {"*claude-1*", {"claude"}},
      {"*claude-2*", {"claude"}},
      {"*claude-instant*", {"claude"}},
      {"*claude-3*", {"anthropic", "claude"}},
      {"*claude*", {"claude_deferred", "anthropic_deferred", "anthropic", "claude"}},
      {"gpt-5.[4-9]*", {"openai_responses_deferred", "openai_responses", "openai_chat"}},
      {"gpt-[6-9]*", {"openai_responses_deferred", "openai_responses", "openai_chat"}},
      {"gpt-5*", {"openai_responses", "openai_chat", "openai_chat_dispatcher"}},
      {"gpt-4*", {"openai_chat", "openai_responses", "openai_chat_dispatcher"}},
      {"gpt-3.5*", {"openai_chat", "openai_chat_dispatcher"}},
      {"chatgpt-*", {"openai_chat", "openai_responses"}},
      {"codex-*", {"openai_responses", "openai_chat"}},
      {"o[1-9]*", {"openai_responses", "openai_chat"}},
      {"gemini-*", {"gemini", "gemini_dispatcher"}},
  };
}

const std::vector<CatalogRule>& BuiltInRules() {
  static const auto* kRules = [] {
    auto* rules = new std::vector<CatalogRule>(ClosedRules());
    for (CatalogRule& rule : FamilyRules()) rules->push_back(std::move(rule));
    return rules;
  }();
  return *kRules;
}

// A glob with `*` and, if `sets`, one-character sets `[a-z]`.
bool Glob(absl::string_view pattern, absl::string_view text, bool sets) {
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      pattern.remove_prefix(1);
      for (size_t skip = 0; skip <= text.size(); ++skip) {
        if (Glob(pattern, text.substr(skip), sets)) return true;
      }
      return false;
    }
    if (text.empty()) return false;
    if (sets && pattern[0] == '[' && pattern.size() >= 5 && pattern[2] == '-' &&
        pattern[4] == ']') {
      if (text[0] < pattern[1] || text[0] > pattern[3]) return false;
      pattern.remove_prefix(5);
    } else {
      if (pattern[0] != text[0]) return false;
      pattern.remove_prefix(1);
    }
    text.remove_prefix(1);
  }
  return text.empty();
}

// `Owner/Model.Q4_K_M.gguf` → `model.q4_k_m`: what the patterns see.
std::string ModelKey(absl::string_view model) {
  std::string key = absl::AsciiStrToLower(absl::StripAsciiWhitespace(model));
  if (const size_t slash = key.rfind('/'); slash != std::string::npos) key.erase(0, slash + 1);
  if (absl::EndsWith(key, ".gguf")) key.resize(key.size() - 5);
  return key;
}

bool IsNameOf(const Dialect& dialect, absl::string_view name) {
  return dialect.name == name ||
         std::find(dialect.aliases.begin(), dialect.aliases.end(), name) != dialect.aliases.end();
}

absl::string_view CacheNote(const RendererSpec& spec) {
  const bool stable =
      spec.disclosure == Disclosure::kDeferred || spec.disclosure == Disclosure::kDispatcher;
  switch (spec.dialect->order) {
    case PromptOrder::kToolsSystemMessages:
      return stable
                 ? "tools, system and messages stay cached; what is loaded is appended"
                 : "a changed definition, also its order, invalidates tools, system and messages";
    case PromptOrder::kFlatPrefix:
      return stable ? "the prefix stays cached; what is loaded is appended"
                    : "everything from the first changed byte of the tools on is lost";
    case PromptOrder::kDateEffortTools:
      return stable
                 ? "the prefix stays cached while date and reasoning effort, which stand before "
                   "the tools, are pinned"
                 : "date and reasoning effort stand before the tools: a change of any of the three "
                   "loses all behind it";
  }
  return "";
}

}  // namespace

absl::string_view DisclosureName(Disclosure disclosure) {
  switch (disclosure) {
    case Disclosure::kUpfront:
      return "upfront";
    case Disclosure::kDeferred:
      return "deferred";
    case Disclosure::kDispatcher:
      return "dispatcher";
    case Disclosure::kRolling:
      return "rolling";
  }
  return "";
}

std::string RendererSpec::name() const {
  return absl::StrCat(dialect->name, "_", DisclosureName(disclosure));
}

absl::StatusOr<RendererSpec> FindRenderer(absl::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.alias == name) return FindRenderer(alias.name);
  }
  for (const Dialect& dialect : AllDialects()) {
    if (IsNameOf(dialect, name)) return RendererSpec{&dialect, Disclosure::kUpfront};
    for (const Disclosure disclosure : kDisclosures) {
      absl::string_view bare = name;
      if (absl::ConsumeSuffix(&bare, DisclosureName(disclosure)) &&
          absl::ConsumeSuffix(&bare, "_") && IsNameOf(dialect, bare)) {
        return RendererSpec{&dialect, disclosure};
      }
    }
  }
  // There are too many to list them.
  return RequestInvalid("renderer", name,
                        "the name or alias of a renderer; ListRenderers has them all, and "
                        "ResolveRenderer those of a model");
}

absl::StatusOr<RendererSpec> WithMedium(const RendererSpec& spec, v1::RenderMedium medium) {
  if (medium == v1::RENDER_MEDIUM_UNSPECIFIED || medium == spec.dialect->medium) return spec;
  const Dialect* sibling = FindDialect(spec.dialect->sibling);
  if (sibling == nullptr || sibling->medium != medium) {
    return RequestInvalid("options.medium", v1::RenderMedium_Name(medium),
                          absl::StrCat("what ", spec.name(),
                                       " writes: ", v1::RenderMedium_Name(spec.dialect->medium)));
  }
  return RendererSpec{sibling, spec.disclosure};
}

v1::RenderStrategy StrategyOf(const RendererSpec& spec) {
  v1::RenderStrategy strategy;
  strategy.set_placement(spec.dialect->placement);
  switch (spec.disclosure) {
    case Disclosure::kUpfront:
      strategy.set_discovery(v1::DISCOVERY_ALWAYS_VISIBLE);
      strategy.set_cache_impact(v1::CACHE_IMPACT_REWIND_TO_BOUNDARY);
      break;
    case Disclosure::kDeferred:
      strategy.set_discovery(v1::DISCOVERY_META_TOOL);
      strategy.set_cache_impact(v1::CACHE_IMPACT_PREFIX_STABLE);
      // What comes later comes there.
      strategy.set_placement(v1::PLACEMENT_TOOL_RESULT_STREAM);
      break;
    case Disclosure::kDispatcher:
      strategy.set_discovery(v1::DISCOVERY_STATIC);
      strategy.set_cache_impact(v1::CACHE_IMPACT_PREFIX_STABLE);
      break;
    case Disclosure::kRolling:
      strategy.set_discovery(v1::DISCOVERY_META_TOOL);
      strategy.set_cache_impact(v1::CACHE_IMPACT_REWIND_TO_BOUNDARY);
      break;
  }
  strategy.set_cache_note(std::string(CacheNote(spec)));
  return strategy;
}

v1::Renderer DescribeRenderer(const RendererSpec& spec) {
  const Dialect& dialect = *spec.dialect;
  v1::Renderer out;
  out.set_name(spec.name());
  if (spec.disclosure == Disclosure::kUpfront) {
    out.add_aliases(std::string(dialect.name));
    for (const absl::string_view alias : dialect.aliases) out.add_aliases(std::string(alias));
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == spec.name()) out.add_aliases(std::string(alias.alias));
  }
  out.set_dialect(std::string(dialect.name));
  out.set_disclosure(std::string(DisclosureName(spec.disclosure)));
  out.add_media(dialect.medium);
  if (const Dialect* sibling = FindDialect(dialect.sibling)) out.add_media(sibling->medium);
  *out.mutable_strategy() = StrategyOf(spec);
  out.set_native(std::find(dialect.native.begin(), dialect.native.end(),
                           DisclosureName(spec.disclosure)) != dialect.native.end());
  for (const absl::string_view stop : dialect.stop_strings) out.add_stop_strings(std::string(stop));
  out.set_max_name_length(static_cast<uint32_t>(dialect.max_name));
  out.set_dots_in_names(dialect.dots_in_names);
  out.set_description(std::string(dialect.description));
  return out;
}

std::vector<RendererSpec> AllRenderers() {
  std::vector<RendererSpec> all;
  for (const Dialect& dialect : AllDialects()) {
    for (const Disclosure disclosure : kDisclosures) all.push_back({&dialect, disclosure});
  }
  std::sort(all.begin(), all.end(),
            [](const RendererSpec& a, const RendererSpec& b) { return a.name() < b.name(); });
  return all;
}

v1::ResolveRendererResponse ResolveRenderer(absl::string_view model,
                                            const std::vector<CatalogRule>& configured) {
  v1::ResolveRendererResponse out;
  const std::string key = ModelKey(model);
  const std::string whole = absl::AsciiStrToLower(absl::StripAsciiWhitespace(model));
  const auto decide = [&out](const CatalogRule& rule, absl::string_view whose) {
    for (const std::string& name : rule.renderers) {
      if (const auto spec = FindRenderer(name); spec.ok()) {
        *out.add_renderers() = DescribeRenderer(*spec);
      }
    }
    out.set_rule(rule.pattern);
    out.set_message(absl::StrCat("by ", whose, " ", ForMessage(rule.pattern)));
    return out;
  };
  for (const CatalogRule& rule : configured) {
    const std::string pattern = absl::AsciiStrToLower(rule.pattern);
    if (!key.empty() && (Glob(pattern, key, false) || Glob(pattern, whole, false))) {
      return decide(rule, "the configuration's rule");
    }
  }
  for (const CatalogRule& rule : BuiltInRules()) {
    if (!key.empty() && Glob(rule.pattern, key, true)) return decide(rule, "the rule");
  }
  out.set_message(absl::StrCat(
      "no rule of the catalogue knows \"", ForMessage(model),
      "\"; name a renderer yourself (ListRenderers) or add a rule to the configuration"));
  return out;
}

}  // namespace toolrack
