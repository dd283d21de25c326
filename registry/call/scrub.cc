#include "registry/call/scrub.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

// What the last word of a secret key is, without case and separators. Bare words like `token` or
// `key` name harmless things too often (page tokens, cache keys): those count as a whole key only.
constexpr const char* kSecretEndings[] = {
    "password",     "passwd",          "passphrase",    "secret",       "secretkey",
    "apikey",       "apitoken",        "accesskey",     "accesstoken",  "authtoken",
    "privatekey",   "clientsecret",    "bearertoken",   "refreshtoken", "idtoken",
    "sessiontoken", "secretaccesskey", "authorization", "credential",   "credentials",
    "accountkey",   "sharedkey",       "signingkey",    "encryptionkey"};
constexpr const char* kSecretWhole[] = {"token",  "pwd",    "pass",     "auth",
                                        "bearer", "cookie", "setcookie"};

// Keys of well-known shapes. All of characters that need no escape in JSON.
constexpr char kShapes[] =
    R"(\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b)"  // AWS
    R"(|\bgh[pousr]_[0-9A-Za-z]{20,})"            // GitHub
    R"(|\bgithub_pat_[0-9A-Za-z_]{20,})"
    R"(|\bgl(?:pat|ptt|dt|rt|oas)-[0-9A-Za-z_\-]{16,})"  // GitLab
    R"(|\bAIza[0-9A-Za-z_\-]{35})"                       // Google
    R"(|\bya29\.[0-9A-Za-z_\-]{20,})"
    R"(|\bhf_[0-9A-Za-z]{30,})"  // Hugging Face
    R"(|\bnpm_[0-9A-Za-z]{36})"
    R"(|\bpypi-[0-9A-Za-z_\-]{40,})"
    R"(|\bsk-[0-9A-Za-z_\-]{20,})"                                      // OpenAI, Anthropic
    R"(|\b[srp]k_(?:live|test)_[0-9A-Za-z]{16,})"                       // Stripe
    R"(|\bxox[abeoprs]-[0-9A-Za-z\-]{10,})"                             // Slack
    R"(|\bSG\.[0-9A-Za-z_\-]{16,64}\.[0-9A-Za-z_\-]{16,})"              // SendGrid
    R"(|\beyJ[0-9A-Za-z_\-]{8,}\.[0-9A-Za-z_\-]{8,}\.[0-9A-Za-z_\-]*)"  // JSON Web Token
    R"(|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?)";

// The key of a pair and what stands between it and the value, which is looked for by hand: in one
// pattern a value could be looked at once for every key before it.
constexpr char kPairsBegin[] =
    R"((?i)([a-z0-9_.\-]*(?:password|passwd|passphrase|secret|key|token|credentials?|authorization|pwd|pass|auth|bearer|cookie)";
constexpr char kPairsEnd[] = R"())(\\?["']?\s*(?:=>|[:=])\s*(?:(?:bearer|basic|token)\s+)?))";
// A scheme with its credential, without a key before it. A digit keeps prose out.
constexpr char kBearer[] = R"((?i)(\bbearer\s+)([0-9a-z._~+/\-]*[0-9][0-9a-z._~+/\-]*=*))";
// The password in a URL.
constexpr char kUserInfo[] = R"((\b[a-z][a-z0-9+.\-]*://[^\s/:@"']*:)([^\s/@"']+)@)";

// Shorter values of a bearer are words.
constexpr size_t kShortestBearer = 12;
constexpr size_t kMaxJsonDepth = 1000;
// JSON in a string in JSON in a string …
constexpr int kMaxNesting = 8;

