// What the file tools do.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/builtin/files_fixture.h"

namespace toolrack {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesOf(ToolServer& server) {
  std::vector<std::string> names;
  for (const ToolMeta& tool : server.handle().DefinitionsSorted()) {
    EXPECT_EQ(tool.findings_size(), 0) << tool.ShortDebugString();
    EXPECT_THAT(tool.categories(), ElementsAre("file"));
    names.push_back(tool.name());
  }
  return names;
}

TEST(FileTools, ThoseThatWriteAreThereWhenAskedFor) {
  FilesRig reading(/*write=*/false), writing;
  EXPECT_THAT(NamesOf(reading.server()), ElementsAre("file_list", "file_read", "file_search"));
  EXPECT_THAT(NamesOf(writing.server()),
              ElementsAre("file_edit", "file_list", "file_read", "file_search", "file_write"));
  EXPECT_EQ(writing.server().handle().Get("file_read")->first.risk(), v1::RISK_LEVEL_SAFE);
  EXPECT_EQ(writing.server().handle().Get("file_edit")->first.risk(), v1::RISK_LEVEL_DANGEROUS);
}

TEST(FileRead, GivesTextWholeAndByLines) {
  FilesRig files;
  files.Put("a.txt", "one\ntwo\nthree\nlast");
  const v1::ToolResult all = files.Call("file_read", {{"path", "a.txt"}});
  EXPECT_EQ(TextOf(all), "one\ntwo\nthree\nlast");
  EXPECT_EQ(all.structured_json(), R"({"path":"a.txt","size":18,"eof":true})");
  const v1::ToolResult two =
      files.Call("file_read", {{"path", "a.txt"}, {"first_line", 2}, {"lines", 2}});
  EXPECT_EQ(TextOf(two), "two\nthree\n");
  EXPECT_EQ(
      two.structured_json(),
      R"({"path":"a.txt","size":18,"first_line":2,"next_line":4,"total_lines":4,"eof":false})");
  EXPECT_EQ(two.summary(), "a.txt: lines 2 to 3 of 4");
  EXPECT_EQ(TextOf(files.Call("file_read", {{"path", "a.txt"}, {"first_line", 4}})), "last");
  const v1::ToolResult none = files.Call("file_read", {{"path", "a.txt"}, {"first_line", 9}});
  EXPECT_EQ(TextOf(none), "");
  EXPECT_EQ(none.summary(), "a.txt: it has 4 lines; none from 9 on");
  EXPECT_FALSE(none.is_error());
  const v1::ToolResult huge = files.Call(
      "file_read", {{"path", "a.txt"}, {"first_line", UINT64_MAX}, {"lines", UINT64_MAX}});
  EXPECT_EQ(TextOf(huge), "");
  EXPECT_TRUE(files.Call("file_read", {{"path", "a.txt"}, {"lines", 1}, {"offset", 1}}).is_error());
}

TEST(FileRead, EveryLineComesOnceInPieces) {
  FilesRig files;
  for (const std::string text : {"", "\n", "a", "a\n", "a\n\nb", "é\n€\n\xf0\x9f\x98\x80\n"}) {
    files.Put("a.txt", text);
    std::string lines, bytes;
    for (uint64_t next = 1, done = 0; done == 0;) {
      const v1::ToolResult piece =
          files.Call("file_read", {{"path", "a.txt"}, {"first_line", next}, {"lines", 1}});
      lines += TextOf(piece);
      next = DataOf(piece)["next_line"];
      done = DataOf(piece)["eof"] ? 1 : 0;
    }
    EXPECT_EQ(lines, text);
    for (uint64_t next = 0, done = 0; done == 0;) {
      const v1::ToolResult piece =
          files.Call("file_read", {{"path", "a.txt"}, {"offset", next}, {"length", 4}});
      bytes += TextOf(piece);
      EXPECT_TRUE(DataOf(piece)["next_offset"] > next || DataOf(piece)["eof"]);
      next = DataOf(piece)["next_offset"];
      done = DataOf(piece)["eof"] ? 1 : 0;
    }
    EXPECT_EQ(bytes, text);
  }
}

TEST(FileRead, GivesOtherFilesAsBytes) {
  FilesRig files;
  const std::string data("\x89PNG\0\xff\xfe", 7);
  files.Put("p/ü 1.png", data);
  const v1::ToolResult all = files.Call("file_read", {{"path", "p/ü 1.png"}});
  EXPECT_EQ(all.content(0).resource().blob(), data);
  EXPECT_EQ(all.content(0).resource().uri(), "file:p/%C3%BC%201.png");
  EXPECT_EQ(all.content(0).resource().mime_type(), "application/octet-stream");
  const v1::ToolResult piece =
      files.Call("file_read", {{"path", "p/ü 1.png"}, {"offset", 4}, {"length", 4}});
  EXPECT_EQ(piece.content(0).resource().blob(), data.substr(4));
  EXPECT_THAT(TextOf(files.Call("file_read", {{"path", "p/ü 1.png"}, {"lines", 1}})),
              HasSubstr("not UTF-8 text"));
}

TEST(FileRead, ReadsLargeFilesByPieces) {
  FilesRig files(true, /*max_bytes=*/1024);
  files.Put("big", std::string(3000, 'x'));
  const v1::ToolResult whole = files.Call("file_read", {{"path", "big"}});
  EXPECT_EQ(TextOf(whole),
            "\"big\" has 3000 bytes; at most 1024 are handled at once. Read a piece of it with "
            "`offset` and `length` of file_read.");
  EXPECT_EQ(CodeOf(whole), "OUT_OF_RANGE");
  const v1::ToolResult piece = files.Call("file_read", {{"path", "big"}, {"offset", 2500}});
  EXPECT_EQ(TextOf(piece).size(), 500u);
  EXPECT_TRUE(DataOf(piece)["eof"]);
  EXPECT_EQ(
      TextOf(files.Call("file_read", {{"path", "big"}, {"offset", 1}, {"length", 2000}})).size(),
      1024u);
  EXPECT_EQ(TextOf(files.Call("file_read", {{"path", "big"}, {"offset", UINT64_MAX}})), "");
}

TEST(FileList, IsSortedAndSaysWhatItLeftOut) {
  FilesRig files(true, 4096, /*max_entries=*/3);
  files.Put("b.md", "12");
  files.Put("a/x.md", "1");
  files.Put("a/b/y.md", "123");
  files.Link("a", "c");
  EXPECT_EQ(
      files.Call("file_list", json::object()).structured_json(),
      R"({"entries":[{"path":"a","kind":"folder"},{"path":"b.md","kind":"file","size":2},)"
      R"({"path":"c","kind":"link"}],"left_out":0,"unreadable_folders":0,"unreadable_names":0,)"
      R"("complete":true})");
  const json deep = DataOf(files.Call("file_list", {{"depth", 9}}));
  EXPECT_EQ(deep["entries"][1]["path"], "a/b");
  EXPECT_EQ(deep["entries"][2]["path"], "a/b/y.md");
  EXPECT_EQ(deep["left_out"], 3);
  EXPECT_FALSE(deep["complete"]);
  const auto paths = [&](const json& arguments) {
    std::vector<std::string> out;
    const json data = DataOf(files.Call("file_list", arguments));
    for (const json& entry : data["entries"]) {
      out.push_back(entry["path"]);
    }
    return out;
  };
  EXPECT_THAT(paths({{"depth", 9}, {"glob", "*.md"}}), ElementsAre("a/b/y.md", "a/x.md", "b.md"));
  EXPECT_THAT(paths({{"depth", 9}, {"glob", "a/*.md"}}), ElementsAre("a/x.md"));
  EXPECT_THAT(paths({{"depth", 9}, {"glob", "a/**/*.md"}}), ElementsAre("a/b/y.md", "a/x.md"));
  EXPECT_THAT(paths({{"depth", 9}, {"glob", "**/?.md"}}),
              ElementsAre("a/b/y.md", "a/x.md", "b.md"));
  EXPECT_THAT(paths({{"depth", 9}, {"glob", "b.m[d"}}), ElementsAre());
  EXPECT_THAT(paths({{"path", "./a//b/"}}), ElementsAre("a/b/y.md"));
}

TEST(FileList, CountsNamesThatAreNotUtf8) {
  FilesRig files;
  files.Put("\xff\xfe", "1");
  const json data = DataOf(files.Call("file_list", json::object()));
  EXPECT_EQ(data["unreadable_names"], 1);
  EXPECT_FALSE(data["complete"]);
}

TEST(FileSearch, FindsTextsAndExpressions) {
  FilesRig files(true, 1024);
  files.Put("a.cc", "int Timeout();\r\nint x;\n  timeout = 3;");
  files.Put("b/c.md", "a+b and (timeout)\n");
  files.Put("bin", std::string("timeout\0", 8));
  files.Put("big", std::string(2000, 't'));
  const json found = DataOf(files.Call("file_search", {{"query", "timeout"}}));
  EXPECT_EQ(found["matches"].dump(), R"([{"line":3,"path":"a.cc","text":"  timeout = 3;"},)"
                                     R"x({"line":1,"path":"b/c.md","text":"a+b and (timeout)"}])x");
  EXPECT_EQ(found["files_searched"], 2);
  EXPECT_EQ(found["not_text"], 1);
  EXPECT_EQ(found["too_large"], 1);
  EXPECT_FALSE(found["complete"]);
  const auto count = [&](json arguments) {
    return DataOf(files.Call("file_search", arguments))["matches"].size();
  };
  EXPECT_EQ(count({{"query", "timeout"}, {"ignore_case", true}}), 3u);
  EXPECT_EQ(count({{"query", "a+b"}}), 1u);
  EXPECT_EQ(count({{"query", "a+b"}, {"regex", true}}), 0u);
  EXPECT_EQ(count({{"query", "^int .*;$"}, {"regex", true}}), 2u);
  EXPECT_EQ(count({{"query", "timeout"}, {"glob", "*.md"}}), 1u);
  EXPECT_EQ(count({{"query", "timeout"}, {"path", "a.cc"}}), 1u);
  EXPECT_EQ(count({{"query", "timeout"}, {"path", "b"}}), 1u);
  EXPECT_EQ(count({{"query", "timeout"}, {"max_matches", 1}}), 1u);
  EXPECT_THAT(TextOf(files.Call("file_search", {{"query", "("}, {"regex", true}})),
              HasSubstr("not a regular expression"));
}

TEST(FileSearch, ShowsWhatIsAroundThePlaceInALongLine) {
  FilesRig files(true, 1 << 20);
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "é";
  files.Put("a", line + "needle" + line);
  const json found = DataOf(files.Call("file_search", {{"query", "needle"}}));
  const std::string text = found["matches"][0]["text"];
  EXPECT_THAT(text, HasSubstr("éneedleé"));
  EXPECT_LE(text.size(), 410u);
  EXPECT_EQ(text.substr(0, 3), "…");
}

// Stops the call when it tells how far it is.
class StoppingReporter : public CallReporter {
 public:
  explicit StoppingReporter(StopSource* stop) : stop_(stop) {}
  void OnProgress(v1::Progress) override { stop_->RequestStop(StopReason::kCaller); }
  void OnLog(v1::LogLine) override {}
  void OnContent(v1::Content) override {}

