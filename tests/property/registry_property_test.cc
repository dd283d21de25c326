// The registry against a model of it that is too simple to be wrong.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/registry.h"
#include "registry/watch_feed.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

constexpr int kBackends = 4;  // the last one is another principal's
constexpr int kNames = 5;
constexpr int kNamespaces = 2;

std::string NamespaceOf(int number) { return absl::StrCat("ns", number); }
std::string NameOf(int number) { return absl::StrCat("t", number); }
std::string PrincipalOf(int backend) { return backend == kBackends - 1 ? "mallory" : "alice"; }

// What one tool is to its watchers.
struct Seen {
  int version = 0;
  v1::ToolState state = v1::TOOL_STATE_ACTIVE;
  bool operator==(const Seen&) const = default;
};
using Picture = std::map<std::string, Seen>;

void showValue(const Seen& seen, std::ostream& os) {
  os << "v" << seen.version << "/" << seen.state;
}

// Version 9 is a faulty definition.
v1::Tool ToolOf(int name, int version) {
  v1::Tool tool = MakeToolDefinition(NameOf(name), absl::StrCat(version));
  if (version == 9) tool.set_input_schema("{");
  return tool;
}

struct Model {
  struct Tool {
    int version;
    std::vector<int> holders;
  };
  std::map<std::pair<int, int>, Tool> tools;  // namespace, name
  std::map<int, bool> available;
  std::set<std::pair<int, int>> disabled;

  bool OwnedByOther(int ns, int backend) const {
    for (const auto& [key, tool] : tools) {
      if (key.first == ns && PrincipalOf(tool.holders.front()) != PrincipalOf(backend)) return true;
    }
    return false;
  }
  void Withdraw(int ns, int name, int backend) {
    const auto at = tools.find({ns, name});
    if (at == tools.end()) return;
    std::erase(at->second.holders, backend);
    if (at->second.holders.empty()) tools.erase(at);
  }
  // Names that are refused: taken by others with another definition.
  std::set<int> Publish(int backend, int ns, const std::map<int, int>& set, bool atomic) {
    std::set<int> refused;
    bool faulty = false;
    for (const auto& [name, version] : set) {
      const auto at = tools.find({ns, name});
      faulty |= version == 9;
      if (at == tools.end() || at->second.version == version) continue;
      for (const int holder : at->second.holders) {
        if (holder != backend) refused.insert(name);
      }
    }
    if (atomic && (faulty || !refused.empty())) return refused;
    for (int name = 0; name < kNames; ++name) {
      if (!set.contains(name) || refused.contains(name)) Withdraw(ns, name, backend);
    }
    for (const auto& [name, version] : set) {
      if (refused.contains(name)) continue;
      Tool& tool = tools.try_emplace({ns, name}, Tool{version, {}}).first->second;
      tool.version = version;
      if (std::find(tool.holders.begin(), tool.holders.end(), backend) == tool.holders.end()) {
        tool.holders.push_back(backend);
      }
    }
    return refused;
  }
  Picture ToPicture() const {
    Picture picture;
    for (const auto& [key, tool] : tools) {
      const bool up = std::any_of(tool.holders.begin(), tool.holders.end(),
                                  [this](int holder) { return available.at(holder); });
      picture[absl::StrCat(NamespaceOf(key.first), "__", NameOf(key.second))] = {
          tool.version, tool.version == 9        ? v1::TOOL_STATE_QUARANTINED
                        : disabled.contains(key) ? v1::TOOL_STATE_DISABLED
                        : up                     ? v1::TOOL_STATE_ACTIVE
                                                 : v1::TOOL_STATE_UNAVAILABLE};
    }
    return picture;
  }
};

