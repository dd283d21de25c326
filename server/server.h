// One daemon: builds every part, owns it, and takes it down in order.
#ifndef TOOLRACK_SERVER_SERVER_H_
#define TOOLRACK_SERVER_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/registry.h"
#include "server/reload.h"
#include "server/services/core.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// The version that `--version` and GetStatus tell.
absl::string_view Version();

// Thread-safe. Several may live in one process (tests do that).
class Server final : public DaemonControl {
 public:
  // Serves when it returns. `config` need not have its defaults. INVALID_ARGUMENT: the config;
  // ALREADY_EXISTS: another daemon has the folder or an address; FAILED_PRECONDITION: it cannot
  // listen there.
  // `source`: for ReloadConfig.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const v1::Config& config,
                                                        ConfigSource source = {});
  // Stops at once when it was not drained. Not from a gRPC thread.
  ~Server() override;

  v1::GetStatusResponse Status() const override;
  // Health says NOT_SERVING, then new calls are refused and workers told. Returns at once.
  void BeginDrain(absl::Duration grace) override;
  absl::StatusOr<v1::ReloadConfigResponse> ReloadConfig(bool check_only) override;
  // The audit log's file is opened by its name again.
  void ReopenFiles();
  // Waits for BeginDrain, then for the running calls or the end of the grace; stops what is left
  // and takes the listeners down. Once, on a thread of the program.
  void Wait();

  // With defaults.
  const v1::Config& config() const;
  // `agent`, `worker`, `control` (Unix sockets), then one `agent` for each TCP address.
  std::vector<v1::ListenAddress> listeners() const;
  Registry& registry();
  const Core& core() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVER_H_
