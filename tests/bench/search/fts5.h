// SQLite's full-text search in memory, for comparison; nothing when SQLite is not here.
#ifndef TOOLRACK_TESTS_BENCH_SEARCH_FTS5_H_
#define TOOLRACK_TESTS_BENCH_SEARCH_FTS5_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef TOOLRACK_HAS_SQLITE
#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#endif

namespace toolrack::bench {

#ifdef TOOLRACK_HAS_SQLITE

// Not thread-safe; ends the process on any error.
class Fts5 {
 public:
  static constexpr bool kThere = true;

  Fts5() {
    Check(sqlite3_open(":memory:", &db_));
    Run("CREATE VIRTUAL TABLE t USING fts5(name, description, schema, "
        "tokenize = 'porter unicode61')");
    Run("BEGIN");
    Check(sqlite3_prepare_v2(db_, "INSERT INTO t VALUES (?, ?, ?)", -1, &insert_, nullptr));
  }
  ~Fts5() {
    sqlite3_finalize(insert_);
    sqlite3_finalize(search_);
    sqlite3_close(db_);
  }
  Fts5(const Fts5&) = delete;
  Fts5& operator=(const Fts5&) = delete;

  void Add(const std::string& name, const std::string& description, const std::string& schema) {
    Bind(insert_, 1, name);
    Bind(insert_, 2, description);
    Bind(insert_, 3, schema);
    Check(sqlite3_step(insert_), SQLITE_DONE);
    Check(sqlite3_reset(insert_));
  }

  void Finish() {
    Run("COMMIT");
    Run("INSERT INTO t(t) VALUES ('optimize')");
    Check(sqlite3_prepare_v2(db_,
                             "SELECT name FROM t WHERE t MATCH ? ORDER BY bm25(t, 8, 2, 1) LIMIT ?",
                             -1, &search_, nullptr));
  }

  // How many it found.
  size_t Search(const std::vector<std::string>& words, int limit) {
    if (words.empty()) return 0;
    const std::string match = absl::StrJoin(words, " OR ", [](std::string* out, const auto& word) {
      absl::StrAppend(out, "\"", word, "\"");
    });
    Bind(search_, 1, match);
    Check(sqlite3_bind_int(search_, 2, limit));
    size_t found = 0;
    int step = 0;
    while ((step = sqlite3_step(search_)) == SQLITE_ROW) ++found;
    Check(step, SQLITE_DONE);
    Check(sqlite3_reset(search_));
    return found;
  }

  size_t bytes() {
    sqlite3_stmt* pages = nullptr;
    Check(sqlite3_prepare_v2(
        db_, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", -1,
        &pages, nullptr));
    Check(sqlite3_step(pages), SQLITE_ROW);
    const auto bytes = static_cast<size_t>(sqlite3_column_int64(pages, 0));
    sqlite3_finalize(pages);
    return bytes;
  }

 private:
  void Check(int code, int wanted = SQLITE_OK) {
    if (code == wanted) return;
    std::fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(db_));
    std::exit(1);
  }
  void Run(const char* sql) { Check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  void Bind(sqlite3_stmt* statement, int place, const std::string& text) {
    Check(sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* search_ = nullptr;
};

#else

class Fts5 {
 public:
  static constexpr bool kThere = false;
  void Add(const std::string&, const std::string&, const std::string&) {}
  void Finish() {}
  size_t Search(const std::vector<std::string>&, int) { return 0; }
  size_t bytes() { return 0; }
};

#endif

}  // namespace toolrack::bench

#endif  // TOOLRACK_TESTS_BENCH_SEARCH_FTS5_H_
