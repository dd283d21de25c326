// The rules of registry/base/task.h, checked in the sources: what g++ 12.2 miscompiles is not
// written. The checker reads tokens, not C++; it errs on the strict side.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace toolrack {
namespace {

struct Token {
  std::string text;
  int line;
};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Identifiers, numbers and operators; no comments, no directives; a literal is `""`.
std::vector<Token> Tokenize(const std::string& text) {
  static const char* const kOperators[] = {
      "<=>", "&&", "||", "->", "::", "==", "!=", "<=", ">=", "+=",
      "-=",  "*=", "/=", "|=", "&=", "^=", "%=", "[[", "]]"};
  std::vector<Token> out;
  int line = 1;
  bool fresh = true;  // nothing but blanks so far on this line
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      fresh = true;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      line += static_cast<int>(std::count(text.begin() + static_cast<long>(i),
                                          text.begin() + static_cast<long>(end), '\n'));
      i = end;
    } else if (c == '#' && fresh) {
      // A macro's body is checked where it is used; its continuation lines are skipped with it.
      while (i < text.size() && text[i] != '\n') {
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
          ++line;
          ++i;
        }
        ++i;
      }
    } else if (text.compare(i, 2, "R\"") == 0) {
      const size_t open = text.find('(', i);
      const std::string end = ")" + text.substr(i + 2, open - i - 2) + "\"";
      const size_t close = std::min(text.find(end, open), text.size() - end.size()) + end.size();
      line += static_cast<int>(std::count(text.begin() + static_cast<long>(i),
                                          text.begin() + static_cast<long>(close), '\n'));
      out.push_back({"\"\"", line});
      i = close;
      fresh = false;
    } else if (c == '"' || (c == '\'' && (i == 0 || !IsWord(text[i - 1])))) {
      size_t end = i + 1;
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      out.push_back({"\"\"", line});
      i = end + 1;
      fresh = false;
    } else {
      fresh = false;
      size_t length = 1;
      if (IsWord(c)) {
        while (i + length < text.size() && (IsWord(text[i + length]) || text[i + length] == '\''))
          ++length;
      } else {
        for (const char* each : kOperators) {
          if (text.compare(i, std::string(each).size(), each) == 0) {
            length = std::string(each).size();
            break;
          }
        }
      }
      out.push_back({text.substr(i, length), line});
      i += length;
    }
  }
  return out;
}

class Checker {
 public:
  explicit Checker(const std::string& text) : tokens_(Tokenize(text)), match_(tokens_.size(), 0) {
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const std::string& t = tokens_[i].text;
      if (t == "(" || t == "{" || t == "[") open.push_back(i);
      if ((t == ")" || t == "}" || t == "]") && !open.empty()) {
        match_[open.back()] = i;
        match_[i] = open.back();
        open.pop_back();
      }
    }
  }

  std::vector<std::string> Faults() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (At(i) == "co_await") CheckAwait(i);
      if (At(i) == "{" && IsFunctionBody(i)) CheckBody(i);
    }
    return faults_;
  }

 private:
  const std::string& At(size_t i) const {
    static const std::string kNone;
    return i < tokens_.size() ? tokens_[i].text : kNone;
  }
  const std::string& Before(size_t i, size_t steps = 1) const {
    return At(i >= steps ? i - steps : tokens_.size());
  }
  void Fault(size_t at, const std::string& what) {
    faults_.push_back("line " + std::to_string(tokens_[at].line) + ": " + what);
  }

  // A `{` that opens statements, not an initialiser.
  bool IsBlock(size_t i) const {
    static const std::set<std::string> kBefore = {")", "else", "do", "try", ";", "{", "}", ":", ""};
    return kBefore.count(Before(i)) > 0 || IsFunctionBody(i);
  }

  void CheckAwait(size_t i) {
    const std::string& before = Before(i);
    if (before == "operator") return;  // an awaitable being declared
    const bool statement = before == ";" || before == "}" || (before == "{" && IsBlock(i - 1));
    if (!statement && before != "=" && before != "co_return") {
      Fault(i, "co_await after `" + before +
                   "`: only at the start of a statement, after `=` or `co_return` (rule 1)");
    }
    if (before == "=" && Before(i, 2) == "]")
      Fault(i, "a structured binding from co_await (rule 8)");
    for (size_t j = i; j < tokens_.size() && At(j) != ";"; ++j) {
      if (At(j) == "{" || (At(j) == "[" && IsLambda(j))) {
        Fault(i, "a closure or braces inside a co_await expression (rule 2)");
        break;
      }
      if (At(j) == "?" || At(j) == "&&" || At(j) == "||") {
        Fault(i, "co_await beside `" + At(j) + "` (rule 1)");
        break;
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (At(j) == "catch" && At(j + 1) == "(") {
        const size_t body = match_[j + 1] + 1;
        if (body < i && i < match_[body]) Fault(i, "co_await in a catch block (rule 8)");
      }
    }
  }

  bool IsLambda(size_t bracket) const {
    const std::string& before = Before(bracket);
    const bool subscript =
        before == ")" || before == "]" || before == "\"\"" ||
        (!before.empty() && IsWord(before[0]) && before != "return" && before != "co_return");
    return !subscript;
  }

  // Whether the `{` at `i` opens the body of a function or a lambda; then `parameters` is its `(`.
  bool IsFunctionBody(size_t i, size_t* parameters = nullptr) const {
    static const std::set<std::string> kStatements = {"if", "for", "while", "switch", "catch"};
    // Back over `const noexcept override -> a::B<C> &` to the parameters.
    size_t j = i;
    for (int steps = 0; j > 0 && steps < 24; ++steps) {
      --j;
      const std::string& t = At(j);
      if (t == ")") {
        const std::string& name = Before(match_[j]);
        if (name == "noexcept") {
          j = match_[j] - 1;
          continue;
        }
        if (parameters != nullptr) *parameters = match_[j];
        return kStatements.count(name) == 0 && !name.empty() &&
               (IsWord(name[0]) || name == "]" || name == ")");
      }
      if (!(IsWord(t[0]) || t == "->" || t == "::" || t == "<" || t == ">" || t == "*" ||
            t == "&" || t == ","))
        return false;
      if (t == "return" || t == "else" || t == "do" || t == "try" || t == "namespace" ||
          t == "struct" || t == "class")
        return false;
    }
    return false;
  }

  void CheckBody(size_t open) {
    bool coroutine = false;
    for (size_t j = open + 1; j < match_[open]; ++j) {
      // Not what stands in functions within.
      if (At(j) == "{" && IsFunctionBody(j)) j = match_[j];
      if (At(j) == "co_await" || At(j) == "co_return" || At(j) == "co_yield") coroutine = true;
    }
    if (!coroutine) return;
    static const std::set<std::string> kNoDeclaration = {
        "if",       "for",       "while",    "switch", "do", "try",
        "co_await", "co_return", "co_yield", "throw",  "{",  "return"};
    if (kNoDeclaration.count(At(open + 1)) > 0)
      Fault(open, "the coroutine does not start with a declaration (rule 4)");
    size_t parameters = 0;
    IsFunctionBody(open, &parameters);
    if (Before(parameters) == "]" && match_[parameters - 1] + 1 != parameters - 1) {
      Fault(open, "a lambda coroutine with captures (rule 6)");
    }
  }

  std::vector<Token> tokens_;
  std::vector<size_t> match_;
  std::vector<std::string> faults_;
};

