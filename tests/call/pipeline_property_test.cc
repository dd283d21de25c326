// What holds for every call: a verdict is the same in every session, a cut result and its handle
// are the whole, and no session sees another one's state.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"
#include "tests/call/session_rig.h"

namespace toolrack {
namespace {

const char* const kSchemas[] = {
    R"({"type":"object"})",
    R"({"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"]})",
    R"({"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":[1,"1",true]}},)"
    R"("additionalProperties":false})",
    R"({"type":"object","properties":{"list":{"type":"array","items":{"type":"number"},)"
    R"("uniqueItems":true}},"minProperties":1})",
    R"({"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]})",
    R"({"type":"object","properties":{"deep":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":)"
    R"("object","properties":{"next":{"$ref":"#/$defs/node"}},"additionalProperties":false}}})"};

std::string ToolOf(size_t schema) { return absl::StrCat("t", schema); }

// A JSON value, drawn within a property.
std::string AnyJson(int depth) {
  const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 5);
  if (kind == 0) {
    return *rc::gen::element<std::string>("1", "0", "-1", "1.0", "1e2", "18446744073709551616",
                                          "\"1\"", "\"\"", "\"é\"", "null", "true",
                                          "\"\\ud83d\\ude00\"");
  }
  const bool list = kind == 1;
  std::string out = list ? "[" : "{";
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ",";
    // Now and then the same key twice: that is no JSON text that is taken.
    if (!list) {
      absl::StrAppend(&out, "\"",
                      *rc::gen::element<std::string>("n", "a", "b", "list", "deep", "next", "x"),
                      "\":");
    }
    out += AnyJson(depth - 1);
  }
  return out + (list ? "]" : "}");
}

v1::OpenSessionRequest AnySession() {
  v1::OpenSessionRequest request;
  for (size_t i = 0; i < std::size(kSchemas); ++i) {
    if (*rc::gen::arbitrary<bool>()) request.add_loaded_tools(ToolOf(i));
  }
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      request.mutable_filters()->add_names(*rc::gen::element<std::string>("t*", "other*", "t1"));
      break;
    case 1:
      request.set_model("gpt-4o");
      break;
    case 2:
      request.set_renderer("harmony");
      break;
    default:
      break;
  }
  return request;
}

// A failure with all that it carries, in one order.
std::string Said(const absl::Status& status) {
  std::string out = absl::StrCat(ReasonName(ReasonOf(status)), " ", status.message());
  for (const auto& [key, value] : MetadataOf(status)) absl::StrAppend(&out, "\n", key, "=", value);
  for (const FieldFault& fault : FaultsOf(status)) {
    absl::StrAppend(&out, "\n", fault.field, ": ", fault.description);
  }
  return out;
}

// S14: what a session holds, and whether there is one, changes nothing of a verdict. Looked at, and
// by making the call.
RC_GTEST_PROP(CallProperty, AVerdictIsTheSameInEverySession, ()) {
  SessionRig rig;
  const auto backend = std::make_shared<FakeBackend>();
  std::vector<v1::Tool> tools;
  for (size_t i = 0; i < std::size(kSchemas); ++i) {
    tools.push_back(ToolNamed(ToolOf(i), kSchemas[i]));
  }
  RC_ASSERT(rig.registry.Publish(backend, "", tools, v1::PUBLISH_MODE_ATOMIC).ok());
  std::vector<std::string> sessions{""};
  for (int i = 0; i < 3; ++i) sessions.push_back(rig.Open(AnySession()));
  for (int round = 0; round < 5; ++round) {
    const std::string tool = ToolOf(*rc::gen::inRange<size_t>(0, std::size(kSchemas)));
    std::string arguments = AnyJson(3);
    if (*rc::gen::weightedElement<bool>({{8, false}, {1, true}})) arguments += "}";
    std::string verdict;
    std::string outcome;
    for (const std::string& session : sessions) {
      const v1::CallToolRequest request = SessionRig::Request(session, tool, arguments);
      const std::string said = ExplainNow(rig.pipeline, request).verdict().DebugString();
      Answer answer;
      rig.Start(request, answer);
      rig.executor.RunAll();
      if (backend->held() > 0) backend->Take().done(TextResult("ran"));
      RC_ASSERT(answer.times == 1);
      const std::string came = Said(answer.status());
      if (session.empty()) {
        verdict = said;
        outcome = came;
      }
      RC_ASSERT(said == verdict);
      RC_ASSERT(came == outcome);
    }
  }
}

