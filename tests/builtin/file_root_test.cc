// No path leads out of the folder.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <thread>

#include "absl/strings/str_join.h"
#include "tests/builtin/files_fixture.h"

namespace toolrack {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kReaders[] = {"file_read", "file_list", "file_search"};

nlohmann::json ArgumentsOf(const std::string& tool, const std::string& path) {
  if (tool == "file_search") return {{"path", path}, {"query", "canary"}};
  if (tool == "file_write") return {{"path", path}, {"content", "x"}, {"overwrite", true}};
  if (tool == "file_edit") return {{"path", path}, {"old_text", "canary"}, {"new_text", "x"}};
  return {{"path", path}};
}

TEST(FileRoot, HasNoWayOut) {
  FilesRig files;
  files.Put("in/here.txt", "inside");
  files.Link("../secret.txt", "out.txt");
  files.Link("..", "up");
  files.Link(files.root() + "/in", "absolute");
  files.Link("/proc/self/root", "magic");
  files.Link("/proc/self/cwd", "magic2");
  for (const std::string path :
       {"../secret.txt", "in/../../secret.txt", "../root-twin/secret.txt", "out.txt",
        "up/secret.txt", "absolute/here.txt", "magic/etc/passwd", "magic2/x", "/etc/passwd", "/",
        "..", "in/../.."}) {
    for (const char* tool : {"file_read", "file_list", "file_search", "file_write", "file_edit"}) {
      const v1::ToolResult result = files.Call(tool, ArgumentsOf(tool, path));
      EXPECT_TRUE(result.is_error()) << tool << " " << path;
      EXPECT_EQ(result.error().reason(), "TOOL_INVALID_ARGUMENT") << tool << " " << path;
      EXPECT_THAT(TextOf(result), Not(HasSubstr(kCanary))) << tool << " " << path;
    }
  }
  EXPECT_EQ(files.Get("../secret.txt"), kCanary);
  EXPECT_THAT(TextOf(files.Call("file_read", {{"path", "../secret.txt"}})),
              HasSubstr("leads out of the folder"));
}

TEST(FileRoot, FollowsRelativeLinksThatStayInsideToRead) {
  FilesRig files;
  files.Put("in/here.txt", "inside");
  files.Link("in", "door");
  files.Link("in/here.txt", "file");
  EXPECT_EQ(TextOf(files.Call("file_read", {{"path", "door/here.txt"}})), "inside");
  EXPECT_EQ(TextOf(files.Call("file_read", {{"path", "file"}})), "inside");
  EXPECT_EQ(TextOf(files.Call("file_read", {{"path", "in/../file"}})), "inside");
  // What is written is named itself.
  for (const char* tool : {"file_write", "file_edit"}) {
    EXPECT_THAT(TextOf(files.Call(tool, ArgumentsOf(tool, "file"))), HasSubstr("is a link"));
  }
  EXPECT_EQ(files.Get("in/here.txt"), "inside");
}

TEST(FileRoot, RefusesWhatIsNoFileWithoutWaiting) {
  FilesRig files;
  ASSERT_EQ(::mkfifo(files.At("fifo").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", files.At("sock").c_str());
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
  for (const std::string path : {"fifo", "sock"}) {
    for (const char* tool : {"file_read", "file_list", "file_search", "file_write", "file_edit"}) {
      const v1::ToolResult result = files.Call(tool, ArgumentsOf(tool, path));
      EXPECT_THAT(TextOf(result), HasSubstr(path == "fifo" ? "is a FIFO" : "is a socket")) << tool;
    }
  }
  // And goes past them on its way.
  EXPECT_EQ(DataOf(files.Call("file_search", {{"query", "x"}}))["files_searched"], 0);
  EXPECT_EQ(DataOf(files.Call("file_list", nlohmann::json::object()))["entries"][0]["kind"],
            "other");
}

TEST(FileRoot, SaysWhatIsWrongWithAPathAndWhatToDo) {
  FilesRig files;
  files.Put("a.txt", "x");
  std::filesystem::create_directories(files.At("d"));
  const auto read = [&](const std::string& path) {
    return TextOf(files.Call("file_read", {{"path", path}}));
  };
  EXPECT_EQ(read("none.txt"), "There is no \"none.txt\". Look for it with file_list.");
  EXPECT_THAT(read("d"), HasSubstr("is a folder, not a file. See what is in it with file_list."));
  EXPECT_THAT(read("a.txt/b"), HasSubstr("no folder"));
  EXPECT_THAT(read(std::string(300, 'a')), HasSubstr("too long"));
  EXPECT_THAT(read(std::string("a.txt\0b", 7)), HasSubstr("NUL"));
}

TEST(FileRoot, RefusesToStartWithoutItsFolder) {
  v1::FileToolsConfig config;
  EXPECT_TRUE(MakeFileTools(config, nullptr)->empty());
  config.set_root("/nowhere/at/all");
  EXPECT_EQ(MakeFileTools(config, nullptr).status().message(),
            "builtin.files.root: /nowhere/at/all cannot be used (No such file or directory): name "
            "a folder that is there, or take the setting out");
}

// As an old kernel answers, and some seccomp profiles.
void TakeOpenat2Away() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(77);
  }
}

TEST(FileRootDeathTest, RefusesToStartWithoutOpenat2) {
  TempDir dir;
  const auto start = [&] {
    TakeOpenat2Away();
    const absl::Status status = FileRoot::Open(dir.path()).status();
    std::fputs(std::string(status.message()).c_str(), stderr);
    ::_exit(status.code() == absl::StatusCode::kFailedPrecondition ? 0 : 1);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(0),
              "need the system call openat2, and it does not work here .Function not implemented.: "
              "run on Linux 5.6 or later");
}

// A link that changes its mind all the time is inside or refused, never outside.
TEST(FileRoot, StandsARaceWhileItIsOpened) {
  FilesRig files;
  files.Put("good/secret.txt", "inside");
  files.Link("good", "door");
  std::atomic<bool> over{false};
  std::thread swapper([&] {
    const std::string door = files.At("door"), next = files.At("next");
    for (int i = 0; !over.load(); ++i) {
      std::filesystem::create_symlink(i % 2 == 0 ? ".." : "good", next);
      std::filesystem::rename(next, door);
    }
  });
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    const v1::ToolResult result = files.Call("file_read", {{"path", "door/secret.txt"}});
    if (!result.is_error()) {
      EXPECT_EQ(TextOf(result), "inside");
      ++read;
    }
    files.Call("file_write",
               {{"path", "door/secret.txt"}, {"content", "inside"}, {"overwrite", true}});
  }
  over.store(true);
  swapper.join();
  EXPECT_GT(read, 0);
  EXPECT_EQ(files.Get("../secret.txt"), kCanary);
}

