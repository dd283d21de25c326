#include "server/rpc/catch_all.h"

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "server/rpc/status.h"

namespace toolrack {
namespace {

class Refusal : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerGenericBidiReactor* CatchAll::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  stats_->Started();
  const std::string& method = context->method();  // `/package.Service/Method`
  const size_t slash = method.find('/', 1);
  const std::string service = slash == std::string::npos ? method : method.substr(1, slash - 1);
  const auto at = elsewhere_.find(service);
  const absl::Status status = at != elsewhere_.end()
                                  ? WrongSocket(service, at->second)
                                  : NotSupported(absl::StrCat("the method ", method));
  stats_->Ended(status.code());
  return new Refusal(status);
}

}  // namespace toolrack
