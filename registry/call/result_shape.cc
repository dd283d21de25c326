#include "registry/call/result_shape.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/utf8.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

constexpr size_t kMaxSummaryBytes = 1024;
// An upper bound of the mark's own length.
constexpr uint64_t kMarkBytes = 192;

// The text of a part, null for parts without. `json` tells whether it must stay whole.
const std::string* TextOf(const v1::Content& part, bool* json) {
  *json = false;
  switch (part.content_case()) {
    case v1::Content::kText:
      return &part.text().text();
    case v1::Content::kJson:
      *json = true;
      return &part.json().json();
    case v1::Content::kResource:
      return part.resource().has_text() ? &part.resource().text() : nullptr;
    default:
      return nullptr;
  }
}

std::string* MutableTextOf(v1::Content& part) {
  switch (part.content_case()) {
    case v1::Content::kText:
      return part.mutable_text()->mutable_text();
    case v1::Content::kJson:
      return part.mutable_json()->mutable_json();
    case v1::Content::kResource:
      return part.resource().has_text() ? part.mutable_resource()->mutable_text() : nullptr;
    default:
      return nullptr;
  }
}

bool HasTwin(const v1::ToolResult& result) {
  bool json;
  for (const v1::Content& part : result.content()) {
    const std::string* text = TextOf(part, &json);
    if (text != nullptr && *text == result.structured_json()) return true;
  }
  return false;
}

void MendUtf8(std::string* text) {
  if (text != nullptr && !IsUtf8(*text)) *text = ReplaceInvalidUtf8(*text);
}

void MendTexts(v1::ToolResult& result) {
  for (v1::Content& part : *result.mutable_content()) {
    MendUtf8(MutableTextOf(part));
    if (part.has_image()) MendUtf8(part.mutable_image()->mutable_mime_type());
    if (part.has_audio()) MendUtf8(part.mutable_audio()->mutable_mime_type());
    if (part.has_resource_link()) {
      v1::ResourceLink& link = *part.mutable_resource_link();
      MendUtf8(link.mutable_uri());
      MendUtf8(link.mutable_name());
      MendUtf8(link.mutable_description());
      MendUtf8(link.mutable_mime_type());
    }
    if (part.has_resource()) {
      MendUtf8(part.mutable_resource()->mutable_uri());
      MendUtf8(part.mutable_resource()->mutable_mime_type());
    }
  }
  if (!result.summary().empty()) {
    MendUtf8(result.mutable_summary());
    if (result.summary().size() > kMaxSummaryBytes) {
      result.set_summary(absl::StrCat(Utf8Prefix(result.summary(), kMaxSummaryBytes - 3), "…"));
    }
  }
}

bool IsToolReason(absl::string_view reason) {
  return reason == "EXECUTION_FAILED" || reason == "TOOL_INTERNAL" ||
         reason == "TOOL_INVALID_ARGUMENT" || reason == "OUTPUT_INVALID";
}

void MendError(v1::ToolResult& result) {
  if (!result.is_error() && !result.has_error()) return;
  result.set_is_error(true);
  v1::ToolError& error = *result.mutable_error();
  MendUtf8(error.mutable_reason());
  if (!IsToolReason(error.reason())) {
    if (!error.reason().empty()) (*error.mutable_metadata())["tool_reason"] = error.reason();
    error.set_reason("EXECUTION_FAILED");
  }
}

v1::ToolResult OutputInvalid(const ToolEntry& entry, absl::string_view pointer,
                             absl::string_view faults) {
  return ErrorResult(v1::ERROR_REASON_OUTPUT_INVALID,
                     absl::StrCat("The tool ", entry.name(),
                                  " ran, but what it gave back is not as declared:\n", faults),
                     {{"tool", entry.name()}, {"pointer", std::string(pointer)}});
}

// The fault of a JSON text, empty when there is none.
std::string JsonFaultOf(absl::string_view what, const std::string& text, size_t max_depth,
                        Json& value) {
  JsonLimits limits;
  limits.max_bytes = SIZE_MAX;
  limits.max_depth = max_depth;
  const auto outcome = ParseJson(text, limits, value);
  const auto* fault = std::get_if<JsonFault>(&outcome);
  if (fault == nullptr) return "";
  return absl::StrCat(what, ": not valid JSON: ", fault->message, " (byte ", fault->offset, ")");
}

