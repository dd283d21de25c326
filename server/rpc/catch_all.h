// Answers what no service of a server answers.
#ifndef TOOLRACK_SERVER_RPC_CATCH_ALL_H_
#define TOOLRACK_SERVER_RPC_CATCH_ALL_H_

#include <grpcpp/generic/async_generic_service.h>

#include <map>
#include <string>

#include "server/rpc/method_stats.h"

namespace toolrack {

// A service that lives on another socket: PERMISSION_DENIED, WRONG_SOCKET, with that socket. Any
// other method: UNIMPLEMENTED. Thread-safe.
class CatchAll : public grpc::CallbackGenericService {
 public:
  // `elsewhere`: full service name to the address of the socket that has it.
  CatchAll(std::map<std::string, std::string> elsewhere, MethodStats* stats)
      : elsewhere_(std::move(elsewhere)), stats_(stats) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  const std::map<std::string, std::string> elsewhere_;
  MethodStats* const stats_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_CATCH_ALL_H_