bool Letter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// Lower case, letters and digits only.
std::string Folded(absl::string_view key) {
  std::string out;
  for (const char c : key) {
    if (Letter(c)) out.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Sixteen bytes at once.
using Block = unsigned char __attribute__((vector_size(16)));
using Mask = decltype(Block() == Block());

// Bytes of which one stands in every credential that is looked for: pairs need `=` or `:`, shapes
// `_`, `-`, or one of a few pairs of letters. `c` and `next`: a byte and the one after it.
template <typename Byte>
auto Suspicious(Byte c, Byte next) {
  return (c == '=') | (c == ':') | (c == '_') | (c == '-') | ((c == 'I') & (next == 'A')) |
         ((c == 'C') & (next == 'A')) | ((c == 'I') & (next == 'z')) |
         ((c == 'y') & (next == 'J')) | ((c == '9') & (next == '.')) |
         ((c == 'G') & (next == '.')) | (((c | 0x20) == 'b') & ((next | 0x20) == 'e'));
}

// Whether a text can hold a credential at all. Most texts cannot, and pay no more than this.
bool MayHoldSecret(absl::string_view text) {
  size_t i = 0;
  Mask found = {};
  for (; i + sizeof(Block) < text.size(); i += sizeof(Block)) {
    Block c, next;
    std::memcpy(&c, text.data() + i, sizeof c);
    std::memcpy(&next, text.data() + i + 1, sizeof next);
    found |= Suspicious(c, next);
  }
  uint64_t halves[2];
  static_assert(sizeof halves == sizeof found);
  std::memcpy(halves, &found, sizeof halves);
  bool rest = (halves[0] | halves[1]) != 0;
  for (; i + 1 < text.size(); ++i) {
    rest |= Suspicious(static_cast<int>(text[i]), static_cast<int>(text[i + 1])) != 0;
  }
  return rest;
}

// Where a value that begins at `at` begins and ends without its quotes.
std::pair<size_t, size_t> ValueAt(absl::string_view text, size_t at) {
  size_t begin = at;
  const bool escaped = begin < text.size() && text[begin] == '\\';
  if (escaped) ++begin;
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) {
    const char quote = text[begin++];
    size_t end = begin;
    while (end < text.size() && text[end] != quote && text[end] != '\n') {
      if (text[end] == '\\' && end + 1 < text.size()) {
        if (escaped && text[end + 1] == quote) break;
        ++end;
      }
      ++end;
    }
    return {begin, std::min(end, text.size())};
  }
  if (escaped) return {at, at};
  const size_t end = text.find_first_of(" \t\r\n\"'<>,;&\\(){}[]", begin);
  return {begin, end == absl::string_view::npos ? text.size() : end};
}

// The text of a string literal, quotes included.
std::string Unquoted(absl::string_view literal) {
  if (literal.find('\\') == absl::string_view::npos) {
    return std::string(literal.substr(1, literal.size() - 2));
  }
  JsonLimits limits;
  limits.max_bytes = SIZE_MAX;
  Json value;
  const auto fault = ParseJson(literal, limits, value);
  return std::holds_alternative<std::monostate>(fault) && value.is_string()
             ? value.get<std::string>()
             : std::string(literal);
}

// Behind the string literal that begins at `at`, in valid JSON.
size_t LiteralEnd(absl::string_view json, size_t at) {
  size_t quote = at;
  size_t escapes = 0;
  do {
    quote = json.find('"', quote + 1);
    escapes = 0;
    while (json[quote - 1 - escapes] == '\\') ++escapes;
  } while (escapes % 2 == 1);  // it is escaped itself
  return quote + 1;
}

bool LooksLikeJson(absl::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != absl::string_view::npos && (text[first] == '{' || text[first] == '[');
}

bool IsJson(absl::string_view text) {
  JsonLimits limits;
  limits.max_bytes = SIZE_MAX;
  limits.max_depth = kMaxJsonDepth;
  Json value;
  return std::holds_alternative<std::monostate>(ParseJson(text, limits, value));
}

re2::StringPiece Piece(absl::string_view text) { return {text.data(), text.size()}; }

// Puts `kRedacted` in the place of what `part` says of each match (nothing: it stays).
template <size_t kGroups, typename Part>
size_t ReplaceEach(const RE2& pattern, std::string& text, Part part) {
  std::array<re2::StringPiece, kGroups + 1> found;
  std::string out;
  size_t from = 0, copied = 0, replaced = 0;
  while (from <= text.size() && pattern.Match(Piece(text), from, text.size(), RE2::UNANCHORED,
                                              found.data(), static_cast<int>(found.size()))) {
    const size_t match_end = static_cast<size_t>(found[0].data() - text.data()) + found[0].size();
    const std::pair<size_t, size_t> span = part(found);
    if (span.second > span.first) {
      out.append(text, copied, span.first - copied);
      out.append(kRedacted);
      copied = span.second;
      ++replaced;
    }
    from = std::max({match_end, span.second, from + 1});
  }
  if (replaced == 0) return 0;
  out.append(text, copied, std::string::npos);
  text = std::move(out);
  return replaced;
}

}  // namespace

// Bytes rather than characters: all that is looked for is ASCII, and ends at an ASCII byte.
class Bytes : public RE2::Options {
 public:
  Bytes() : RE2::Options(RE2::Latin1) { set_log_errors(false); }
};

