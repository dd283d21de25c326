// Prompts of sessions: a pinned prefix, deltas told once, boundaries that renew everything.
#include "server/services/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "renderers/output_parser.h"
#include "tests/registry/fake_backend.h"
#include "tests/testing/fakes_time.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Whole(const v1::RenderInitialResponse& prompt) {
  std::string out;
  for (const v1::Fragment& fragment : prompt.fragments()) {
    absl::StrAppend(&out, fragment.id(), ":", fragment.text(), fragment.json(), "\n");
  }
  return out;
}

// A registry whose tools come and go, and sessions over it.
class World {
 public:
  explicit World(v1::PolicyConfig policy = {}, v1::RenderersConfig renderers = {})
      : policy_(policy), prompts_({&registry_, &sessions_, &policy_}, renderers) {}

  void Set(const std::string& name, const std::string& description,
           const std::string& category = "basic") {
    v1::Tool& tool = tools_[name];
    tool.set_name(name);
    tool.set_description(description);
    tool.clear_categories();
    tool.add_categories(category);
    tool.set_input_schema(R"({"type":"object","properties":{"x":{"type":"string"}}})");
    Publish();
  }
  void AlwaysLoad(const std::string& name) {
    tools_[name].set_always_load(true);
    Publish();
  }
  void Remove(const std::string& name) {
    tools_.erase(name);
    Publish();
  }
  void Enable(const std::string& name, bool enabled) {
    ASSERT_TRUE(registry_.SetToolEnabled("w__" + name, enabled).ok());
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& [name, tool] : tools_) names.insert("w__" + name);
    return names;
  }

  std::string Open(const std::string& renderer, v1::OpenSessionRequest request = {}) {
    if (!renderer.empty()) request.set_renderer(renderer);
    return sessions_.Open(request, "me")->session_id();
  }
  void Load(const std::string& session, const std::string& name) {
    v1::LoadToolsRequest request;
    request.set_session_id(session);
    request.add_names("w__" + name);
    ASSERT_EQ(sessions_.Load(request, std::nullopt)->not_loaded_size(), 0);
  }
  Prompts::Target Target(const std::string& session, const std::string& renderer = "") {
    return *prompts_.Find(session, renderer, "me");
  }
  v1::RenderInitialResponse Initial(const std::string& session) {
    return *prompts_.Initial(Target(session), {}, {{}, {}, 0, options_, nullptr});
  }
  v1::RenderInitialResponse Boundary(const std::string& session) {
    return *prompts_.Boundary(Target(session), {}, {{}, {}, 0, options_, nullptr});
  }
  v1::RenderChangesResponse Changes(const std::string& session) {
    return prompts_.Changes(Target(session), {}, {{}, {}, 0, options_, nullptr}, {});
  }
  v1::RenderToolLoadResponse Loads(const std::string& session,
                                   const std::vector<std::string>& names) {
    return prompts_.Load(Target(session), {{}, {}, 0, options_, nullptr}, names, "");
  }

  FakeClock clock_;
  FakeTimers timers_{&clock_};
  Registry registry_{RegistryOptions()};
  Policy policy_;
  SessionTable sessions_{{&registry_, &timers_, &clock_,
                          [this](absl::string_view who) { return policy_.VisibilityOf(who); }},
                         {}};
  Prompts prompts_;
  v1::RenderOptions options_ = [] {
    v1::RenderOptions options;
    options.set_defer_above_tools(0);
    return options;
  }();

 private:
  void Publish() {
    std::vector<v1::Tool> set;
    for (const auto& [name, tool] : tools_) set.push_back(tool);
    ASSERT_TRUE(registry_.Publish(worker_, "w", std::move(set), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  }
  std::shared_ptr<FakeBackend> worker_ = MakeWorker("w");
  std::map<std::string, v1::Tool> tools_;
};

std::vector<std::string> Listed(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return {names.begin(), names.end()};
}

TEST(PromptsTest, ASessionsRendererOrModelCounts) {
  v1::RenderersConfig config;
  v1::RendererRule& rule = *config.add_rules();
  rule.add_models("acme-*");
  rule.add_renderers("gemini_dispatcher");
  World world({}, config);
  EXPECT_EQ(world.Target(world.Open("rolling_developer")).spec.name(), "harmony_rolling");
  v1::OpenSessionRequest request;
  request.set_model("Acme-7b");
  EXPECT_EQ(world.Target(world.Open("", request)).spec.name(), "gemini_dispatcher");
  EXPECT_EQ(world.Target(world.Open("", request), "claude").spec.name(), "claude_upfront");
  request.set_model("hal-9000");
  const absl::Status unknown = world.prompts_.Find(world.Open("", request), "", "me").status();
  EXPECT_EQ(ReasonOf(unknown), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_TRUE(absl::StrContains(unknown.message(), "hal-9000"));
  EXPECT_EQ(ReasonOf(world.prompts_.Find(world.Open(""), "", "me").status()),
            v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(ReasonOf(world.prompts_.Find(world.Open("claude"), "", "you").status()),
            v1::ERROR_REASON_SESSION_NOT_FOUND);
}

TEST(PromptsTest, ItsFiltersAndWhatIsHiddenCount) {
  v1::PolicyConfig policy;
  v1::PolicyRule& rule = *policy.add_rules();
  rule.set_action("deny");
  rule.add_tools("w__secret");
  World world(policy);
  world.Set("a", "d", "file");
  world.Set("b", "d", "net");
  world.Set("secret", "d", "file");
  v1::OpenSessionRequest request;
  request.mutable_filters()->add_categories("file");
  const std::string session = world.Open("openai_chat", request);
  EXPECT_THAT(Listed(world.Initial(session).shown()), ElementsAre("w__a"));
  v1::RenderFilters none;
  none.add_names("w__b");
  EXPECT_THAT(world.prompts_.Prefix(world.Target(session), none)->tools(), IsEmpty());
  world.Set("c", "d", "file");
  world.Set("d", "d", "net");
  EXPECT_THAT(Listed(world.Changes(session).added()), ElementsAre("w__c"));
}

TEST(PromptsTest, OtherRulesHideAtOnce) {
  World world;
  world.Set("a", "d");
  world.Set("b", "d");
  const std::string session = world.Open("openai_chat");
  EXPECT_THAT(Listed(world.Initial(session).shown()), ElementsAre("w__a", "w__b"));
  for (const char* name : {"w__a", "w__b"}) {
    v1::PolicyConfig policy;
    v1::PolicyRule& rule = *policy.add_rules();
    rule.set_action("deny");
    rule.add_tools(name);
    world.policy_.Reload(policy);
    EXPECT_EQ(world.Initial(session).shown_size(), 1) << name;
    EXPECT_FALSE(absl::StrContains(Whole(world.Initial(session)), name));
  }
}

TEST(PromptsTest, ThePrefixIsPinnedAndWhatIsLoadedLaterIsAppended) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.Set(name, "first");
  v1::OpenSessionRequest request;
  request.add_loaded_tools("w__a");
  const std::string session = world.Open("claude_deferred", request);
  const uint64_t pinned = world.sessions_.Get(session, std::nullopt)->pinned_revision();
  EXPECT_EQ(pinned, world.registry_.snapshot()->revision());
  world.Load(session, "b");  // before the first rendering: part of the prefix
  const auto first = world.Initial(session);
  EXPECT_TRUE(absl::StrContains(Whole(first), "\"name\": \"w__b\""));
  EXPECT_FALSE(absl::StrContains(Whole(first), "\"name\": \"w__c\""));
  world.Load(session, "c");
  world.Set("a", "second");
  world.Remove("b");
  EXPECT_EQ(Whole(world.Initial(session)), Whole(first));
  EXPECT_EQ(world.Initial(session).revision(), first.revision());
  // What is loaded comes as it is now, unless the prefix shows just that.
  const auto loaded = world.Loads(session, {"w__a", "w__c", "w__nobody"});
  EXPECT_TRUE(absl::StrContains(loaded.fragments(0).text(), "\"second\", \"name\": \"w__a\""));
  EXPECT_TRUE(absl::StrContains(loaded.fragments(0).text(), "\"name\": \"w__c\""));
  EXPECT_THAT(Listed(loaded.unknown()), ElementsAre("w__nobody"));
  world.Set("a", "first");
  EXPECT_EQ(world.Loads(session, {"w__a"}).fragments_size(), 0);
}

TEST(PromptsTest, ARemovedToolOfThePrefixIsStillACall) {
  World world;
  world.Set("a", "d");
  const std::string session = world.Open("claude");
  world.Initial(session);
  world.Remove("a");
  const Prompts::Target target = world.Target(session);
  const ToolViewPtr offered = world.prompts_.Offered(target, {});
  const auto parsed =
      ParseText(offered->Offered(target.spec),
                "<function_calls><invoke name=\"w__a\"><parameter name=\"x\">1</parameter></invoke>"
                "</function_calls>");
  EXPECT_EQ(parsed.events(0).call().name(), "w__a");
  EXPECT_EQ(parsed.events(0).call().arguments_json(), R"({"x":"1"})");
  EXPECT_THAT(world.prompts_.Newest(target, {})->tools(), IsEmpty());
  // Not after a boundary: the model does not see it any more.
  world.Boundary(session);
  EXPECT_THAT(world.prompts_.Offered(target, {})->tools(), IsEmpty());
}

// Loads, changes of all kinds, a boundary: everything once, nothing of before.
void ABoundaryRenewsEverythingOnce(const std::string& renderer) {
  SCOPED_TRACE(renderer);
  World world;
  for (const char* name : {"stays", "changes", "goes", "off", "later"}) world.Set(name, "first");
  const std::string session = world.Open(renderer);
  for (const char* name : {"stays", "changes", "goes", "off"}) world.Load(session, name);
  const std::string before = Whole(world.Initial(session));
  world.Load(session, "later");
  world.Set("changes", "second");
  world.Remove("goes");
  world.Enable("off", false);
  world.Set("new", "first");
  const auto renewed = world.Boundary(session);
  const std::string text = Whole(renewed);
  for (const char* name : {"w__stays", "w__changes", "w__later"}) {
    EXPECT_THAT(Listed(renewed.shown()), testing::Contains(name));
  }
  EXPECT_FALSE(absl::StrContains(text, "w__goes"));
  EXPECT_FALSE(absl::StrContains(text, "w__off"));
  // Its description stands there once, and the old one not for this tool.
  size_t seconds = 0;
  for (size_t at = text.find("second"); at != std::string::npos; at = text.find("second", at + 1)) {
    ++seconds;
  }
  EXPECT_EQ(seconds, 1u);
  EXPECT_NE(text, before);
  // From now on this is the prefix, and nothing is left to tell.
  EXPECT_EQ(Whole(world.Initial(session)), text);
  const auto changes = world.Changes(session);
  EXPECT_EQ(changes.added_size() + changes.removed_size() + changes.fragments_size(), 0);
  EXPECT_EQ(Whole(world.Boundary(session)), text);
  const auto described = world.sessions_.Get(session, std::nullopt);
  EXPECT_EQ(described->pinned_revision(), world.registry_.snapshot()->revision());
  std::vector<std::string> loaded;
  for (const v1::LoadedTool& tool : described->loaded_tools()) loaded.push_back(tool.name());
  EXPECT_THAT(loaded, ElementsAre("w__changes", "w__later", "w__stays"));
  for (const v1::LoadedTool& tool : described->loaded_tools()) {
    EXPECT_EQ(tool.digest(),
              world.registry_.snapshot()->Find(tool.name())->definition->tool.digest());
  }
}

TEST(PromptsTest, ABoundaryOfRollingDeveloper) {
  ABoundaryRenewsEverythingOnce("rolling_developer");
}
TEST(PromptsTest, ABoundaryOfDeferred) {
  for (const char* renderer : {"claude_deferred", "anthropic_deferred", "harmony_deferred"}) {
    ABoundaryRenewsEverythingOnce(renderer);
  }
}

TEST(PromptsTest, ChangesAreToldOnce) {
  World world;
  world.Set("a", "d");
  const std::string session = world.Open("claude_deferred");
  world.Initial(session);
  world.Set("b", "d");
  world.Remove("a");
  const auto told = world.Changes(session);
  EXPECT_THAT(Listed(told.added()), ElementsAre("w__b"));
  EXPECT_THAT(Listed(told.removed()), ElementsAre("w__a"));
  ASSERT_EQ(told.fragments_size(), 1);
  EXPECT_EQ(world.Changes(session).fragments_size(), 0);
  world.Set("a", "d");
  EXPECT_THAT(Listed(world.Changes(session).added()), ElementsAre("w__a"));
}

// What is told adds up to what there is, whatever happens in between; the prefixes of all renderers
// stay as they were. Gives what did not hold.
std::string RandomChanges(uint32_t seed, int changes) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.Set(name, "first");
  struct Open {
    std::string id, prefix;
    std::set<std::string> known;
  };
  std::vector<Open> open;
  for (const RendererSpec& spec : AllRenderers()) {
    open.push_back({world.Open(spec.name()), "", world.Names()});
    open.back().prefix = Whole(world.Initial(open.back().id));
  }
  uint32_t state = seed * 2 + 1;
  const auto dice = [&state](uint32_t sides) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % sides;
  };
  for (int change = 0; change < changes; ++change) {
    const std::string name(1, static_cast<char>('a' + dice(12)));
    if (dice(3) == 0) {
      world.Remove(name);
    } else {
      world.Set(name, absl::StrCat("version ", dice(4)));
    }
    Open& one = open[dice(static_cast<uint32_t>(open.size()))];
    switch (dice(4)) {
      case 0: {
        const auto told = world.Changes(one.id);
        for (const std::string& added : told.added()) {
          if (!one.known.insert(added).second) return absl::StrCat(added, " was told of twice");
        }
        for (const std::string& removed : told.removed()) {
          if (one.known.erase(removed) == 0) return absl::StrCat(removed, " was not there");
        }
        if (one.known != world.Names()) return "something was not told";
        break;
      }
      case 1:
        if (dice(10) == 0) {
          one.prefix = Whole(world.Boundary(one.id));
          one.known = world.Names();
        }
        break;
      default:
        if (Whole(world.Initial(one.id)) != one.prefix) {
          return absl::StrCat("the prefix changed:\n", one.prefix);
        }
    }
  }
  for (const Open& one : open) {
    if (Whole(world.Initial(one.id)) != one.prefix) return "a prefix changed in the end";
  }
  return "";
}

