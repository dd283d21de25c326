// renderers, resolve, render, parse: prompts as a model sees them, and what it answers.
#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

// `PLACEMENT_API_TOOLS` → `api_tools`.
std::string Word(std::string name, absl::string_view prefix) {
  return absl::AsciiStrToLower(name.substr(std::min(prefix.size(), name.size())));
}

void PrintRenderers(CommandLine& line,
                    const google::protobuf::RepeatedPtrField<v1::Renderer>& renderers) {
  Table table({"NAME", "WRITES", "PLACEMENT", "DISCOVERY", "CACHE", "NATIVE", "DESCRIPTION"});
  for (const v1::Renderer& renderer : renderers) {
    std::vector<std::string> media;
    for (const int medium : renderer.media()) {
      media.push_back(
          Word(v1::RenderMedium_Name(static_cast<v1::RenderMedium>(medium)), "RENDER_MEDIUM_"));
    }
    const v1::RenderStrategy& strategy = renderer.strategy();
    table.Add({renderer.name(), absl::StrJoin(media, "/"),
               Word(v1::Placement_Name(strategy.placement()), "PLACEMENT_"),
               Word(v1::Discovery_Name(strategy.discovery()), "DISCOVERY_"),
               Word(v1::CacheImpact_Name(strategy.cache_impact()), "CACHE_IMPACT_"),
               renderer.native() ? "yes" : "no", renderer.description()});
  }
  table.Print(line.terminal().out, line.terminal().columns);
}

int Renderers(CommandLine& line) {
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const auto list = client->ListRenderers({}, line.Options(kPatience));
  if (!list.ok()) return line.Fail(list.status());
  if (line.json()) {
    line.PrintJson(*list);
  } else {
    PrintRenderers(line, list->renderers());
  }
  return kExitOk;
}

int Resolve(CommandLine& line, const std::string& model) {
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  v1::ResolveRendererRequest request;
  request.set_model(model);
  const auto found = client->ResolveRenderer(request, line.Options(kPatience));
  if (!found.ok()) return line.Fail(found.status());
  if (line.json()) {
    line.PrintJson(*found);
    return kExitOk;
  }
  if (found->renderers_size() > 0) PrintRenderers(line, found->renderers());
  line.terminal().err << Printable(found->message(), Lines::kJoin) << '\n';
  return kExitOk;
}

struct RenderSettings {
  std::vector<std::string> renderers;
  v1::RenderInitialRequest request;
  std::vector<std::string> categories, namespaces, loaded;
  std::string instructions;
  bool compare = false, json_medium = false, strict = false, normalise = false;
  std::string variant;
};

size_t BytesOf(const v1::Fragment& fragment) {
  return fragment.text().size() + fragment.json().size();
}

void PrintPrompt(CommandLine& line, const v1::RenderInitialResponse& prompt) {
  for (const v1::Fragment& fragment : prompt.fragments()) {
    line.PrintLine(absl::StrCat(
        "--- ", fragment.id(), ": ", Word(v1::Placement_Name(fragment.placement()), "PLACEMENT_"),
        fragment.role().empty() ? "" : absl::StrCat(", role ", fragment.role()), ", ",
        fragment.token_estimate(), " tokens (", prompt.token_method(), "), ", BytesOf(fragment),
        " bytes", fragment.cache_breakpoint() ? ", cache breakpoint" : ""));
    line.PrintText(fragment.has_json() ? fragment.json() : fragment.text());
  }
  std::ostream& err = line.terminal().err;
  for (const v1::RenderWarning& warning : prompt.warnings()) {
    err << Printable(
               absl::StrCat(warning.tool().empty() ? "" : warning.tool() + ": ", warning.rule(),
                            warning.pointer().empty() ? "" : " at " + warning.pointer(), ": ",
                            warning.message()),
               Lines::kJoin)
        << '\n';
  }
}

int Render(CommandLine& line, RenderSettings& settings) {
  v1::RenderInitialRequest& request = settings.request;
  for (const std::string& name : settings.categories)
    request.mutable_filters()->add_categories(name);
  for (const std::string& name : settings.namespaces)
    request.mutable_filters()->add_namespaces(name);
  for (const std::string& name : settings.loaded) request.add_loaded_tools(name);
  v1::RenderOptions& options = *request.mutable_options();
  options.set_instructions(settings.instructions);
  options.set_strict(settings.strict);
  options.set_normalise(settings.normalise);
  options.set_variant(settings.variant);
  if (settings.json_medium) options.set_medium(v1::RENDER_MEDIUM_JSON);
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  if (settings.renderers.empty()) {
    const auto list = client->ListRenderers({}, line.Options(kPatience));
    if (!list.ok()) return line.Fail(list.status());
    for (const v1::Renderer& renderer : list->renderers()) {
      settings.renderers.push_back(renderer.name());
    }
  }
  const bool compare = settings.compare || settings.renderers.size() > 1;
  Table table({"RENDERER", "TOKENS", "BYTES", "SHOWN", "DEFERRED", "CACHE", "WARNINGS"});
  for (const std::string& name : settings.renderers) {
    request.set_renderer(name);
    const auto prompt = client->RenderInitial(request, line.Options(kPatience));
    if (!prompt.ok()) return line.Fail(prompt.status());
    if (line.json()) {
      line.PrintJson(*prompt, compare);
    } else if (!compare) {
      PrintPrompt(line, *prompt);
    } else {
      uint64_t tokens = 0, bytes = 0;
      for (const v1::Fragment& fragment : prompt->fragments()) {
        tokens += fragment.token_estimate();
        bytes += BytesOf(fragment);
      }
      table.Add({name, absl::StrCat(tokens), absl::StrCat(bytes),
                 absl::StrCat(prompt->shown_size()), absl::StrCat(prompt->deferred_size()),
                 Word(v1::CacheImpact_Name(prompt->strategy().cache_impact()), "CACHE_IMPACT_"),
                 absl::StrCat(prompt->warnings_size())});
    }
  }
  if (compare && !line.json()) table.Print(line.terminal().out, line.terminal().columns);
  return kExitOk;
}