// Parts of paths that might lead somewhere, and any other text.
rc::Gen<std::string> PathPart() {
  return rc::gen::oneOf(rc::gen::elementOf(std::vector<std::string>{"..",
                                                                    ".",
                                                                    "",
                                                                    "in",
                                                                    "here.txt",
                                                                    "up",
                                                                    "out.txt",
                                                                    "magic",
                                                                    "self",
                                                                    "secret.txt",
                                                                    "root",
                                                                    "root-twin",
                                                                    "é",
                                                                    "\xe2\x80\xae",
                                                                    "\xef\xbc\x8e\xef\xbc\x8e",
                                                                    "%2e%2e",
                                                                    "..\\",
                                                                    "~",
                                                                    std::string("..\0", 3),
                                                                    std::string(256, 'x')}),
                        rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange('!', '\x7f')),
                                     [](std::string text) { return text; }));
}

RC_GTEST_PROP(FileRootProperty, NoPathReadsWhatIsOutside, ()) {
  FilesRig files;
  files.Put("in/here.txt", "inside");
  files.Put("../beside-only", kCanary);  // a name that no path here has
  files.Link("../secret.txt", "out.txt");
  files.Link("..", "up");
  files.Link("../..", "in/up");
  files.Link("/proc/self/root", "magic");
  files.Link("/", "self");
  for (int i = 0; i < 20; ++i) {
    const auto parts = *rc::gen::container<std::vector<std::string>>(PathPart());
    std::string path = absl::StrJoin(parts, "/");
    if (*rc::gen::inRange(0, 8) == 0) path = "/" + path;
    if (path.empty()) continue;
    for (const char* tool : kReaders) {
      const v1::ToolResult result = files.Call(tool, ArgumentsOf(tool, path));
      RC_ASSERT(result.ShortDebugString().find(kCanary) == std::string::npos);
      // What is beside it must not even be listed.
      RC_ASSERT(result.ShortDebugString().find("beside-only") == std::string::npos);
    }
    files.Call("file_write", ArgumentsOf("file_write", path));
    RC_ASSERT(files.Get("../secret.txt") == kCanary);
    RC_ASSERT(files.Get("../root-twin/secret.txt") == kCanary);
  }
  // Nothing was left outside either.
  std::vector<std::string> beside;
  for (const auto& entry : std::filesystem::directory_iterator(files.At(".."))) {
    beside.push_back(entry.path().filename());
  }
  std::sort(beside.begin(), beside.end());
  RC_ASSERT((beside == std::vector<std::string>{"beside-only", "root", "root-twin", "secret.txt"}));
}

}  // namespace
}  // namespace toolrack
