#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/registry.h"
#include "registry/watch_feed.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kBestEffort = v1::PUBLISH_MODE_BEST_EFFORT;

// "added ns__a" and the like.
std::string TextOf(const v1::WatchToolsResponse& event) {
  using Case = v1::WatchToolsResponse::EventCase;
  switch (event.event_case()) {
    case Case::kAdded:
      return absl::StrCat("added ", event.added().name());
    case Case::kUpdated:
      return absl::StrCat("updated ", event.updated().name());
    case Case::kRemoved:
      return absl::StrCat("removed ", event.removed().name());
    case Case::kState:
      return absl::StrCat(v1::ToolState_Name(event.state().state()), " ", event.state().name());
    case Case::kReset:
      return absl::StrCat("reset ", event.reset().reason());
    case Case::kSynced:
      return "synced";
    default:
      return "nothing";
  }
}

class WatchTest : public ::testing::Test {
 protected:
  uint64_t Publish(absl::string_view ns, std::vector<v1::Tool> tools) {
    const auto report = registry_.Publish(worker_, ns, std::move(tools), kBestEffort);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->revision : 0;
  }
  static std::vector<std::string> Drain(WatchFeed& feed) {
    std::vector<std::string> texts;
    while (true) {
      const auto event = feed.Next();
      if (!event.ok()) {
        texts.push_back(std::string(ReasonName(ReasonOf(event.status()))));
        return texts;
      }
      if (!event->has_value()) return texts;
      texts.push_back(TextOf(**event));
    }
  }
  static v1::WatchToolsRequest From(const Registry& registry, uint64_t revision) {
    v1::WatchToolsRequest request;
    request.set_epoch(registry.epoch());
    request.set_from_revision(revision);
    return request;
  }
  static RegistryOptions Options() {
    RegistryOptions options;
    options.limits.set_watch_history(100);
    return options;
  }

  Registry registry_{Options()};
  std::shared_ptr<FakeBackend> worker_ = MakeWorker("w1");
};

TEST_F(WatchTest, TheRegistryTellsEveryRevisionOnceInOrder) {
  const auto watch = registry_.Watch(0, 100, [] {});
  ASSERT_NE(watch, nullptr);
  EXPECT_EQ(watch->Next(), nullptr);
  Publish("ns", {MakeToolDefinition("b"), MakeToolDefinition("a")});
  Publish("ns", {MakeToolDefinition("a", "new"), MakeToolDefinition("c")});
  const RegistryChangesPtr first = watch->Next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->revision, 1u);
  ASSERT_EQ(first->changes.size(), 2u);
  EXPECT_EQ(first->changes[0].name, "ns__a");
  const RegistryChangesPtr second = watch->Next();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->revision, 2u);
  ASSERT_EQ(second->changes.size(), 3u);
  EXPECT_EQ(second->changes[0].kind, RegistryChange::Kind::kUpdated);
  EXPECT_EQ(second->changes[0].previous->definition->tool.description(), "Does things.");
  EXPECT_EQ(second->changes[1].kind, RegistryChange::Kind::kRemoved);
  EXPECT_EQ(second->changes[2].kind, RegistryChange::Kind::kAdded);
  EXPECT_EQ(watch->Next(), nullptr);
}

TEST_F(WatchTest, AWatchStartsInThePastAsLongAsItIsRemembered) {
  Publish("ns", {MakeToolDefinition("a")});
  Publish("ns", {MakeToolDefinition("a", "2")});
  const auto watch = registry_.Watch(1, 1, [] {});
  ASSERT_NE(watch, nullptr);
  EXPECT_EQ(watch->Next()->revision, 2u);
  EXPECT_EQ(registry_.Watch(3, 1, [] {}), nullptr) << "that revision never was";
  for (int i = 0; i < 150; ++i) Publish("ns", {MakeToolDefinition("a", absl::StrCat("v", i))});
  EXPECT_EQ(registry_.Watch(1, 1, [] {}), nullptr);
  EXPECT_NE(registry_.Watch(registry_.Peek().revision() - 100, 1, [] {}), nullptr);
  EXPECT_EQ(registry_.Watch(registry_.Peek().revision() - 101, 1, [] {}), nullptr);
}

