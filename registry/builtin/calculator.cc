#include "registry/builtin/calculator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kE = 2.71828182845904523536;
constexpr char kFunctions[] =
    "sqrt, abs, min, max, floor, ceil, round, log, ln, exp, sin, cos, tan";

using One = double (*)(double);
struct UnaryFunction {
  absl::string_view name;
  One apply;
};
constexpr UnaryFunction kUnary[] = {
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::round(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"ln", [](double x) { return std::log(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
};

// Recursive descent; the depth is bounded by kMaxExpressionDepth.
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<double> All() {
    TR_ASSIGN_OR_RETURN(const double value, Sum());
    SkipSpace();
    if (at_ < text_.size()) return Wanted("an operator or the end");
    return value;
  }

 private:
  class Deeper {
   public:
    explicit Deeper(Parser* parser) : parser_(parser) { ++parser_->depth_; }
    ~Deeper() { --parser_->depth_; }
    bool ok() const { return parser_->depth_ <= kMaxExpressionDepth; }

   private:
    Parser* parser_;
  };

  absl::Status Fault(size_t at, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("At position ", at + 1, ": ", what, "."));
  }
  absl::Status Wanted(absl::string_view what) const {
    if (at_ >= text_.size()) {
      return Fault(at_, absl::StrCat("expected ", what, ", but the expression ends"));
    }
    return Fault(
        at_, absl::StrCat("expected ", what, ", got \"", ForMessage(text_.substr(at_), 12), "\""));
  }
  absl::StatusOr<double> Finite(size_t at, double value) const {
    if (std::isnan(value)) return Fault(at, "the result is not a number: outside the domain");
    if (std::isinf(value)) return Fault(at, "the result is too large");
    return value;
  }

  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<double> Sum() {
    const Deeper deeper(this);
    if (!deeper.ok()) {
      return Fault(at_, absl::StrCat("nested deeper than ", kMaxExpressionDepth, " levels"));
    }
    TR_ASSIGN_OR_RETURN(double value, Product());
    while (true) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) return value;
      const size_t at = at_ - 1;
      TR_ASSIGN_OR_RETURN(const double right, Product());
      TR_ASSIGN_OR_RETURN(value, Finite(at, plus ? value + right : value - right));
    }
  }

  absl::StatusOr<double> Product() {
    TR_ASSIGN_OR_RETURN(double value, Signed());
    while (true) {
      char op = 0;
      for (const char c : {'*', '/', '%'}) {
        if (op == 0 && Take(c)) op = c;
      }
      if (op == 0) return value;
      const size_t at = at_ - 1;
      TR_ASSIGN_OR_RETURN(const double right, Signed());
      if (op != '*' && right == 0) return Fault(at, "division by zero");
      const double next =
          op == '*' ? value * right : (op == '/' ? value / right : std::fmod(value, right));
      TR_ASSIGN_OR_RETURN(value, Finite(at, next));
    }
  }

  absl::StatusOr<double> Signed() {
    bool minus = false;
    while (true) {
      if (Take('-')) {
        minus = !minus;
      } else if (!Take('+')) {
        break;
      }
    }
    TR_ASSIGN_OR_RETURN(const double value, Power());
    return minus ? -value : value;
  }

  absl::StatusOr<double> Power() {
    TR_ASSIGN_OR_RETURN(const double base, Atom());
    if (!Take('^')) return base;
    const size_t at = at_ - 1;
    const Deeper deeper(this);
    if (!deeper.ok()) {
      return Fault(at, absl::StrCat("nested deeper than ", kMaxExpressionDepth, " levels"));
    }
    TR_ASSIGN_OR_RETURN(const double exponent, Signed());
    if (base == 0 && exponent < 0) return Fault(at, "division by zero");
    return Finite(at, std::pow(base, exponent));
  }

  absl::StatusOr<double> Atom() {
    if (Take('(')) {
      TR_ASSIGN_OR_RETURN(const double value, Sum());
      if (!Take(')')) return Wanted("`)`");
      return value;
    }
    SkipSpace();
    if (at_ >= text_.size()) return Wanted("a number");
    if (absl::ascii_isdigit(text_[at_]) || text_[at_] == '.') return Number();
    if (absl::ascii_isalpha(text_[at_])) return Named();
    return Wanted("a number, a function or `(`");
  }

  absl::StatusOr<double> Number() {
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) return Fault(at_, "the number is out of range");
    if (error != std::errc()) return Wanted("a number");
    at_ += end - begin;
    return value;
  }

  absl::StatusOr<double> Named() {
    const size_t from = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '_')) ++at_;
    const std::string name = absl::AsciiStrToLower(text_.substr(from, at_ - from));
    if (name == "pi") return kPi;
    if (name == "e") return kE;
    const UnaryFunction* unary = nullptr;
    for (const UnaryFunction& each : kUnary) {
      if (each.name == name) unary = &each;
    }
    if (unary == nullptr && name != "log" && name != "min" && name != "max") {
      return Fault(from, absl::StrCat("there is no \"", ForMessage(name, 24), "\"; there are ",
                                      kFunctions, ", pi and e"));
    }
    TR_ASSIGN_OR_RETURN(const std::vector<double> values, Parameters());
    if (unary != nullptr) {
      if (values.size() != 1) return Fault(from, absl::StrCat(name, " takes one value"));
      return Finite(from, DomainChecked(unary->apply(values[0]), name, values[0]));
    }
    if (name == "min") return *std::min_element(values.begin(), values.end());
    if (name == "max") return *std::max_element(values.begin(), values.end());
    if (values.size() > 2) return Fault(from, "log takes a value and, if you like, a base");
    const double base = values.size() == 2 ? values[1] : 10;
    if (values[0] <= 0 || base <= 0 || base == 1) return Finite(from, std::nan(""));
    return Finite(
        from, values.size() == 2 ? std::log(values[0]) / std::log(base) : std::log10(values[0]));
  }

  // ln(0) is outside the domain, not too large.
  static double DomainChecked(double value, absl::string_view name, double x) {
    return name == "ln" && x <= 0 ? std::nan("") : value;
  }

  absl::StatusOr<std::vector<double>> Parameters() {
    if (!Take('(')) return Wanted("`(`");
    std::vector<double> values;
    do {
      TR_ASSIGN_OR_RETURN(const double value, Sum());
      values.push_back(value);
    } while (Take(','));
    if (!Take(')')) return Wanted("`,` or `)`");
    return values;
  }

  absl::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<double> Calculate(absl::string_view expression) {
  if (expression.size() > kMaxExpressionBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("The expression is longer than ", kMaxExpressionBytes, " bytes."));
  }
  return Parser(expression).All();
}

}  // namespace toolrack