// What was cut lies whole behind its handle, whatever ranges it is read in.
RC_GTEST_PROP(CallProperty, ACutResultAndItsHandleAreTheWhole, ()) {
  PipelineOptions options;
  options.results.set_cap_bytes(*rc::gen::inRange<uint64_t>(256, 4096));
  options.results.set_no_scrub(true);
  Rig rig(options);
  rig.Publish({ToolNamed("t")});
  std::string whole;
  const size_t length = *rc::gen::inRange<size_t>(0, 20000);
  const std::vector<std::string> letters =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "a", "é", "漢", "😀", "\n", " ", "}", "e\u0301", std::string(300, 'x'))));
  for (size_t i = 0; whole.size() < length; ++i) whole += letters[i % letters.size()];
  Answer answer;
  rig.Start(Rig::Request("t"), answer);
  rig.backend->Take().done(TextResult(whole));
  rig.executor.RunAll();
  RC_ASSERT(answer.status().ok());
  const std::string shown = answer.text();
  RC_ASSERT(IsUtf8(shown));
  RC_ASSERT(answer.result().total_bytes() == whole.size());
  if (!answer.result().truncated()) {
    RC_ASSERT(shown == whole);
    return;
  }
  RC_ASSERT(shown.size() <= options.results.cap_bytes());
  std::string read;
  v1::ReadResultRequest request;
  request.set_handle(answer.result().result_handle());
  while (true) {
    request.set_offset(read.size());
    request.set_length(*rc::gen::inRange<uint64_t>(1, 5000));
    const absl::StatusOr<v1::ReadResultResponse> part = rig.results.Read(request, "uid:1");
    RC_ASSERT(part.ok());
    read += part->data();
    if (part->eof()) break;
    RC_ASSERT(!part->data().empty());
  }
  RC_ASSERT(read == whole);
}

// A tool with state: how often it was called, and by which session's principal.
class Diary : public Tool {
 public:
  void Execute(ToolCall call, ToolDone done) override {
    std::string& owner = owner_;
    if (owner.empty()) owner = call.context.session_id;
    done(TextResult(
        absl::StrCat(owner == call.context.session_id ? "mine" : "MIXED", " ", ++count_)));
  }

 private:
  // No lock: a session's calls come one after the other here, and instances are not shared. TSan
  // would tell.
  std::string owner_;
  int count_ = 0;
};

TEST(ManySessionsTest, AThousandWithStateDoNotMix) {
  constexpr int kSessions = 1000, kThreads = 4, kCalls = 3;
  std::unique_ptr<Timers> timers = MakeTimers();
  ThreadPool pool("check", 2, 100000);
  Registry registry{RegistryOptions()};
  ResultStore results(&Clock::Real(), {});
  SessionTable sessions({&registry, timers.get(), &Clock::Real()}, {});
  ToolServer server(&registry, "local", "");
  ToolRegistrar registrar = *server.TakeRegistrar();
  sessions.AddHost(server.session_host());
  sessions.AddHost(&results);
  CallPipeline pipeline({&registry, timers.get(), &Clock::Real(), &pool, &results, &sessions}, {});
  for (const char* name : {"left", "right"}) {
    ASSERT_TRUE(registrar
                    .Register([name] {
                      ToolMeta meta = ToolNamed(name);
                      meta.set_scope(v1::TOOL_SCOPE_SESSION);
                      return std::make_pair(meta, std::shared_ptr<Tool>(std::make_shared<Diary>()));
                    })
                    .ok());
  }
  std::vector<std::string> ids(kSessions);
  std::atomic<int> wrong{0};
  const auto on_threads = [&](auto work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  };
  const auto principal = [](int session) { return absl::StrCat("uid:", session % 7); };
  on_threads([&](int t) {
    for (int i = t; i < kSessions; i += kThreads) {
      ids[i] = sessions.Open({}, principal(i))->session_id();
    }
  });
  ASSERT_EQ(sessions.size(), size_t{kSessions});
  // All are open; each thread goes round its own, calling one tool after the other.
  on_threads([&](int t) {
    for (int n = 1; n <= kCalls; ++n) {
      for (int i = t; i < kSessions; i += kThreads) {
        for (const char* name : {"left", "right"}) {
          v1::CallToolRequest request = SessionRig::Request(ids[i], name);
          const std::string expected = absl::StrCat("mine ", n);
          pipeline.Start(
              request, {principal(i), "", absl::InfiniteDuration()}, StopSource(), nullptr,
              [&, expected](absl::StatusOr<v1::CallToolResponse> value) {
                if (!value.ok() || value->result().content(0).text().text() != expected) {
                  ++wrong;
                }
              });
        }
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  // And nobody gets at another principal's session.
  Answer stranger;
  pipeline.Start(SessionRig::Request(ids[0], "left"), {"uid:1", "", absl::InfiniteDuration()},
                 StopSource(), nullptr, [&stranger](absl::StatusOr<v1::CallToolResponse> value) {
                   stranger.value = std::move(value);
                 });
  EXPECT_EQ(stranger.reason(), v1::ERROR_REASON_SESSION_NOT_FOUND);
  on_threads([&](int t) {
    for (int i = t; i < kSessions; i += kThreads) {
      if (!sessions.Close(ids[i], principal(i)).ok()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sessions.size(), 0u);
}

}  // namespace
}  // namespace toolrack
