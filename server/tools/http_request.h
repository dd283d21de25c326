// The tool `http_request`: hosts of a list, and no address that is not public.
#ifndef TOOLRACK_SERVER_TOOLS_HTTP_REQUEST_H_
#define TOOLRACK_SERVER_TOOLS_HTTP_REQUEST_H_

#include "registry/tool.h"
#include "server/http/http_client.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// What is wrong with one entry of `allow` or `methods`; empty: nothing.
std::string HttpHostMistake(absl::string_view pattern);
std::string HttpMethodMistake(absl::string_view method);

// The engine's options by this configuration.
HttpClientOptions HttpToolClientOptions(const v1::HttpToolConfig& config);

// Asks hosts of `config.allow` (checked, not empty) with its methods. Redirects are followed by the
// same rules, five at most; to another origin only a few harmless headers go along. A status of 400
// or more is a result with is_error. `client` outlives the tool's calls.
ToolFactory MakeHttpRequestTool(HttpClient* client, const v1::HttpToolConfig& config);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_TOOLS_HTTP_REQUEST_H_