struct Scrubber::Patterns {
  explicit Patterns(const v1::ResultsConfig& config)
      : shapes(kShapes, Bytes()),
        pairs(PairsWith(config), Bytes()),
        bearer(kBearer, Bytes()),
        user_info(kUserInfo, Bytes()) {
    for (const std::string& pattern : config.scrub_patterns()) {
      own.push_back(std::make_unique<RE2>(pattern, RE2::Quiet));
    }
    for (const std::string& key : config.scrub_keys()) own_keys.push_back(Folded(key));
  }
  static std::string PairsWith(const v1::ResultsConfig& config) {
    std::string pattern = kPairsBegin;
    for (const std::string& key : config.scrub_keys()) {
      absl::StrAppend(&pattern, "|", RE2::QuoteMeta(key));
    }
    return pattern + kPairsEnd;
  }

  RE2 shapes, pairs, bearer, user_info;
  std::vector<std::unique_ptr<RE2>> own;
  std::vector<std::string> own_keys;  // folded
};

Scrubber::Scrubber(const v1::ResultsConfig& config)
    : enabled_(!config.no_scrub()), patterns_(std::make_unique<Patterns>(config)) {}

Scrubber::~Scrubber() = default;

std::string Scrubber::PatternFault(const std::string& pattern) {
  const RE2 compiled(pattern, RE2::Quiet);
  if (!compiled.ok()) return compiled.error();
  if (RE2::FullMatch("", compiled)) return "it fits the empty text";
  return "";
}

bool Scrubber::IsSecretKey(absl::string_view key) const {
  if (key.size() > 200) key = key.substr(key.size() - 200);
  const std::string folded = Folded(key);
  for (const char* ending : kSecretEndings) {
    if (absl::EndsWith(folded, ending)) return true;
  }
  for (const char* whole : kSecretWhole) {
    if (folded == whole) return true;
  }
  return std::find(patterns_->own_keys.begin(), patterns_->own_keys.end(), folded) !=
         patterns_->own_keys.end();
}

size_t Scrubber::ScrubPlain(std::string& text) const {
  const auto whole = [&text](const auto& found) {
    const size_t at = static_cast<size_t>(found[0].data() - text.data());
    return std::make_pair(at, at + found[0].size());
  };
  size_t replaced = 0;
  for (const auto& own : patterns_->own) replaced += ReplaceEach<0>(*own, text, whole);
  if (!MayHoldSecret(text)) return replaced;
  replaced += ReplaceEach<0>(patterns_->shapes, text, whole);
  replaced += ReplaceEach<2>(patterns_->pairs, text, [this, &text](const auto& found) {
    const size_t at = static_cast<size_t>(found[0].data() - text.data()) + found[0].size();
    if (!IsSecretKey(absl::string_view(found[1].data(), found[1].size()))) {
      return std::make_pair(at, at);
    }
    const auto [begin, end] = ValueAt(text, at);
    const bool done = absl::StartsWith(absl::string_view(text).substr(begin), kRedacted);
    return std::make_pair(begin, done ? begin : end);
  });
  replaced += ReplaceEach<2>(patterns_->bearer, text, [&text](const auto& found) {
    const size_t at = static_cast<size_t>(found[2].data() - text.data());
    return std::make_pair(at, found[2].size() < kShortestBearer ? at : at + found[2].size());
  });
  replaced += ReplaceEach<2>(patterns_->user_info, text, [&text](const auto& found) {
    const size_t at = static_cast<size_t>(found[2].data() - text.data());
    return std::make_pair(at, found[2] == kRedacted ? at : at + found[2].size());
  });
  return replaced;
}

size_t Scrubber::ScrubAny(std::string& text, int nesting) const {
  // Escapes may hide anything, as \u0041 does an A.
  const bool possible = !patterns_->own.empty() || MayHoldSecret(text);
  if (LooksLikeJson(text)) {
    if (!possible && !absl::StrContains(text, '\\')) return 0;
    if (nesting < kMaxNesting && IsJson(text)) return ScrubValid(text, nesting + 1);
  }
  return possible ? ScrubPlain(text) : 0;
}

size_t Scrubber::ScrubText(std::string& text) const { return ScrubAny(text, 0); }

size_t Scrubber::ScrubJson(std::string& json) const {
  if (patterns_->own.empty() && !MayHoldSecret(json) && !absl::StrContains(json, '\\')) return 0;
  return IsJson(json) ? ScrubValid(json, 1) : ScrubPlain(json);
}

