#include "renderers/outcome_text.h"

#include "absl/strings/str_cat.h"

namespace toolrack {

std::string PartText(const v1::Content& part) {
  switch (part.content_case()) {
    case v1::Content::kText:
      return part.text().text();
    case v1::Content::kJson:
      return part.json().json();
    case v1::Content::kImage:
      return absl::StrCat("[image ", part.image().mime_type(), ", ", part.image().data().size(),
                          " bytes]");
    case v1::Content::kAudio:
      return absl::StrCat("[audio ", part.audio().mime_type(), ", ", part.audio().data().size(),
                          " bytes]");
    case v1::Content::kResourceLink:
      return absl::StrCat("[resource ", part.resource_link().name(), " ",
                          part.resource_link().uri(), "]");
    case v1::Content::kResource:
      return part.resource().has_text() ? part.resource().text()
                                        : absl::StrCat("[resource ", part.resource().uri(), ", ",
                                                       part.resource().blob().size(), " bytes]");
    case v1::Content::CONTENT_NOT_SET:
      break;
  }
  return "";
}

std::string OutcomeText(const v1::TurnResult& outcome, bool& is_error) {
  if (!outcome.has_result()) {
    is_error = true;
    return outcome.status().message().empty() ? "The call could not be made."
                                              : outcome.status().message();
  }
  const v1::ToolResult& result = outcome.result();
  is_error = result.is_error();
  std::string text;
  for (const v1::Content& part : result.content()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", PartText(part));
  }
  if (text.empty())
    text = result.structured_json().empty() ? result.summary() : result.structured_json();
  return text;
}

}  // namespace toolrack
