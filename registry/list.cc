#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/base/status_macros.h"
#include "registry/checks.h"
#include "registry/name.h"
#include "registry/registry.h"
#include "registry/tool_filter.h"

namespace toolrack {
namespace {

constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1000;
constexpr size_t kMaxPageBytes = 1 << 20;
constexpr size_t kHashDigits = 16;
constexpr char kTokenVersion = '1';
constexpr char kReserved[] = "__";

// Names the other fields of a request: a token goes on with the same ones only. page_size may
// change.
std::string FilterHash(const v1::ListToolsRequest& request) {
  v1::ListToolsRequest filters = request;
  filters.clear_page_size();
  filters.clear_page_token();
  if (filters.view() == v1::TOOL_VIEW_UNSPECIFIED) filters.set_view(v1::TOOL_VIEW_BASIC);
  return Sha256Hex(filters.SerializeAsString()).substr(0, kHashDigits);
}

// Version, hash of the filters, hash of the rest, the revision that the page came from, the last
// name.
std::string MakeToken(uint64_t revision, absl::string_view filters, absl::string_view last) {
  const std::string rest = absl::StrCat(revision, "/", last);
  return absl::WebSafeBase64Escape(absl::StrCat(absl::string_view(&kTokenVersion, 1), filters,
                                                Sha256Hex(rest).substr(0, kHashDigits), rest));
}

absl::StatusOr<std::string> LastNameOf(const std::string& token, absl::string_view filters) {
  constexpr char kExpected[] =
      "it must be the `next_page_token` of the page before, unchanged; start again without one";
  std::string text;
  if (!absl::WebSafeBase64Unescape(token, &text) || text.size() < 1 + 2 * kHashDigits ||
      text[0] != kTokenVersion) {
    return RequestInvalid("page_token", token, kExpected);
  }
  const absl::string_view of_filters = absl::string_view(text).substr(1, kHashDigits);
  const absl::string_view of_rest = absl::string_view(text).substr(1 + kHashDigits, kHashDigits);
  const absl::string_view rest = absl::string_view(text).substr(1 + 2 * kHashDigits);
  const size_t slash = rest.find('/');
  if (slash == absl::string_view::npos || of_rest != Sha256Hex(rest).substr(0, kHashDigits)) {
    return RequestInvalid("page_token", token, kExpected);
  }
  if (of_filters != filters) {
    return RequestInvalid("page_token", token,
                          "the other fields must be those of the page before, apart from "
                          "`page_size`; start again without a token");
  }
  return std::string(rest.substr(slash + 1));
}

// They are few, lie together, and are never quarantined.
size_t CountReserved(const Snapshot& snapshot) {
  size_t count = 0;
  snapshot.ForEach(kReserved, [&count](const ToolEntryPtr& entry) {
    if (!absl::StartsWith(entry->name(), kReserved)) return false;
    ++count;
    return true;
  });
  return count;
}

}  // namespace

absl::StatusOr<v1::ListToolsResponse> ListTools(const Registry& registry,
                                                const v1::ListToolsRequest& request,
                                                const ToolVisibility& visible) {
  if (request.page_size() < 0) {
    return RequestInvalid("page_size", absl::StrCat(request.page_size()),
                          "it must not be negative");
  }
  const std::string filters = FilterHash(request);
  std::string after;
  if (!request.page_token().empty()) {
    TR_ASSIGN_OR_RETURN(after, LastNameOf(request.page_token(), filters));
  }
  const int page_size = request.page_size() == 0 ? kDefaultPageSize
                                                 : std::min<int>(request.page_size(), kMaxPageSize);
  const ToolFilter filter(request.categories(), request.namespaces());
  const bool with_reserved = absl::StartsWith(request.name_prefix(), kReserved);
  const auto matches = [&](const ToolEntry& entry) {
    return (request.show_quarantined() || entry.state != v1::TOOL_STATE_QUARANTINED) &&
           absl::StartsWith(entry.name(), request.name_prefix()) && filter.Matches(entry) &&
           (with_reserved || !IsReservedName(entry.name())) &&
           (!visible || visible(*entry.definition));
  };
  const SnapshotPtr snapshot = registry.snapshot();

  v1::ListToolsResponse response;
  response.set_revision(snapshot->revision());
  response.set_definitions_revision(snapshot->definitions_revision());
  response.set_epoch(registry.epoch());

  size_t bytes = 0;
  bool more = false;
  const auto add = [&](const ToolEntryPtr& entry) {
    if (!matches(*entry)) return true;
    if (response.tools_size() >= page_size) {
      more = true;
      return false;
    }
    v1::Tool tool = entry->ToProto(request.view());
    if (request.view() == v1::TOOL_VIEW_FULL) AddTargetFindings(tool);
    bytes += tool.ByteSizeLong();
    if (bytes > kMaxPageBytes && response.tools_size() > 0) {
      more = true;
      return false;
    }
    *response.add_tools() = std::move(tool);
    return true;
  };
  // Names with the prefix lie together.
  const std::string& prefix = request.name_prefix();
  if (after < prefix) {
    if (const ToolEntryPtr exact = snapshot->Get(prefix); exact != nullptr) add(exact);
    if (!more) {
      snapshot->ForEach(prefix, [&](const ToolEntryPtr& entry) {
        return absl::StartsWith(entry->name(), prefix) && add(entry);
      });
    }
  } else {
    snapshot->ForEach(after, [&](const ToolEntryPtr& entry) {
      return absl::StartsWith(entry->name(), prefix) && add(entry);
    });
  }
  if (more) {
    response.set_next_page_token(
        MakeToken(snapshot->revision(), filters, response.tools(response.tools_size() - 1).name()));
  }

  if (prefix.empty() && filter.empty() && !visible) {
    response.set_total_size(
        static_cast<int32_t>(snapshot->size() - CountReserved(*snapshot) -
                             (request.show_quarantined() ? 0 : snapshot->quarantined())));
  } else {
    int32_t total = snapshot->Get(prefix) != nullptr && matches(*snapshot->Get(prefix)) ? 1 : 0;
    snapshot->ForEach(prefix, [&](const ToolEntryPtr& entry) {
      if (!absl::StartsWith(entry->name(), prefix)) return false;
      total += matches(*entry) ? 1 : 0;
      return true;
    });
    response.set_total_size(total);
  }
  return response;
}

}  // namespace toolrack