// Null when all is well.
bool JsonIsWell(const ToolEntry& entry, size_t max_depth, v1::ToolResult& result) {
  Json value;
  std::string fault;
  for (const v1::Content& part : result.content()) {
    if (part.has_json() && fault.empty()) {
      fault = JsonFaultOf("a JSON part", part.json().json(), max_depth, value);
    }
  }
  if (!result.meta_json().empty() && fault.empty()) {
    fault = JsonFaultOf("meta_json", result.meta_json(), max_depth, value);
    if (fault.empty() && !value.is_object()) fault = "meta_json: expected an object";
  }
  const bool declared = !entry.definition->tool.output_schema().empty() && !result.is_error();
  if (!result.structured_json().empty() && fault.empty()) {
    fault = JsonFaultOf("structured_json", result.structured_json(), max_depth, value);
  } else if (declared && fault.empty()) {
    fault = "structured_json: missing, although the tool declares an output schema";
  }
  if (!fault.empty()) {
    result = OutputInvalid(entry, "", fault);
    return false;
  }
  if (!declared) return true;
  const std::shared_ptr<const Schema> schema = entry.OutputSchema();
  if (schema == nullptr || schema->AcceptsText(result.structured_json(), value)) return true;
  const std::vector<FieldFault> faults = schema->ExplainText(result.structured_json(), value);
  std::string lines;
  for (const FieldFault& each : faults) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", each.field.empty() ? "(root)" : each.field,
                    ": ", each.description);
  }
  result = OutputInvalid(entry, faults.empty() ? "" : faults.front().field, lines);
  return false;
}

// All text, as it is kept for ReadResult.
std::string WholeText(const v1::ToolResult& result, bool with_structured) {
  std::string whole;
  bool json, first = true;
  for (const v1::Content& part : result.content()) {
    const std::string* text = TextOf(part, &json);
    if (text == nullptr) continue;
    if (!first) whole.push_back('\n');
    first = false;
    whole.append(*text);
  }
  if (with_structured) {
    if (!first) whole.push_back('\n');
    whole.append(result.structured_json());
  }
  return whole;
}

std::string Mark(uint64_t left_out, uint64_t total, absl::string_view handle) {
  if (handle.empty()) {
    return absl::StrCat(
        "\n[... ", left_out, " of ", total,
        " bytes left out; too large for results.max_stored_bytes to be kept ...]\n");
  }
  return absl::StrCat("\n[... ", left_out, " of ", total, " bytes left out; ReadResult \"", handle,
                      "\" gives all of it ...]\n");
}

// One line for a context from which the content was dropped: how it begins, and how long it is.
std::string SummaryOf(const v1::ToolResult& result, uint64_t total) {
  constexpr size_t kMaxLine = 160;
  std::string line;
  bool json;
  for (const v1::Content& part : result.content()) {
    const std::string* text = TextOf(part, &json);
    if (text == nullptr || json) continue;
    const absl::string_view begin = absl::StripLeadingAsciiWhitespace(*text);
    line = ForMessage(begin.substr(0, begin.find_first_of("\r\n")), kMaxLine);
    break;
  }
  return absl::StrCat(line, line.empty() ? "" : " ", "(", total, " bytes in all)");
}

// What stays of one part with text.
struct Kept {
  size_t head = 0;
  size_t tail = 0;
  bool whole = false;
};

// Bytes [0, head) and [total - tail, total) of all text in a row stay.
std::vector<Kept> PlanCut(const v1::ToolResult& result, uint64_t total, uint64_t head,
                          uint64_t tail) {
  std::vector<Kept> plan;
  uint64_t from = 0;
  for (const v1::Content& part : result.content()) {
    Kept kept;
    bool json;
    const std::string* text = TextOf(part, &json);
    if (text == nullptr) {
      kept.whole = true;
    } else {
      const uint64_t to = from + text->size();
      if (to <= head || from >= total - tail) {
        kept.whole = true;
      } else if (!json) {
        if (from < head) kept.head = Utf8Prefix(*text, head - from).size();
        if (to > total - tail) kept.tail = Utf8Suffix(*text, to - (total - tail)).size();
      }
      from = to;
    }
    plan.push_back(kept);
  }
  return plan;
}

