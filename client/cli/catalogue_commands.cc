// list, describe, search: what tools there are.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/command_line.h"
#include "client/cli/enum_text.h"
#include "client/cli/exit_code.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

namespace toolrack {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

struct ListOptions {
  v1::ListToolsRequest request;
  std::vector<std::string> categories;
  std::vector<std::string> namespaces;
  bool full = false;
  size_t limit = SIZE_MAX;
};

template <typename Request>
void SetFilters(Request& request, const std::vector<std::string>& categories,
                const std::vector<std::string>& namespaces) {
  *request.mutable_categories() = {categories.begin(), categories.end()};
  *request.mutable_namespaces() = {namespaces.begin(), namespaces.end()};
}

int List(CommandLine& line, ListOptions& options) {
  SetFilters(options.request, options.categories, options.namespaces);
  options.request.set_view(options.full ? v1::TOOL_VIEW_FULL : v1::TOOL_VIEW_BASIC);
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const auto tools = client->ListAllTools(options.request, line.Options(kPatience), options.limit);
  if (!tools.ok()) return line.Fail(tools.status());
  if (line.json()) {
    line.PrintJson(*tools);
    return kExitOk;
  }
  Table table({"NAME", "STATE", "RISK", "CATEGORIES", "DESCRIPTION"});
  for (const v1::Tool& tool : tools->tools()) {
    table.Add({tool.name(), ToolStateText(tool.state()), RiskText(tool.risk()),
               absl::StrJoin(tool.categories(), ","), tool.description()});
  }
  table.Print(line.terminal().out, line.terminal().columns);
  if (tools->tools_size() < tools->total_size()) {
    line.terminal().err << tools->tools_size() << " of " << tools->total_size() << " tools\n";
  }
  return kExitOk;
}

void PrintField(CommandLine& line, absl::string_view name, absl::string_view value) {
  if (value.empty()) return;
  line.PrintLine(
      absl::StrFormat("%-13s %s", absl::StrCat(name, ":"), Printable(value, Lines::kJoin)));
}

std::string AnnotationsText(const v1::ToolAnnotations& hints) {
  std::vector<std::string> said;
  const auto say = [&said](bool has, bool value, const char* name) {
    if (has) said.push_back(absl::StrCat(value ? "" : "not ", name));
  };
  say(hints.has_read_only(), hints.read_only(), "read-only");
  say(hints.has_destructive(), hints.destructive(), "destructive");
  say(hints.has_idempotent(), hints.idempotent(), "idempotent");
  say(hints.has_open_world(), hints.open_world(), "open-world");
  return absl::StrJoin(said, ", ");
}

void PrintTool(CommandLine& line, const v1::Tool& tool) {
  PrintField(line, "name", tool.name());
  PrintField(line, "title", tool.title());
  PrintField(line, "state", ToolStateText(tool.state()));
  PrintField(line, "risk", RiskText(tool.risk()));
  PrintField(line, "categories", absl::StrJoin(tool.categories(), ", "));
  PrintField(line, "hints", AnnotationsText(tool.annotations()));
  PrintField(line, "source", absl::StrCat(tool.source().kind(), " ", tool.source().id()));
  PrintField(line, "original name", tool.source().original_name());
  PrintField(line, "takes", tool.raw_input() ? "plain text or JSON" : "JSON");
  if (tool.scope() == v1::TOOL_SCOPE_SESSION) PrintField(line, "scope", "one instance a session");
  if (tool.has_timeout()) PrintField(line, "timeout", DurationText(tool.timeout()));
  if (tool.max_concurrency() > 0) {
    PrintField(line, "at once", absl::StrCat(tool.max_concurrency()));
  }
  PrintField(line, "digest", tool.digest());
  PrintField(line, "revision", absl::StrCat(tool.revision()));
  for (const v1::Finding& finding : tool.findings()) {
    PrintField(line, "finding",
               absl::StrCat(SeverityText(finding.severity()), " ",
                            finding.target().empty() ? "" : finding.target() + " ", finding.rule(),
                            " ", finding.pointer(), ": ", finding.message()));
  }
  for (const std::string& example : tool.examples()) PrintField(line, "example", example);
  if (!tool.description().empty()) {
    line.PrintLine("");
    line.PrintText(tool.description());
  }
  if (!tool.input_schema().empty()) {
    line.PrintLine("\ninput schema:");
    line.PrintText(tool.input_schema());
  }
  if (!tool.output_schema().empty()) {
    line.PrintLine("\noutput schema:");
    line.PrintText(tool.output_schema());
  }
}

int Describe(CommandLine& line, const std::string& name, bool only_schema) {
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  v1::DescribeToolRequest request;
  request.set_name(name);
  const auto tool = client->DescribeTool(request, line.Options(kPatience));
  if (!tool.ok()) return line.Fail(tool.status());
  if (only_schema) {
    line.PrintText(tool->input_schema());
  } else if (line.json()) {
    line.PrintJson(*tool);
  } else {
    PrintTool(line, *tool);
  }
  return kExitOk;
}

struct SearchOptions {
  v1::SearchToolsRequest request;
  std::vector<std::string> words;
  std::vector<std::string> categories;
  std::vector<std::string> namespaces;
  bool regex = false;
  bool select = false;
  bool full = false;
};

int Search(CommandLine& line, SearchOptions& options) {
  v1::SearchToolsRequest& request = options.request;
  request.set_query(absl::StrJoin(options.words, options.select ? "," : " "));
  request.set_mode(options.regex    ? v1::SEARCH_MODE_REGEX
                   : options.select ? v1::SEARCH_MODE_SELECT
                                    : v1::SEARCH_MODE_RANKED);
  request.set_detail(options.full ? v1::TOOL_VIEW_FULL : v1::TOOL_VIEW_BASIC);
  SetFilters(request, options.categories, options.namespaces);
  const auto client = line.Connect(Scope::kAgent);
  if (client == nullptr) return kExitUsage;
  const auto found = client->SearchTools(request, line.Options(kPatience));
  if (!found.ok()) return line.Fail(found.status());
  if (line.json()) {
    line.PrintJson(*found);
    return kExitOk;
  }
  if (found->hits_size() > 0) {
    Table table({"NAME", "SCORE", "MATCH", "SNIPPET"});
    for (const v1::SearchHit& hit : found->hits()) {
      table.Add({hit.tool().name(), absl::StrFormat("%.2f", hit.score()), hit.match(),
                 hit.snippet().empty() ? hit.tool().description() : hit.snippet()});
    }
    table.Print(line.terminal().out, line.terminal().columns);
  }
  const auto note = [&line](absl::string_view head, const std::string& text) {
    if (!text.empty()) line.terminal().err << head << Printable(text, Lines::kJoin) << '\n';
  };
  note("more: ", absl::StrJoin(found->more_names(), ", "));
  note("did you mean: ", absl::StrJoin(found->suggestions(), ", "));
  note("", found->message());
  return kExitOk;
}

template <typename Options>
void AddFilters(CLI::App& command, Options& options) {
  command.add_option("--category", options.categories, "Only this category; may be repeated.");
  command.add_option("--namespace", options.namespaces, "Only this namespace; may be repeated.");
  command.add_flag("--full", options.full, "With --json: schemas, examples and metadata too.");
}

}  // namespace

