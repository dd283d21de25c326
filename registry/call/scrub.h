// Takes credentials out of what tools give back.
#ifndef TOOLRACK_REGISTRY_CALL_SCRUB_H_
#define TOOLRACK_REGISTRY_CALL_SCRUB_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/tool.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/result.pb.h"

namespace toolrack {

// What stands in the place of a credential.
inline constexpr char kRedacted[] = "[redacted]";

// Finds the values of secret keys (`password=…`, `"api_key": "…"`, `Authorization: Bearer …`), keys
// of well-known shapes (AWS, GitHub, GitLab, Google, Hugging Face, npm, OpenAI and Anthropic,
// Slack, Stripe), JSON Web Tokens and PEM private keys, and what the configuration adds. A help
// against accidents, not a wall: what looks like nothing in particular is not found.
//
// JSON stays JSON of the same shape, also within a text and within a string of JSON: only string
// literals change, and the numbers of secret keys, which become 0.
// Linear in the text (RE2); text that can hold none costs a glance. Immutable, thread-safe.
class Scrubber {
 public:
  // Patterns must have been checked (PatternFault).
  explicit Scrubber(const v1::ResultsConfig& config);
  ~Scrubber();

  bool enabled() const { return enabled_; }
  // How many places were replaced.
  size_t ScrubText(std::string& text) const;
  // `json` must be JSON; what is none is scrubbed as text.
  size_t ScrubJson(std::string& json) const;
  // All texts and JSON of one part.
  size_t Scrub(v1::Content& part) const;
  // All of a result.
  size_t Scrub(v1::ToolResult& result) const;

  // What is wrong with a pattern of the configuration; empty: nothing.
  static std::string PatternFault(const std::string& pattern);

 private:
  struct Patterns;
  size_t ScrubPlain(std::string& text) const;
  size_t ScrubAny(std::string& text, int nesting) const;
  size_t ScrubValid(std::string& json, int nesting) const;  // of valid JSON
  bool IsSecretKey(absl::string_view key) const;

  const bool enabled_;
  const std::unique_ptr<const Patterns> patterns_;
};

// Scrubs what a running call tells before `reporter` gets it; `reporter` itself when scrubbing is
// off. Thread-safe as `reporter` is.
std::shared_ptr<CallReporter> ScrubbingReporter(std::shared_ptr<const Scrubber> scrubber,
                                                std::shared_ptr<CallReporter> reporter);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_SCRUB_H_