Picture Listed(const Registry& registry) {
  Picture picture;
  v1::ListToolsRequest request;
  request.set_show_quarantined(true);
  request.set_page_size(3);
  do {
    const auto page = ListTools(registry, request);
    RC_ASSERT(page.ok());
    for (const v1::Tool& tool : page->tools()) {
      // In parentheses: the macro's operators do not stop early.
      RC_ASSERT((picture.empty() || picture.rbegin()->first < tool.name()));
      picture[tool.name()] = {std::stoi(tool.description()), tool.state()};
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return picture;
}

Picture WithoutQuarantined(Picture picture) {
  std::erase_if(picture,
                [](const auto& one) { return one.second.state == v1::TOOL_STATE_QUARANTINED; });
  return picture;
}

// A watcher that may be cut and come back.
class Follower {
 public:
  Follower(Registry* registry, size_t backlog) : registry_(registry), backlog_(backlog) {
    Connect();
  }

  void Connect() {
    feed_ = std::make_unique<WatchFeed>(registry_, request_, backlog_, [] {});
  }
  // Takes at most `events`; comes back by itself when it was too slow.
  void Pump(size_t events) {
    while (events-- > 0) {
      const auto next = feed_->Next();
      if (!next.ok()) {
        Connect();
        continue;
      }
      if (!next->has_value()) return;
      Apply(**next);
    }
  }
  const Picture& picture() const { return picture_; }
  bool synced() const { return synced_; }

 private:
  void Apply(const v1::WatchToolsResponse& event) {
    if (event.has_reset()) {
      picture_.clear();
      synced_ = false;
    } else {
      RC_ASSERT(event.revision() >= request_.from_revision());
    }
    request_.set_epoch(event.epoch());
    request_.set_from_revision(event.revision());
    if (event.has_added()) {
      const v1::Tool& tool = event.added();
      picture_[tool.name()] = {std::stoi(tool.description()), tool.state()};
    } else if (event.has_updated()) {
      RC_ASSERT(picture_.contains(event.updated().name()));
      picture_[event.updated().name()] = {std::stoi(event.updated().description()),
                                          event.updated().state()};
    } else if (event.has_removed()) {
      picture_.erase(event.removed().name());
    } else if (event.has_state()) {
      RC_ASSERT(picture_.contains(event.state().name()));
      picture_[event.state().name()].state = event.state().state();
    }
    synced_ |= event.has_synced();
  }

  Registry* const registry_;
  const size_t backlog_;
  v1::WatchToolsRequest request_;
  std::unique_ptr<WatchFeed> feed_;
  Picture picture_;
  bool synced_ = false;
};

RC_GTEST_PROP(RegistryProperty, ListAndWatchAreWhatTheModelSays, ()) {
  RegistryOptions options;
  options.limits.set_watch_history(*rc::gen::inRange(1, 40));
  Registry registry(options);
  Model model;
  std::vector<std::shared_ptr<FakeBackend>> backends;
  const auto new_backend = [&](int number) {
    model.available[number] = true;
    return MakeWorker(absl::StrCat("w", number), PrincipalOf(number));
  };
  for (int i = 0; i < kBackends; ++i) backends.push_back(new_backend(i));
  Follower steady(&registry, 1000), flaky(&registry, *rc::gen::inRange<size_t>(1, 10));
  uint64_t revision = 0, definitions_revision = 0;

  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const int backend = *rc::gen::inRange(0, kBackends);
    const int ns = *rc::gen::inRange(0, kNamespaces);
    const Picture before = model.ToPicture();
    const std::map<std::pair<int, int>, Model::Tool> tools_before = model.tools;
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        registry.Remove(backends[backend]);
        for (int n = 0; n < kNamespaces; ++n) {
          for (int name = 0; name < kNames; ++name) model.Withdraw(n, name, backend);
        }
        break;
      case 1:
        model.available[backend] = *rc::gen::arbitrary<bool>();
        backends[backend]->set_available(model.available[backend]);
        registry.RefreshState(backends[backend]);
        break;
      case 2: {
        const int name = *rc::gen::inRange(0, kNames);
        const bool enabled = *rc::gen::arbitrary<bool>();
        const auto changed =
            registry.SetToolEnabled(absl::StrCat(NamespaceOf(ns), "__", NameOf(name)), enabled);
        RC_ASSERT(changed.ok() == model.tools.contains({ns, name}));
        if (changed.ok() && enabled) model.disabled.erase({ns, name});
        if (changed.ok() && !enabled) model.disabled.insert({ns, name});
        break;
      }
      case 3: {
        // The worker comes back as another object: all its sets are published anew.
        const auto successor = MakeWorker(absl::StrCat("w", backend), PrincipalOf(backend));
        successor->set_available(true);
        model.available[backend] = true;
        for (int n = 0; n < kNamespaces; ++n) {
          std::vector<v1::Tool> same;
          for (const auto& [key, tool] : model.tools) {
            const auto& holders = tool.holders;
            if (key.first == n &&
                std::find(holders.begin(), holders.end(), backend) != holders.end()) {
              same.push_back(ToolOf(key.second, tool.version));
            }
          }
          if (same.empty()) continue;
          const auto report =
              registry.Publish(successor, NamespaceOf(n), same, v1::PUBLISH_MODE_BEST_EFFORT);
          RC_ASSERT(report.ok());
          RC_ASSERT(report->rejected.empty());
        }
        registry.Remove(backends[backend]);  // takes nothing of its successor's
        backends[backend] = successor;
        RC_ASSERT(registry.Peek().definitions_revision() == definitions_revision);
        break;
      }
      default: {
        const bool atomic = *rc::gen::arbitrary<bool>();
        std::map<int, int> set;
        std::vector<v1::Tool> tools;
        for (int name = 0; name < kNames; ++name) {
          const int version = *rc::gen::element(-1, -1, -1, 0, 0, 0, 1, 1, 9);
          if (version < 0) continue;
          set[name] = version;
          tools.push_back(ToolOf(name, version));
        }
        const auto report =
            registry.Publish(backends[backend], NamespaceOf(ns), tools,
                             atomic ? v1::PUBLISH_MODE_ATOMIC : v1::PUBLISH_MODE_BEST_EFFORT);
        RC_ASSERT(report.ok() == !model.OwnedByOther(ns, backend));
        if (!report.ok()) break;
        const std::set<int> refused = model.Publish(backend, ns, set, atomic);
        std::set<std::string> rejected;
        for (const auto& fault : report->rejected) {
          const auto& findings = fault.findings;  // a faulty definition has its own ones first
          if (std::any_of(findings.begin(), findings.end(),
                          [](const v1::Finding& f) { return f.rule() == "name_taken"; })) {
            rejected.insert(fault.name);
          }
        }
        std::set<std::string> expected;
        for (const int name : refused) expected.insert(NameOf(name));
        if (!atomic) RC_ASSERT(rejected == expected);
        break;
      }
    }

    const Picture now = model.ToPicture();
    RC_ASSERT(Listed(registry) == now);
    const Snapshot& snapshot = registry.Peek();
    RC_ASSERT(snapshot.size() == now.size());
    // The counters move when, and only when, something is to be seen.
    bool definitions = false;
    for (const auto& [name, seen] : now) {
      const auto was = before.find(name);
      definitions |= was == before.end() || was->second.version != seen.version;
    }
    definitions |= std::any_of(before.begin(), before.end(),
                               [&](const auto& was) { return !now.contains(was.first); });
    RC_ASSERT((snapshot.definitions_revision() > definitions_revision) == definitions);
    RC_ASSERT(snapshot.revision() - revision <= (now == before ? 0u : 2u));
    RC_ASSERT((snapshot.revision() > revision) == (now != before));
    revision = snapshot.revision();
    definitions_revision = snapshot.definitions_revision();
    for (const auto& [key, tool] : model.tools) {
      const ToolEntry* entry =
          snapshot.Find(absl::StrCat(NamespaceOf(key.first), "__", NameOf(key.second)));
      RC_ASSERT(entry != nullptr);
      RC_ASSERT(entry->backends.size() == tool.holders.size());
      for (const int holder : tool.holders) {
        RC_ASSERT(std::find(entry->backends.begin(), entry->backends.end(), backends[holder]) !=
                  entry->backends.end());
      }
    }

    steady.Pump(SIZE_MAX);
    RC_ASSERT(steady.picture() == WithoutQuarantined(now));
    if (*rc::gen::inRange(0, 4) == 0) flaky.Connect();
    flaky.Pump(*rc::gen::inRange(0, 6));
  }
  flaky.Pump(SIZE_MAX);
  RC_ASSERT(flaky.synced());
  RC_ASSERT(flaky.picture() == WithoutQuarantined(model.ToPicture()));
}

