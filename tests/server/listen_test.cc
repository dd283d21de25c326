#include "server/rpc/listen.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/runtime_dir.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

TEST(RuntimeDir, IsMadeForOwnerAndGroupAndHeldByOneDaemon) {
  TempDir dir;
  const std::string path = dir.path() + "/run";
  absl::StatusOr<std::unique_ptr<RuntimeDir>> first = RuntimeDir::Create(path, std::nullopt);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(ModeOf(path), 0750u);
  EXPECT_EQ(ModeOf(path + "/toolrackd.lock"), 0600u);
  const absl::Status second = RuntimeDir::Create(path, std::nullopt).status();
  EXPECT_EQ(second, absl::AlreadyExistsError(absl::StrCat(
                        "The runtime folder ", path, " is in use by another daemon (pid ",
                        ::getpid(), "). Stop it, or give another folder with --runtime-dir.")));
  first->reset();
  EXPECT_TRUE(RuntimeDir::Create(path, std::nullopt).ok());
}

TEST(RuntimeDir, SaysWhyAFolderCannotBeUsed) {
  TempDir dir;
  EXPECT_EQ(
      RuntimeDir::Create(dir.path() + "/no/run", std::nullopt).status().message(),
      absl::StrCat("The runtime folder ", dir.path(),
                   "/no/run cannot be used: making it failed: No such file or directory. Give "
                   "another one with --runtime-dir."));
  std::ofstream(dir.path() + "/file") << "x";
  EXPECT_EQ(RuntimeDir::Create(dir.path() + "/file", std::nullopt).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RuntimeDir, DoesNotFollowALinkToTheLock) {
  TempDir dir;
  std::ofstream(dir.path() + "/precious") << "x";
  ASSERT_EQ(::symlink((dir.path() + "/precious").c_str(), (dir.path() + "/toolrackd.lock").c_str()),
            0);
  EXPECT_FALSE(RuntimeDir::Create(dir.path(), std::nullopt).ok());
  std::string text;
  std::ifstream(dir.path() + "/precious") >> text;
  EXPECT_EQ(text, "x");
}

TEST(Group, IsANameOrANumber) {
  EXPECT_EQ(*GroupOf("0"), 0u);
  EXPECT_EQ(*GroupOf("root"), 0u);
  EXPECT_EQ(GroupOf("no-such-group-here").status().message(),
            "There is no group named no-such-group-here (socket_group).");
}

TEST(UnixSocket, HasItsModeAndIsGoneAfterwards) {
  TempDir dir;
  const std::string path = dir.path() + "/a.sock";
  {
    absl::StatusOr<ListenSocket> socket = ListenSocket::Unix(path, 0660, ::getgid());
    ASSERT_TRUE(socket.ok()) << socket.status();
    EXPECT_EQ(ModeOf(path), 0660u);
    EXPECT_EQ(socket->address(), absl::StrCat("unix:", path));
  }
  EXPECT_EQ(::access(path.c_str(), F_OK), -1);
}

TEST(UnixSocket, TakesThePlaceOfADeadOneButOfNothingElse) {
  TempDir dir;
  const std::string path = dir.path() + "/a.sock";
  {
    absl::StatusOr<ListenSocket> dead = ListenSocket::Unix(path, 0600, std::nullopt);
    ASSERT_TRUE(dead.ok());
    EXPECT_TRUE(ListenSocket::Unix(path, 0600, std::nullopt).ok());
  }
  std::ofstream(path) << "precious";
  const absl::Status status = ListenSocket::Unix(path, 0600, std::nullopt).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

TEST(UnixSocket, NamesTheLimitWhenThePathIsTooLong) {
  const std::string path = "/tmp/" + std::string(110, 'x') + "/agent.sock";
  EXPECT_EQ(ListenSocket::Unix(path, 0600, std::nullopt).status().message(),
            absl::StrCat("The socket path ", path,
                         " has 126 bytes; the system takes at most 107. Give a shorter folder with "
                         "--runtime-dir."));
}

TEST(TcpSocket, TakesAFreePortAndNeverSharesIt) {
  absl::StatusOr<ListenSocket> first = ListenSocket::Tcp(*ParseTcpAddress("127.0.0.1:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(absl::EndsWith(first->address(), ":0"));
  const absl::Status second = ListenSocket::Tcp(*ParseTcpAddress(first->address())).status();
  EXPECT_EQ(second, absl::AlreadyExistsError(absl::StrCat(
                        "The address ", first->address(),
                        " is in use by another process. Stop it, or listen on another port (0: a "
                        "free one).")));
}

TEST(TcpAddress, IsNumericOrLocalhost) {
  EXPECT_TRUE(ParseTcpAddress("127.0.0.1:80")->loopback);
  EXPECT_TRUE(ParseTcpAddress("127.200.0.1:80")->loopback);
  EXPECT_TRUE(ParseTcpAddress("localhost:0")->loopback);
  EXPECT_TRUE(ParseTcpAddress("[::1]:80")->loopback);
  EXPECT_FALSE(ParseTcpAddress("0.0.0.0:80")->loopback);
  EXPECT_FALSE(ParseTcpAddress("[::]:80")->loopback);
  EXPECT_FALSE(ParseTcpAddress("[::ffff:127.0.0.1]:80")->loopback);
  EXPECT_EQ(ParseTcpAddress("[::1]:80")->ToString(), "[::1]:80");
  for (const char* bad : {"", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                          "127.0.0.1:+1", "example.org:80", "::1:80", "[::1]", "[127.0.0.1]:80",
                          "127.1:80", "127.0.0.1:80 ", "2130706433:80"}) {
    EXPECT_FALSE(ParseTcpAddress(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace toolrack
