// Pages of lists that are made anew for each request.
#ifndef TOOLRACK_SERVER_SERVICES_PAGE_H_
#define TOOLRACK_SERVER_SERVICES_PAGE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/timestamp.pb.h"
#include "registry/base/errors.h"

namespace toolrack {

// Gives the items whose key is over that of `page_token` to `add`, at most a page of them (0: 100,
// never over 1,000), and returns the token of the next page, empty on the last. `items` are sorted
// by key. A token is the key of the last item of the page before, so that a list that changes
// between pages neither repeats nor skips what stayed.
template <typename Item, typename KeyOf, typename Add>
absl::StatusOr<std::string> Page(std::vector<Item>& items, int32_t page_size,
                                 const std::string& page_token, KeyOf key_of, Add add) {
  constexpr int kDefaultPage = 100;
  constexpr int kMaxPage = 1000;
  if (page_size < 0) {
    return RequestInvalid("page_size", absl::StrCat(page_size), "0 to 1000");
  }
  std::string after;
  if (!page_token.empty() && !absl::WebSafeBase64Unescape(page_token, &after)) {
    return RequestInvalid("page_token", page_token, "the next_page_token of the page before");
  }
  const int size = page_size == 0 ? kDefaultPage : std::min(page_size, kMaxPage);
  int count = 0;
  std::string last;
  for (Item& item : items) {
    std::string key = key_of(item);
    if (!page_token.empty() && key <= after) continue;
    if (count == size) return absl::WebSafeBase64Escape(last);
    ++count;
    last = std::move(key);
    add(std::move(item));
  }
  return std::string();
}

// Sorts like the time, as long as all digits are there.
inline std::string TimeKey(const google::protobuf::Timestamp& time) {
  return absl::StrCat(absl::Dec(time.seconds(), absl::kZeroPad12),
                      absl::Dec(time.nanos(), absl::kZeroPad9));
}

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_PAGE_H_