std::vector<std::string> FaultsOf(const std::string& text) { return Checker(text).Faults(); }

TEST(CoroutineRules, HoldInEverySource) {
  namespace fs = std::filesystem;
  size_t files = 0, coroutines = 0;
  for (const char* room : {"registry", "server", "client", "renderers"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(TOOLRACK_SOURCE_DIR) / room)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      std::ifstream in(entry.path());
      std::stringstream text;
      text << in.rdbuf();
      ++files;
      coroutines += text.str().find("co_return") != std::string::npos;
      for (const std::string& fault : FaultsOf(text.str())) {
        ADD_FAILURE() << fs::relative(entry.path(), TOOLRACK_SOURCE_DIR).string() << " " << fault;
      }
    }
  }
  EXPECT_GT(files, 20u);
  EXPECT_GT(coroutines, 0u);
}

TEST(CoroutineRules, TheCheckerLetsTheGoodFormsPass) {
  for (const char* good : {
           "Task<int> F() { int a = 0; co_return a; }",
           "Task<int> F() { int a = co_await G(); co_await H(); co_return co_await I(a); }",
           "Task<int> F(int x) const noexcept { A a; if (x) { co_await G(); } else { a = co_await "
           "H(); } co_return 1; }",
           "Task<A> T::F() { A a; try { co_await G(); } catch (const E& e) { a = e; } co_return a; "
           "}",
           "auto f = [](int x) -> Task<int> { int y = x; co_await G(y); co_return y; };",
           "void F() { auto f = [x] { return x; }; if (a[1] && b) { f(); } }",
           "Task<int> F() { auto f = [x](int y) { return x + y; }; co_return f(1); }",
           "struct T { Awaiter operator co_await() && { return Awaiter(1); } };",
           "// if (co_await x)\nconst char* s = \"co_await (x)\"; /* a ? co_await b : c */",
       }) {
    EXPECT_EQ(FaultsOf(good), std::vector<std::string>()) << good;
  }
}

TEST(CoroutineRules, TheCheckerFindsEveryForbiddenForm) {
  for (const char* bad : {
           "Task<int> F() { int a; if (co_await G()) { a = 1; } co_return a; }",
           "Task<int> F() { int a; while (co_await G()) {} co_return a; }",
           "Task<int> F() { int a; switch (co_await G()) {} co_return a; }",
           "Task<int> F() { int a = x ? co_await G() : 1; co_return a; }",
           "Task<int> F() { int a = co_await G() ? 2 : 1; co_return a; }",
           "Task<int> F() { bool a = co_await G() && b; co_return a; }",
           "Task<int> F() { bool a = b || co_await G(); co_return a; }",
           "Task<int> F() { A a{X(1), co_await G()}; co_return a; }",
           "Task<int> F() { A a{co_await G()}; co_return a; }",
           "Task<int> F() { int a = 1 + co_await G(); co_return a; }",
           "Task<int> F() { int a; H(co_await G()); co_return a; }",
           "Task<int> F() { int a = co_await G([x] { return x; }); co_return a; }",
           "Task<int> F() { int a = co_await G(A{1, 2}); co_return a; }",
           "Task<int> F() { int z; auto [a, b] = co_await G(); co_return a; }",
           "Task<int> F() { int a; try { a = 1; } catch (...) { co_await G(); } co_return a; }",
           "Task<int> F() { co_return 1; }",
           "Task<int> F() { if (x) { co_return 1; } int a; co_return a; }",
           "auto f = [x]() -> Task<int> { int y = x; co_return y; };",
           "auto f = [&](int z) -> Task<int> { int y = z; co_await G(); co_return y; };",
           "Task<int> F() { int a; TR_CO_ASSIGN_OR_RETURN(a, co_await G()); co_return a; }",
           "Task<int> F() { int a; for (auto x : co_await G()) { a = x; } co_return a; }",
       }) {
    EXPECT_FALSE(FaultsOf(bad).empty()) << bad;
  }
}

}  // namespace
}  // namespace toolrack
