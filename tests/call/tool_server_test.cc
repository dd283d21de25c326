#include "registry/tool_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "registry/typed_tool.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

ToolFactory Named(const std::string& name) {
  return MakeTool(ToolSpec(name, "Says its name."), [name] { return name; });
}

std::vector<std::string> Names(const ToolServer& server) {
  std::vector<std::string> names;
  for (const ToolMeta& tool : server.handle().DefinitionsSorted()) names.push_back(tool.name());
  return names;
}

std::string TextOf(const ToolServer& server, const std::string& name) {
  std::string text = "no answer";
  server.handle().Call(name, "", [&text](absl::StatusOr<v1::ToolResult> value) {
    text = value.ok() ? value->content(0).text().text() : std::string(value.status().message());
  });
  return text;
}

TEST(ToolServerTest, OnlyTheOneRegistrarRegisters) {
  ToolServer server;
  absl::StatusOr<ToolRegistrar> registrar = server.TakeRegistrar();
  ASSERT_TRUE(registrar.ok());
  EXPECT_EQ(server.TakeRegistrar().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(registrar->Register(Named("one")).ok());
  EXPECT_EQ(TextOf(server, "one"), "one");
  registrar->Lock();
  EXPECT_EQ(registrar->Register(Named("two")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(registrar->Unregister("one").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Names(server), std::vector<std::string>{"one"});
}

TEST(ToolServerTest, CallsTheFactoryOnceAtRegistration) {
  ToolServer server;
  ToolRegistrar registrar = *server.TakeRegistrar();
  int made = 0;
  ASSERT_TRUE(registrar
                  .Register([&made] {
                    ++made;
                    return Named("eager")();
                  })
                  .ok());
  EXPECT_EQ(made, 1);
  TextOf(server, "eager");
  TextOf(server, "eager");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(server.handle().Get("eager")->second, server.handle().Get("eager")->second);
}

TEST(ToolServerTest, RegistersAllOrNoneAndNamesEveryFault) {
  ToolServer server;
  ToolRegistrar registrar = *server.TakeRegistrar();
  ASSERT_TRUE(registrar.Register(Named("taken")).ok());
  const ToolFactory bad_schema = [] {
    auto made = Named("bad_schema")();
    made.first.set_input_schema(R"({"type":"array"})");
    return made;
  };
  const ToolFactory throws = []() -> std::pair<ToolMeta, std::shared_ptr<Tool>> {
    throw std::runtime_error("no database");
  };
  const absl::Status status = registrar.RegisterAll(
      {Named("fine"), Named("taken"), Named("bad name!"), bad_schema, throws, nullptr});
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("5 faults"));
  EXPECT_THAT(message, HasSubstr("taken"));
  EXPECT_THAT(message, HasSubstr("bad name!"));
  EXPECT_THAT(message, HasSubstr("bad_schema"));
  EXPECT_THAT(message, HasSubstr("no database"));
  EXPECT_EQ(FaultsOf(status).size(), 5u);
  EXPECT_EQ(Names(server), std::vector<std::string>{"taken"});
  EXPECT_FALSE(server.handle().Get("fine").has_value());
  EXPECT_EQ(TextOf(server, "taken"), "taken");
  ASSERT_TRUE(registrar.RegisterAll({Named("b"), Named("a")}).ok());
  EXPECT_EQ(Names(server), (std::vector<std::string>{"a", "b", "taken"}));
}

TEST(ToolServerTest, OneFaultIsItself) {
  ToolServer server;
  ToolRegistrar registrar = *server.TakeRegistrar();
  ASSERT_TRUE(registrar.Register(Named("x")).ok());
  EXPECT_EQ(ReasonOf(registrar.Register(Named("x"))), v1::ERROR_REASON_NAME_TAKEN);
  EXPECT_EQ(ReasonOf(registrar.RegisterAll({Named("y"), Named("y")})), v1::ERROR_REASON_NAME_TAKEN);
  EXPECT_EQ(ReasonOf(registrar.Register(Named("__meta"))), v1::ERROR_REASON_NAME_INVALID);
  EXPECT_EQ(Names(server), std::vector<std::string>{"x"});
}

TEST(ToolServerTest, UnregistersAndReplaces) {
  ToolServer server;
  ToolRegistrar registrar = *server.TakeRegistrar();
  ASSERT_TRUE(registrar.Register(Named("x")).ok());
  EXPECT_EQ(ReasonOf(registrar.Unregister("y")), v1::ERROR_REASON_TOOL_NOT_FOUND);
  ASSERT_TRUE(registrar.Unregister("x").ok());
  EXPECT_FALSE(server.handle().Get("x").has_value());
  EXPECT_THAT(TextOf(server, "x"), HasSubstr("no tool named x"));
  ASSERT_TRUE(registrar.Register(MakeTool(ToolSpec("x"), [] { return "anew"; })).ok());
  EXPECT_EQ(TextOf(server, "x"), "anew");
}

TEST(ToolServerTest, PublishesIntoASharedRegistryUnderItsNamespace) {
  Rig rig;
  std::optional<ToolServerHandle> handle;
  {
    ToolServer server(&rig.registry, "my-program", "mine");
    ToolRegistrar registrar = *server.TakeRegistrar();
    ASSERT_TRUE(registrar.Register(Named("hello")).ok());
    const ToolEntry* entry = rig.registry.snapshot()->Find("mine__hello");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->definition->tool.source().kind(), "builtin");
    EXPECT_EQ(entry->definition->tool.source().id(), "my-program");
    Answer answer;
    rig.Start(Rig::Request("mine__hello"), answer);
    EXPECT_EQ(answer.text(), "hello");
    EXPECT_EQ(TextOf(server, "mine__hello"), "hello");
    EXPECT_FALSE(server.handle().Get("hello").has_value());
    EXPECT_TRUE(server.handle().Get("mine__hello").has_value());
    handle = server.handle();
  }
  EXPECT_EQ(rig.registry.snapshot()->Find("mine__hello"), nullptr);
  EXPECT_FALSE(handle->Get("mine__hello").has_value());
}

TEST(ToolServerTest, ADisabledToolIsNotCalled) {
  ToolServer server;
  ToolRegistrar registrar = *server.TakeRegistrar();
  ASSERT_TRUE(registrar.Register(Named("x")).ok());
  ASSERT_TRUE(server.registry().SetToolEnabled("x", false).ok());
  EXPECT_THAT(TextOf(server, "x"), HasSubstr("switched off"));
}

TEST(ToolServerTest, RegisteringAndCallingAtOnceIsSafe) {
  ToolServer server;
  ToolRegistrar registrar = *server.TakeRegistrar();
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(registrar.Register(Named("flaps")).ok());
      EXPECT_TRUE(registrar.Unregister("flaps").ok());
    }
    over.store(true);
  });
  int answered = 0;
  while (!over.load()) {
    int times = 0;
    server.handle().Call("flaps", "", [&times](absl::StatusOr<v1::ToolResult>) { ++times; });
    EXPECT_EQ(times, 1);
    ++answered;
  }
  writer.join();
  EXPECT_GT(answered, 0);
}

}  // namespace
}  // namespace toolrack