TEST_F(WatchTest, AWatchThatFallsTooFarBehindIsDead) {
  int woken = 0;
  const auto watch = registry_.Watch(0, 3, [&woken] { ++woken; });
  for (int i = 0; i < 3; ++i) Publish("ns", {MakeToolDefinition("a", absl::StrCat("v", i))});
  EXPECT_FALSE(watch->overflowed());
  EXPECT_EQ(woken, 3);
  Publish("ns", {MakeToolDefinition("a", "too much")});
  EXPECT_TRUE(watch->overflowed());
  EXPECT_EQ(woken, 4);
  EXPECT_EQ(watch->Next(), nullptr);
  Publish("ns", {MakeToolDefinition("a", "more")});
  EXPECT_EQ(watch->Next(), nullptr);
  EXPECT_EQ(woken, 4);
}

TEST_F(WatchTest, AReaderThatKeepsUpSurvivesASetLargerThanItsQueue) {
  const auto watch = registry_.Watch(0, 2, [] {});
  Publish("ns", {MakeToolDefinition("a"), MakeToolDefinition("b"), MakeToolDefinition("c")});
  EXPECT_FALSE(watch->overflowed());
  EXPECT_EQ(watch->Next()->changes.size(), 3u);
}

TEST_F(WatchTest, ADroppedWatchIsNotWoken) {
  int woken = 0;
  registry_.Watch(0, 3, [&woken] { ++woken; }).reset();
  Publish("ns", {MakeToolDefinition("a")});
  EXPECT_EQ(woken, 0);
}

TEST_F(WatchTest, AWatchMayOutliveTheRegistry) {
  std::unique_ptr<RegistryWatch> watch;
  {
    Registry registry{RegistryOptions{}};
    watch = registry.Watch(0, 10, [] {});
    ASSERT_TRUE(registry.Publish(worker_, "ns", {MakeToolDefinition("a")}, kBestEffort).ok());
  }
  EXPECT_EQ(watch->Next()->revision, 1u);
}

TEST_F(WatchTest, TheHistoryDoesNotHoldBackends) {
  std::weak_ptr<FakeBackend> weak = worker_;
  const auto watch = registry_.Watch(0, 100, [] {});
  Publish("ns", {MakeToolDefinition("a")});
  registry_.Remove(worker_);
  worker_ = nullptr;
  registry_.Peek();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(watch->Next()->changes[0].entry->definition->tool.source().id(), "w1");
}

TEST_F(WatchTest, AFeedBeginsWithTheSnapshot) {
  Publish("ns", {MakeToolDefinition("a"), MakeToolDefinition("b")});
  WatchFeed feed(&registry_, {}, 100, [] {});
  EXPECT_THAT(Drain(feed), ElementsAre("reset initial", "added ns__a", "added ns__b", "synced"));
  Publish("ns", {MakeToolDefinition("b", "new"), MakeToolDefinition("c")});
  worker_->set_available(false);
  registry_.RefreshState(worker_);
  EXPECT_THAT(Drain(feed),
              ElementsAre("removed ns__a", "updated ns__b", "added ns__c",
                          "TOOL_STATE_UNAVAILABLE ns__b", "TOOL_STATE_UNAVAILABLE ns__c"));
}

TEST_F(WatchTest, AddedToolsAreWhole) {
  Publish("ns", {MakeToolDefinition("a")});
  WatchFeed feed(&registry_, {}, 100, [] {});
  (void)*feed.Next();
  const auto event = *feed.Next();
  EXPECT_EQ(event->added().SerializeAsString(),
            registry_.Peek().Find("ns__a")->ToProto(v1::TOOL_VIEW_FULL).SerializeAsString());
  EXPECT_EQ(event->epoch(), registry_.epoch());
}

TEST_F(WatchTest, AFeedResumesWhereTheLastOneStopped) {
  const uint64_t seen = Publish("ns", {MakeToolDefinition("a")});
  Publish("ns", {MakeToolDefinition("a"), MakeToolDefinition("b")});
  WatchFeed feed(&registry_, From(registry_, seen), 100, [] {});
  EXPECT_THAT(Drain(feed), ElementsAre("added ns__b", "synced"));
  WatchFeed current(&registry_, From(registry_, seen + 1), 100, [] {});
  EXPECT_THAT(Drain(current), ElementsAre("synced"));
}