void Cut(const std::vector<Kept>& plan, const std::string& mark, v1::ToolResult& result) {
  google::protobuf::RepeatedPtrField<v1::Content> content;
  content.Swap(result.mutable_content());
  bool marked = false;
  for (int i = 0; i < content.size(); ++i) {
    v1::Content& part = *content.Mutable(i);
    const Kept& kept = plan[i];
    if (kept.whole) {
      *result.add_content() = std::move(part);
      continue;
    }
    std::string text;
    if (part.has_json()) {
      text = marked ? "" : mark;
    } else {
      const std::string& old = *MutableTextOf(part);
      text = absl::StrCat(absl::string_view(old).substr(0, kept.head), marked ? "" : mark,
                          absl::string_view(old).substr(old.size() - kept.tail));
    }
    marked = true;
    if (text.empty()) continue;
    if (part.has_resource()) {
      *MutableTextOf(part) = std::move(text);
      *result.add_content() = std::move(part);
    } else {
      result.add_content()->mutable_text()->set_text(std::move(text));
    }
  }
  if (!marked) result.add_content()->mutable_text()->set_text(mark);
}

}  // namespace

uint64_t ResultTextBytes(const v1::ToolResult& result) {
  uint64_t bytes = 0;
  bool json, first = true;
  for (const v1::Content& part : result.content()) {
    const std::string* text = TextOf(part, &json);
    if (text == nullptr) continue;
    bytes += text->size() + (first ? 0 : 1);
    first = false;
  }
  if (!result.structured_json().empty() && !HasTwin(result)) {
    bytes += result.structured_json().size() + (first ? 0 : 1);
  }
  return bytes;
}

void CheckResult(const ToolEntry& entry, const ResultLimits& limits, v1::ToolResult& result) {
  const uint64_t size = result.ByteSizeLong();
  if (size > limits.max_result_bytes) {
    result = OutputInvalid(entry, "",
                           absl::StrCat("the result is larger than results.max_result_bytes: ",
                                        limits.max_result_bytes, " allowed, ", size, " came"));
    return;
  }
  result.set_truncated(false);
  result.clear_result_handle();
  MendTexts(result);
  MendError(result);
  JsonIsWell(entry, limits.max_json_depth, result);
}

void CapResult(const ResultLimits& limits, absl::string_view principal,
               absl::string_view session_id, ResultStore& store, v1::ToolResult& result) {
  const uint64_t total = ResultTextBytes(result);
  result.set_total_bytes(total);
  if (total <= limits.cap_bytes) return;

  const bool twin = !result.structured_json().empty() && HasTwin(result);
  const bool alone = !result.structured_json().empty() && !twin;
  const std::string handle = store.Put(WholeText(result, alone), principal, session_id);
  result.set_truncated(true);
  result.set_result_handle(handle);
  if (result.summary().empty()) result.set_summary(SummaryOf(result, total));

  uint64_t content_bytes = 0;
  bool json;
  for (const v1::Content& part : result.content()) {
    if (const std::string* text = TextOf(part, &json)) content_bytes += text->size();
  }
  const uint64_t budget = limits.cap_bytes > kMarkBytes ? limits.cap_bytes - kMarkBytes : 0;
  std::vector<Kept> plan;
  uint64_t kept_bytes = 0;
  if (content_bytes <= budget) {
    plan.assign(result.content_size(), Kept{0, 0, true});
    kept_bytes = content_bytes;
  } else {
    // More of the head: that is where a text says what it is.
    const uint64_t head = budget * 2 / 3;
    plan = PlanCut(result, content_bytes, head, budget - head);
    for (int i = 0; i < result.content_size(); ++i) {
      const std::string* text = TextOf(result.content(i), &json);
      if (text != nullptr) {
        kept_bytes += plan[i].whole ? text->size() : plan[i].head + plan[i].tail;
      }
    }
  }
  uint64_t left_out = content_bytes - kept_bytes;
  bool keep_structured = alone && kept_bytes + result.structured_json().size() <= budget;
  if (twin) {
    for (int i = 0; i < result.content_size(); ++i) {
      const std::string* text = TextOf(result.content(i), &json);
      keep_structured |= text != nullptr && plan[i].whole && *text == result.structured_json();
    }
  }
  if (alone && !keep_structured) left_out += result.structured_json().size();
  if (!keep_structured) result.clear_structured_json();
  Cut(plan, Mark(left_out, total, handle), result);
}

}  // namespace toolrack