void AddCatalogueCommands(CLI::App& app, CommandLine& line) {
  auto list_options = std::make_shared<ListOptions>();
  CLI::App* list = app.add_subcommand("list", "Lists the tools, sorted by name.");
  list->add_option_function<std::string>(
      "PREFIX",
      [list_options](const std::string& prefix) { list_options->request.set_name_prefix(prefix); },
      "Only names that start so.");
  AddFilters(*list, *list_options);
  list->add_flag_callback(
      "--quarantined", [list_options] { list_options->request.set_show_quarantined(true); },
      "Also the tools that are held back.");
  list->add_option("--limit", list_options->limit, "At most so many.")->check(CLI::PositiveNumber);
  list->callback([&line, list_options] {
    line.Choose([&line, list_options] { return List(line, *list_options); });
  });

  auto name = std::make_shared<std::string>();
  auto only_schema = std::make_shared<bool>(false);
  CLI::App* describe = app.add_subcommand("describe", "Shows one tool, whole.");
  describe->add_option("NAME", *name, "Its canonical name.")->required();
  describe->add_flag("--schema", *only_schema, "Only the input schema, as it was registered.");
  describe->callback([&line, name, only_schema] {
    line.Choose([&line, name, only_schema] { return Describe(line, *name, *only_schema); });
  });

  auto search_options = std::make_shared<SearchOptions>();
  CLI::App* search = app.add_subcommand("search", "Finds tools by what they do.");
  search->add_option("WORDS", search_options->words,
                     "What is wanted; without: which categories and servers there are.");
  CLI::Option* regex =
      search->add_flag("--regex", search_options->regex, "WORDS is an RE2 regular expression.");
  search->add_flag("--select", search_options->select, "WORDS are exact names.")->excludes(regex);
  search->add_option_function<int>(
      "-n,--max", [search_options](const int& n) { search_options->request.set_max_results(n); },
      "At most so many hits (5).");
  AddFilters(*search, *search_options);
  search->callback([&line, search_options] {
    line.Choose([&line, search_options] { return Search(line, *search_options); });
  });
}

}  // namespace toolrack