struct ParseSettings {
  v1::ParseOutputRequest request;
  std::string file = "-";
  bool provider = false;
};

int Parse(CommandLine& line, ParseSettings& settings) {
  std::stringstream text;
  if (settings.file == "-") {
    text << line.terminal().in.rdbuf();
  } else {
    std::ifstream in(settings.file, std::ios::binary);
    if (!in) return line.FailUsage(absl::StrCat("cannot read ", settings.file));
    text << in.rdbuf();
  }
  if (settings.provider) {
    settings.request.set_provider_json(text.str());
  } else {
    settings.request.set_text(text.str());
  }
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const auto parsed = client->ParseOutput(settings.request, line.Options(kPatience));
  if (!parsed.ok()) return line.Fail(parsed.status());
  if (line.json()) {
    line.PrintJson(*parsed);
    return kExitOk;
  }
  for (const v1::OutputEvent& event : parsed->events()) {
    switch (event.event_case()) {
      case v1::OutputEvent::kText:
        line.PrintText(absl::StrCat("text       ", event.text()));
        break;
      case v1::OutputEvent::kReasoning:
        line.PrintText(absl::StrCat("reasoning  ", event.reasoning()));
        break;
      case v1::OutputEvent::kCall:
        line.PrintText(absl::StrCat(
            event.call().complete() ? "call       " : "incomplete ", event.call().call_id(), " ",
            event.call().name().empty() ? absl::StrCat("(unknown) ", event.call().wire_name())
                                        : event.call().name(),
            " ", event.call().arguments_json()));
        break;
      case v1::OutputEvent::kMalformed:
        line.PrintText(absl::StrCat("malformed  ", event.malformed().reason(), ": ",
                                    event.malformed().span()));
        break;
      case v1::OutputEvent::EVENT_NOT_SET:
        break;
    }
  }
  for (const v1::OutputRepair& repair : parsed->repairs()) {
    line.PrintText(absl::StrCat("repair     ", repair.kind(),
                                repair.call_id().empty() ? "" : " in " + repair.call_id(),
                                " at byte ", repair.offset()));
  }
  return kExitOk;
}

}  // namespace

void AddPromptCommands(CLI::App& app, CommandLine& line) {
  app.add_subcommand("renderers", "Lists the renderers.")->callback([&line] {
    line.Choose([&line] { return Renderers(line); });
  });

  auto model = std::make_shared<std::string>();
  CLI::App* resolve = app.add_subcommand("resolve", "Says which renderers suit a model.");
  resolve->add_option("MODEL", *model, "A model id or a provider scheme.")->required();
  resolve->callback(
      [&line, model] { line.Choose([&line, model] { return Resolve(line, *model); }); });

  auto settings = std::make_shared<RenderSettings>();
  CLI::App* render = app.add_subcommand(
      "render", "Shows a prompt as the model sees it; several renderers side by side.");
  render->add_option("RENDERER", settings->renderers, "Their names; none: all.");
  render->add_flag("--compare", settings->compare, "Only the figures, also for one renderer.");
  render->add_option("--category", settings->categories, "Only this category; may be repeated.");
  render->add_option("--namespace", settings->namespaces, "Only this namespace; may be repeated.");
  render->add_option("--loaded", settings->loaded, "A tool that was loaded; may be repeated.");
  render->add_option("--instructions", settings->instructions, "Text of the system message.");
  render->add_option("--variant", settings->variant, "E.g. jinja, for harmony.");
  render->add_flag("--api", settings->json_medium,
                   "The provider's JSON, for renderers of both forms.");
  render->add_flag("--strict", settings->strict, "Strict schemas where they can be had.");
  render->add_flag("--normalise", settings->normalise, "Plainer schemas.");
  render->callback(
      [&line, settings] { line.Choose([&line, settings] { return Render(line, *settings); }); });

  auto parsing = std::make_shared<ParseSettings>();
  CLI::App* parse = app.add_subcommand("parse", "Finds the calls in what a model wrote.");
  parse
      ->add_option_function<std::string>(
          "RENDERER", [parsing](const std::string& name) { parsing->request.set_renderer(name); },
          "The renderer of its prompt.")
      ->required();
  parse->add_option("FILE", parsing->file, "The output; - is standard input.");
  parse->add_flag("--provider", parsing->provider, "It is a provider's JSON.");
  parse->callback(
      [&line, parsing] { line.Choose([&line, parsing] { return Parse(line, *parsing); }); });
}

}  // namespace toolrack