 private:
  StopSource* stop_;
};

TEST(FileSearch, HeedsTheStopBetweenFiles) {
  FilesRig files(true, 4096, 1000);
  for (int i = 0; i < 250; ++i) files.Put(absl::StrCat("f", i), "x");
  StopSource stop;
  const v1::ToolResult result =
      files.Run("file_search", json({{"query", "x"}, {"path", "."}, {"max_matches", 500}}),
                stop.token(), std::make_shared<StoppingReporter>(&stop));
  EXPECT_TRUE(result.is_error());
  EXPECT_EQ(CodeOf(result), "CANCELLED");
}

TEST(FileWrite, WritesWholeFilesAndKeepsTheirMode) {
  FilesRig files;
  const v1::ToolResult made = files.Call("file_write", {{"path", "n.txt"}, {"content", "é"}});
  EXPECT_EQ(made.structured_json(), R"({"path":"n.txt","size":2,"replaced":false})");
  ASSERT_EQ(::chmod(files.At("n.txt").c_str(), 04750), 0);
  const v1::ToolResult again = files.Call("file_write", {{"path", "n.txt"}, {"content", "x"}});
  EXPECT_EQ(CodeOf(again), "ALREADY_EXISTS");
  EXPECT_THAT(TextOf(again), HasSubstr("Give `overwrite`"));
  EXPECT_EQ(files.Get("n.txt"), "é");
  EXPECT_FALSE(files.Call("file_write", {{"path", "n.txt"}, {"content", ""}, {"overwrite", true}})
                   .is_error());
  EXPECT_EQ(files.Get("n.txt"), "");
  struct stat info;
  ASSERT_EQ(::stat(files.At("n.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
  // Nothing else is left in the folder.
  EXPECT_EQ(DataOf(files.Call("file_list", json::object()))["entries"].size(), 1u);
}

TEST(FileWrite, MakesFoldersOnlyWhenAsked) {
  FilesRig files;
  const json arguments = {{"path", "a/b//c/n.txt"}, {"content", "x"}};
  EXPECT_THAT(TextOf(files.Call("file_write", arguments)), HasSubstr("`create_parents`"));
  EXPECT_FALSE(std::filesystem::exists(files.At("a")));
  json with = arguments;
  with["create_parents"] = true;
  EXPECT_FALSE(files.Call("file_write", with).is_error());
  EXPECT_EQ(files.Get("a/b/c/n.txt"), "x");
  with["path"] = "../new/n.txt";
  EXPECT_TRUE(files.Call("file_write", with).is_error());
  EXPECT_FALSE(std::filesystem::exists(files.At("../new")));
  with["path"] = "d/../../n.txt";
  EXPECT_TRUE(files.Call("file_write", with).is_error());
  for (const char* bad : {".", "a/", "a/..", "a"}) {
    with["path"] = bad;
    with["overwrite"] = true;
    EXPECT_TRUE(files.Call("file_write", with).is_error()) << bad;
  }
}

TEST(FileWrite, RefusesWhatIsTooLarge) {
  FilesRig files(true, 1024);
  EXPECT_EQ(CodeOf(files.Call("file_write", {{"path", "n"}, {"content", std::string(1025, 'x')}})),
            "OUT_OF_RANGE");
  EXPECT_FALSE(std::filesystem::exists(files.At("n")));
  files.Put("e", std::string(1000, 'a'));
  EXPECT_EQ(
      CodeOf(files.Call("file_edit",
                        {{"path", "e"}, {"old_text", "a"}, {"new_text", "aa"}, {"all", true}})),
      "OUT_OF_RANGE");
  EXPECT_EQ(files.Get("e"), std::string(1000, 'a'));
}

TEST(FileEdit, ReplacesWhatOccursOnce) {
  FilesRig files;
  files.Put("a.txt", "one\ntwo\none two\n");
  const v1::ToolResult done =
      files.Call("file_edit", {{"path", "a.txt"}, {"old_text", "two\none"}, {"new_text", "2\n1"}});
  EXPECT_EQ(done.structured_json(), R"({"path":"a.txt","replaced":1,"lines":[2],"size":12})");
  EXPECT_EQ(files.Get("a.txt"), "one\n2\n1 two\n");
}

TEST(FileEdit, SaysHowOftenAndWhereOtherwise) {
  FilesRig files;
  files.Put("a.txt", "x\ny x\nx\n");
  const json arguments = {{"path", "a.txt"}, {"old_text", "x"}, {"new_text", "z"}};
  const v1::ToolResult many = files.Call("file_edit", arguments);
  EXPECT_EQ(CodeOf(many), "FAILED_PRECONDITION");
  EXPECT_THAT(TextOf(many), HasSubstr("occurs 3 times in \"a.txt\", in lines 1, 2, 3; nothing"));
  EXPECT_EQ(files.Get("a.txt"), "x\ny x\nx\n");
  json all = arguments;
  all["all"] = true;
  EXPECT_EQ(DataOf(files.Call("file_edit", all))["replaced"], 3);
  EXPECT_EQ(files.Get("a.txt"), "z\ny z\nz\n");
  EXPECT_EQ(CodeOf(files.Call("file_edit", all)), "NOT_FOUND");
  files.Put("crlf", "a\r\nb\r\n");
  EXPECT_THAT(
      TextOf(files.Call("file_edit", {{"path", "crlf"}, {"old_text", "a\nb"}, {"new_text", ""}})),
      HasSubstr("\\r\\n"));
}

}  // namespace
}  // namespace toolrack