// Some different numbers below `end`. (rc::gen::unique gives up where few are left.)
std::set<int> Numbers(int end) {
  const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, end));
  return std::set<int>(numbers.begin(), numbers.end());
}

RC_GTEST_PROP(RegistryProperty, PagingUnderChurnListsWhatIsAlwaysThereExactlyOnce, ()) {
  Registry registry{RegistryOptions{}};
  const auto steady = MakeWorker("steady"), churning = MakeWorker("churning");
  std::vector<v1::Tool> fixed;
  std::set<std::string> expected;
  for (const int number : Numbers(200)) {
    fixed.push_back(MakeToolDefinition(absl::StrCat("f", number)));
    expected.insert(absl::StrCat("ns__f", number));
  }
  RC_ASSERT(registry.Publish(steady, "ns", fixed, v1::PUBLISH_MODE_ATOMIC).ok());
  std::vector<std::string> listed;
  v1::ListToolsRequest request;
  request.set_page_size(*rc::gen::inRange(1, 10));
  do {
    std::vector<v1::Tool> churn;
    for (const int number : Numbers(50)) {
      churn.push_back(MakeToolDefinition(absl::StrCat(number % 2 == 0 ? "a" : "f1x", number)));
    }
    RC_ASSERT(registry.Publish(churning, "ns", churn, v1::PUBLISH_MODE_ATOMIC).ok());
    const auto page = ListTools(registry, request);
    RC_ASSERT(page.ok());
    for (const v1::Tool& tool : page->tools()) {
      if (expected.contains(tool.name())) listed.push_back(tool.name());
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  RC_ASSERT(std::is_sorted(listed.begin(), listed.end()));
  RC_ASSERT(std::set<std::string>(listed.begin(), listed.end()) == expected);
  RC_ASSERT(listed.size() == expected.size());
}

// Many tools in few names: blocks of the snapshot split, join and go.
RC_GTEST_PROP(RegistryProperty, LargeSetsComeAndGoWithoutLosingOrder, ()) {
  Registry registry{RegistryOptions{}};
  const auto worker = MakeWorker("w");
  std::set<std::string> expected;
  for (int round = 0; round < 6; ++round) {
    const int step = *rc::gen::inRange(1, 5), from = *rc::gen::inRange(0, 700);
    const int count = *rc::gen::inRange(0, 900);
    std::vector<v1::Tool> tools;
    expected.clear();
    for (int i = 0; i < count; ++i) {
      const std::string name = absl::StrCat("t", 10000 + from + i * step);
      tools.push_back(MakeToolDefinition(name));
      expected.insert("ns__" + name);
    }
    RC_ASSERT(registry.Publish(worker, "ns", std::move(tools), v1::PUBLISH_MODE_ATOMIC).ok());
    auto at = expected.begin();
    registry.Peek().ForEach("", [&](const ToolEntryPtr& entry) {
      RC_ASSERT(at != expected.end());
      RC_ASSERT(entry->name() == *at);
      RC_ASSERT(registry.Peek().Find(*at) == entry.get());
      ++at;
      return true;
    });
    RC_ASSERT(at == expected.end());
    if (!expected.empty()) {
      // From anywhere, what comes after it.
      const std::string after = absl::StrCat("ns__t", 10000 + *rc::gen::inRange(0, 4000));
      std::string next;
      registry.Peek().ForEach(after, [&next](const ToolEntryPtr& entry) {
        next = entry->name();
        return false;
      });
      const auto expected_next = expected.upper_bound(after);
      RC_ASSERT(next == (expected_next == expected.end() ? "" : *expected_next));
    }
  }
}

}  // namespace
}  // namespace toolrack
