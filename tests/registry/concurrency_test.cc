// Readers, writers and watchers at once: for the thread sanitizer, and for what must hold always.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "registry/registry.h"
#include "registry/watch_feed.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

constexpr int kRounds = 150;

std::vector<v1::Tool> RandomSet(std::mt19937& random) {
  std::vector<v1::Tool> tools;
  for (int i = 0; i < 12; ++i) {
    if (random() % 2 == 0) {
      tools.push_back(MakeToolDefinition(absl::StrCat("t", i), absl::StrCat("v", random() % 3)));
    }
  }
  return tools;
}

// One writer: publishes, flaps, is taken over, leaves.
void Write(Registry& registry, int number) {
  std::mt19937 random(number);
  const std::string ns = absl::StrCat("ns", number);
  auto backend = MakeWorker(absl::StrCat("w", number));
  for (int round = 0; round < kRounds; ++round) {
    switch (random() % 6) {
      case 0:
        backend->set_available(random() % 2 == 0);
        registry.RefreshState(backend);
        break;
      case 1:
        backend = MakeWorker(absl::StrCat("w", number));
        break;
      case 2:
        registry.Remove(backend);
        break;
      case 3:
        (void)registry.SetToolEnabled(absl::StrCat(ns, "__t", random() % 12), random() % 2 == 0);
        break;
      default:
        ASSERT_TRUE(registry.Publish(backend, ns, RandomSet(random), v1::PUBLISH_MODE_ATOMIC).ok());
    }
  }
}

void Read(const Registry& registry, const std::atomic<bool>& stop) {
  uint64_t last = 0;
  while (!stop.load()) {
    const Snapshot& snapshot = registry.Peek();
    ASSERT_GE(snapshot.revision(), last);
    last = snapshot.revision();
    size_t count = 0;
    std::string previous;
    snapshot.ForEach("", [&](const ToolEntryPtr& entry) {
      EXPECT_LT(previous, entry->name());
      previous = entry->name();
      EXPECT_EQ(snapshot.Find(entry->name()), entry.get());
      EXPECT_FALSE(entry->backends.empty());
      ++count;
      return true;
    });
    ASSERT_EQ(count, snapshot.size());
    if (const ToolEntryPtr entry = registry.snapshot()->Get("ns0__t3")) {
      EXPECT_NE(entry->InputSchema(), nullptr);
    }
    ASSERT_TRUE(ListTools(registry, {}).ok());
  }
}

// Follows the registry through feeds that are dropped and resumed; gives the last picture.
std::map<std::string, std::pair<std::string, v1::ToolState>> Follow(Registry& registry,
                                                                    const std::atomic<bool>& stop,
                                                                    unsigned seed) {
  struct Waker {
    absl::Mutex mutex;
    bool woken = false;
  };
  std::map<std::string, std::pair<std::string, v1::ToolState>> tools;
  std::mt19937 random(seed);
  v1::WatchToolsRequest request;
  const auto pump = [&](WatchFeed& feed, size_t events) {
    while (events-- > 0) {
      const auto next = feed.Next();
      if (!next.ok() || !next->has_value()) return;
      const v1::WatchToolsResponse& event = **next;
      EXPECT_GE(event.revision(),
                event.has_reset() || event.has_added() ? 0 : request.from_revision());
      request.set_epoch(event.epoch());
      request.set_from_revision(event.revision());
      if (event.has_reset()) tools.clear();
      if (event.has_added()) {
        tools[event.added().name()] = {event.added().description(), event.added().state()};
      }
      if (event.has_updated()) {
        tools[event.updated().name()] = {event.updated().description(), event.updated().state()};
      }
      if (event.has_removed()) tools.erase(event.removed().name());
      if (event.has_state()) tools[event.state().name()].second = event.state().state();
    }
  };
  bool last_round = false;
  while (!last_round) {
    last_round = stop.load();
    const auto waker = std::make_shared<Waker>();
    WatchFeed feed(&registry, request, 50, [waker] {
      absl::MutexLock lock(&waker->mutex);
      waker->woken = true;
    });
    if (last_round) {
      pump(feed, SIZE_MAX);
      break;
    }
    for (int i = 0; i < 3 && !stop.load(); ++i) {
      pump(feed, random() % 40);
      absl::MutexLock lock(&waker->mutex);
      waker->mutex.AwaitWithTimeout(absl::Condition(&waker->woken), absl::Milliseconds(5));
      waker->woken = false;
    }
  }
  return tools;
}

TEST(RegistryConcurrencyTest, ReadersWritersAndWatchersAgreeInTheEnd) {
  RegistryOptions options;
  options.limits.set_watch_history(200);
  options.schema_cache_bytes = 4096;  // so that schemas come and go
  Registry registry(options);
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers, others;
  for (int i = 0; i < 3; ++i) writers.emplace_back([&registry, i] { Write(registry, i); });
  for (int i = 0; i < 2; ++i) others.emplace_back([&] { Read(registry, stop); });
  std::vector<std::map<std::string, std::pair<std::string, v1::ToolState>>> pictures(2);
  for (unsigned i = 0; i < pictures.size(); ++i) {
    others.emplace_back([&, i] { pictures[i] = Follow(registry, stop, i); });
  }
  for (std::thread& thread : writers) thread.join();
  stop.store(true);
  for (std::thread& thread : others) thread.join();

  std::map<std::string, std::pair<std::string, v1::ToolState>> truth;
  registry.Peek().ForEach("", [&](const ToolEntryPtr& entry) {
    truth[entry->name()] = {entry->definition->tool.description(), entry->state};
    return true;
  });
  for (const auto& picture : pictures) EXPECT_EQ(picture, truth);
}

TEST(RegistryConcurrencyTest, ManyShortThreadsLeaveNoSlotsBehind) {
  Registry registry{RegistryOptions{}};
  auto backend = MakeWorker("w");
  ASSERT_TRUE(
      registry.Publish(backend, "ns", {MakeToolDefinition("a")}, v1::PUBLISH_MODE_ATOMIC).ok());
  for (int i = 0; i < 100; ++i) {
    std::thread([&registry] { EXPECT_NE(registry.Peek().Find("ns__a"), nullptr); }).join();
  }
  registry.Remove(backend);
  std::weak_ptr<FakeBackend> weak = backend;
  backend = nullptr;
  registry.Peek();
  EXPECT_TRUE(weak.expired()) << "threads that ended hold no snapshot";
}

}  // namespace
}  // namespace toolrack
