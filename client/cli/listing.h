// What commands that list things share.
#ifndef TOOLRACK_CLIENT_CLI_LISTING_H_
#define TOOLRACK_CLIENT_CLI_LISTING_H_

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "client/client.h"

namespace toolrack {

// Asks, and shows the answer: as JSON, or by `show`.
template <typename Response>
int Show(CommandLine& line, const absl::StatusOr<Response>& response,
         const std::function<void(const Response&)>& show) {
  if (!response.ok()) return line.Fail(response.status());
  if (line.json()) {
    line.PrintJson(*response);
  } else {
    show(*response);
  }
  return kExitOk;
}

// All pages of a list, put together.
template <typename Request, typename Response, typename Field>
absl::StatusOr<Response> AllPages(Client& client,
                                  absl::StatusOr<Response> (Client::*method)(const Request&,
                                                                             const RequestOptions&),
                                  Field field, const RequestOptions& options) {
  Request request;
  request.set_page_size(1000);
  Response all;
  do {
    absl::StatusOr<Response> page = (client.*method)(request, options);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    auto gathered = std::move(*field(all));
    gathered.MergeFrom(*field(*page));
    all = *std::move(page);
    *field(all) = std::move(gathered);
  } while (!request.page_token().empty());
  return all;
}

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_CLI_LISTING_H_