TEST(PromptsTest, PrefixesStayOverAThousandChangesAndDeltasAddUp) {
  for (const uint32_t seed : {1u, 77u}) EXPECT_EQ(RandomChanges(seed, 1000), "") << seed;
}
RC_GTEST_PROP(PromptsPropertyTest, PrefixesStayAndDeltasAddUp, ()) {
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  RC_ASSERT(RandomChanges(seed, 30) == "");
}

TEST(PromptsTest, ManySessionsOverABusyRegistryShareWhatDidNotChange) {
  Registry registry{RegistryOptions()};
  const auto worker = MakeWorker("w");
  std::vector<v1::Tool> tools(500);
  for (size_t i = 0; i < tools.size(); ++i) {
    tools[i].set_name(absl::StrCat("t", i));
    tools[i].set_input_schema(R"({"type":"object"})");
  }
  ASSERT_TRUE(registry.Publish(worker, "", tools, v1::PUBLISH_MODE_BEST_EFFORT).ok());
  const PinnedToolsPtr first = PinnedTools::Of(*registry.snapshot(), nullptr);
  tools[7].set_description("other");
  ASSERT_TRUE(registry.Publish(worker, "", tools, v1::PUBLISH_MODE_BEST_EFFORT).ok());
  const PinnedToolsPtr second = PinnedTools::Of(*registry.snapshot(), first.get());
  size_t shared = 0;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string name = absl::StrCat("t", i);
    ASSERT_NE(second->Find(name), nullptr);
    shared += first->Find(name) == second->Find(name) ? 1 : 0;
  }
  EXPECT_GT(shared, 450u);
  EXPECT_EQ(second->Find("t7")->definition->tool.description(), "other");
  EXPECT_EQ(first->Find("t7")->definition->tool.description().find("other"), std::string::npos);
  EXPECT_EQ(second->Sorted().size(), 500u);
  EXPECT_EQ(second->Find("nobody"), nullptr);
}

}  // namespace
}  // namespace toolrack