TEST_F(WatchTest, AFeedStartsAnewWhenItCannotResume) {
  Publish("ns", {MakeToolDefinition("a")});
  v1::WatchToolsRequest request = From(registry_, 1);
  request.set_epoch("0123456789abcdef");
  WatchFeed other(&registry_, request, 100, [] {});
  EXPECT_EQ(Drain(other).front(), "reset epoch_changed");
  WatchFeed future(&registry_, From(registry_, 99), 100, [] {});
  EXPECT_EQ(Drain(future).front(), "reset revision_too_old");
  for (int i = 0; i < 150; ++i) Publish("ns", {MakeToolDefinition("a", absl::StrCat("v", i))});
  WatchFeed old(&registry_, From(registry_, 1), 100, [] {});
  EXPECT_THAT(Drain(old), ElementsAre("reset revision_too_old", "added ns__a", "synced"));
}

TEST_F(WatchTest, QuarantinedToolsAreNotShown) {
  v1::Tool bad = MakeToolDefinition("a");
  bad.set_input_schema("{");
  Publish("ns", {bad});
  WatchFeed feed(&registry_, {}, 100, [] {});
  EXPECT_THAT(Drain(feed), ElementsAre("reset initial", "synced"));
  Publish("ns", {MakeToolDefinition("a")});
  EXPECT_THAT(Drain(feed), ElementsAre("added ns__a"));
  Publish("ns", {bad});
  EXPECT_THAT(Drain(feed), ElementsAre("removed ns__a"));
  Publish("ns", {});
  EXPECT_THAT(Drain(feed), IsEmpty());
}

TEST_F(WatchTest, FiltersHoldForSnapshotAndChanges) {
  v1::Tool file = MakeToolDefinition("f");
  file.add_categories("file");
  Publish("one", {file, MakeToolDefinition("x")});
  Publish("two", {file});
  v1::WatchToolsRequest request;
  request.add_categories("file");
  request.add_namespaces("one");
  WatchFeed feed(&registry_, request, 100, [] {});
  EXPECT_THAT(Drain(feed), ElementsAre("reset initial", "added one__f", "synced"));
  // Leaving the filter is leaving.
  Publish("one", {MakeToolDefinition("f"), MakeToolDefinition("x", "new")});
  EXPECT_THAT(Drain(feed), ElementsAre("removed one__f"));
  Publish("two", {});
  EXPECT_THAT(Drain(feed), IsEmpty());
}

TEST_F(WatchTest, ASlowReaderIsToldSo) {
  WatchFeed feed(&registry_, {}, 3, [] {});
  EXPECT_THAT(Drain(feed), ElementsAre("reset initial", "synced"));
  for (int i = 0; i < 5; ++i) Publish("ns", {MakeToolDefinition("a", absl::StrCat("v", i))});
  EXPECT_THAT(Drain(feed), ElementsAre("SLOW_READER"));
  EXPECT_THAT(Drain(feed), ElementsAre("SLOW_READER"));
}

TEST_F(WatchTest, AStreamThatIsCutAnywhereLosesNothing) {
  // The events of a whole life, then the same life resumed after every one of them.
  Publish("ns", {MakeToolDefinition("a"), MakeToolDefinition("b"), MakeToolDefinition("c")});
  WatchFeed whole(&registry_, {}, 100, [] {});
  std::vector<v1::WatchToolsResponse> events;
  const auto collect = [&] {
    for (auto event = *whole.Next(); event.has_value(); event = *whole.Next())
      events.push_back(*event);
  };
  collect();
  Publish("ns", {MakeToolDefinition("b", "2"), MakeToolDefinition("d"), MakeToolDefinition("e")});
  Publish("ns", {MakeToolDefinition("e", "3")});
  collect();
  ASSERT_THAT(events, Not(IsEmpty()));

  using Tools = std::map<std::string, std::string>;
  const auto apply = [](Tools& tools, const v1::WatchToolsResponse& event) {
    if (event.has_reset()) tools.clear();
    if (event.has_added()) tools[event.added().name()] = event.added().description();
    if (event.has_updated()) tools[event.updated().name()] = event.updated().description();
    if (event.has_removed()) tools.erase(event.removed().name());
  };
  for (size_t cut = 0; cut < events.size(); ++cut) {
    Tools tools;
    for (size_t i = 0; i <= cut; ++i) apply(tools, events[i]);
    WatchFeed resumed(&registry_, From(registry_, events[cut].revision()), 100, [] {});
    for (auto event = *resumed.Next(); event.has_value(); event = *resumed.Next())
      apply(tools, *event);
    EXPECT_EQ(tools, (Tools{{"ns__e", "3"}})) << "cut after " << TextOf(events[cut]);
  }
}

}  // namespace
}  // namespace toolrack