// Goes through the tokens; what does not change stays byte for byte.
size_t Scrubber::ScrubValid(std::string& json, int nesting) const {
  std::string out;
  size_t copied = 0, replaced = 0, at = 0;
  size_t depth = 0;
  size_t secret_depth = 0;  // everything deeper belongs to a secret key; 0: nothing does
  size_t secret_names = 0;
  bool secret_value = false;  // the next value belongs to a secret key
  const auto replace = [&](size_t begin, size_t end, const std::string& now) {
    out.append(json, copied, begin - copied);
    out.append(now);
    copied = end;
    ++replaced;
  };
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      const size_t end = LiteralEnd(json, at);
      std::string text = Unquoted(absl::string_view(json).substr(at, end - at));
      const size_t next = json.find_first_not_of(" \t\r\n", end);
      if (next != std::string::npos && json[next] == ':') {
        secret_value = IsSecretKey(text);
        // Two names of one object must not become one.
        if (ScrubPlain(text) > 0) {
          ++secret_names;
          replace(at, end,
                  JsonQuote(secret_names == 1 ? text : absl::StrCat(text, "-", secret_names)));
        }
        at = next + 1;
        continue;
      }
      if ((secret_value || secret_depth > 0) && !text.empty()) {
        replace(at, end, absl::StrCat("\"", kRedacted, "\""));
      } else if (ScrubAny(text, nesting) > 0) {
        replace(at, end, JsonQuote(text));
      }
      secret_value = false;
      at = end;
    } else if (c == '{' || c == '[') {
      ++depth;
      if (std::exchange(secret_value, false) && secret_depth == 0) secret_depth = depth;
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == secret_depth) secret_depth = 0;
      --depth;
      ++at;
    } else if (c == '-' || absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      const size_t end = std::min(json.find_first_of(" \t\r\n,]}", at), json.size());
      // A PIN, say. It stays a number.
      if (secret_value || secret_depth > 0) replace(at, end, "0");
      secret_value = false;
      at = end;
    } else {
      if (c == 't' || c == 'f' || c == 'n') secret_value = false;
      ++at;
    }
  }
  if (replaced == 0) return 0;
  out.append(json, copied, std::string::npos);
  json = std::move(out);
  return replaced;
}

size_t Scrubber::Scrub(v1::Content& part) const {
  switch (part.content_case()) {
    case v1::Content::kText:
      return ScrubText(*part.mutable_text()->mutable_text());
    case v1::Content::kJson:
      return ScrubJson(*part.mutable_json()->mutable_json());
    case v1::Content::kResource: {
      v1::EmbeddedResource& resource = *part.mutable_resource();
      return (resource.has_text() ? ScrubText(*resource.mutable_text()) : 0) +
             ScrubText(*resource.mutable_uri());
    }
    case v1::Content::kResourceLink: {
      v1::ResourceLink& link = *part.mutable_resource_link();
      return ScrubText(*link.mutable_uri()) + ScrubText(*link.mutable_name()) +
             ScrubText(*link.mutable_description());
    }
    default:
      return 0;
  }
}

size_t Scrubber::Scrub(v1::ToolResult& result) const {
  if (!enabled_) return 0;
  size_t replaced = 0;
  for (v1::Content& part : *result.mutable_content()) replaced += Scrub(part);
  if (!result.structured_json().empty()) replaced += ScrubJson(*result.mutable_structured_json());
  if (!result.meta_json().empty()) replaced += ScrubJson(*result.mutable_meta_json());
  if (!result.summary().empty()) replaced += ScrubText(*result.mutable_summary());
  if (result.has_error()) {
    for (auto& [key, value] : *result.mutable_error()->mutable_metadata()) {
      replaced += ScrubText(value);
    }
  }
  return replaced;
}

namespace {

class Reporter final : public CallReporter {
 public:
  Reporter(std::shared_ptr<const Scrubber> scrubber, std::shared_ptr<CallReporter> reporter)
      : scrubber_(std::move(scrubber)), reporter_(std::move(reporter)) {}

  void OnProgress(v1::Progress progress) override {
    scrubber_->ScrubText(*progress.mutable_message());
    reporter_->OnProgress(std::move(progress));
  }
  void OnLog(v1::LogLine line) override {
    scrubber_->ScrubText(*line.mutable_message());
    reporter_->OnLog(std::move(line));
  }
  void OnContent(v1::Content content) override {
    scrubber_->Scrub(content);
    reporter_->OnContent(std::move(content));
  }

 private:
  const std::shared_ptr<const Scrubber> scrubber_;
  const std::shared_ptr<CallReporter> reporter_;
};

}  // namespace

std::shared_ptr<CallReporter> ScrubbingReporter(std::shared_ptr<const Scrubber> scrubber,
                                                std::shared_ptr<CallReporter> reporter) {
  if (!scrubber->enabled()) return reporter;
  return std::make_shared<Reporter>(std::move(scrubber), std::move(reporter));
}

}  // namespace toolrack
