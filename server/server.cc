#include "server/server.h"

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "registry/base/log.h"
#include "registry/base/status_macros.h"
#include "registry/base/timers.h"
#include "registry/builtin/result_read.h"
#include "registry/tool_server.h"
#include "renderers/o200k.h"
#include "server/audit_log.h"
#include "server/config.h"
#include "server/hooks/hook_hub.h"
#include "server/own_tools.h"
#include "server/pin_file.h"
#include "server/process_status.h"
#include "server/rpc/acceptor.h"
#include "server/rpc/grpc_server.h"
#include "server/rpc/listen.h"
#include "server/rpc/runtime_dir.h"
#include "server/server_options.h"
#include "server/services/dispatch_meta.h"
#include "server/services/dispatch_unwrap.h"
#include "server/services/dispatcher_service.h"
#include "server/services/services.h"

namespace toolrack {
namespace {

constexpr char kToolService[] = "toolrack.v1.ToolService";
constexpr char kRendererService[] = "toolrack.v1.RendererService";
constexpr char kDispatcherService[] = "toolrack.v1.DispatcherService";
constexpr char kSessionService[] = "toolrack.v1.SessionService";
constexpr char kWorkerService[] = "toolrack.v1.WorkerService";
constexpr char kHookService[] = "toolrack.v1.HookService";
constexpr char kAdminService[] = "toolrack.v1.AdminService";
// Served by gRPC's own library on every server.
constexpr const char* kGrpcServices[] = {"grpc.health.v1.Health",
                                         "grpc.reflection.v1.ServerReflection",
                                         "grpc.reflection.v1alpha.ServerReflection"};

// How long a stopped call, and then an answer on its way, may take.
constexpr absl::Duration kLastWrites = absl::Seconds(1);
constexpr absl::Duration kDrainTick = absl::Milliseconds(5);
// Requests are short and CPU-bound.
constexpr size_t kRequestThreads = 2;
constexpr size_t kPublishQueue = 4096;
constexpr size_t kBlockingQueue = 1024;

struct Scope {
  const char* name;
  int spare_fds;  // the fewer, the longer it is served when descriptors run short
};
constexpr Scope kScopes[] = {{"agent", 24}, {"worker", 16}, {"control", 8}};

}  // namespace

absl::string_view Version() { return "0.1.0"; }

// In order of building; taken down the other way round, after Stop.
struct Server::Parts {
  Parts(v1::Config c, ConfigSource s, std::unique_ptr<AuditLog> a,
        std::unique_ptr<ResultSpill> spill, std::unique_ptr<const TokenCounter> t)
      : config(std::move(c)),
        source(std::move(s)),
        audit(std::move(a)),
        tokens(std::move(t)),
        requests("requests", kRequestThreads, config.limits().max_pending_requests()),
        publishing("publish", 1, kPublishQueue),
        blocking("blocking", config.limits().blocking_threads(), kBlockingQueue),
        timers(MakeTimers()),
        principals(config.principals()),
        policy(config.policy()),
        approvals(&Clock::Real(), config.policy()),
        admission(&principals),
        pins(PinModeOf(config), 4 * size_t{config.limits().max_tools()},
             [this] { pin_file.Changed(pins); }),
        pin_file(config.state_dir(), &publishing),
        registry(ToRegistryOptions(config, &pins, &principals)),
        searcher(&registry),
        results(&Clock::Real(), config.results(), std::move(spill)),
        sessions({&registry, timers.get(), &Clock::Real(),
                  [this](absl::string_view who) { return policy.VisibilityOf(who); }},
                 config.limits()),
        prompts({&registry, &sessions, &policy, tokens.get()}, config.renderers()),
        hooks(&Clock::Real(), config.hooks()),
        unwrapper(&registry, &policy, config.limits().max_arguments_bytes()),
        pipeline({&registry, timers.get(), &Clock::Real(), &requests, &results, &sessions, &hooks,
                  &principals, &policy, &approvals, &unwrapper},
                 ToPipelineOptions(config, audit.get())),
        hook_streams({&hooks, timers.get(), &requests}, ToHookOptions(config, registry)),
        workers({&registry, timers.get(), &Clock::Real(), &publishing, &sessions},
                ToHubOptions(config)),
        builtin(&registry, "toolrack", ""),
        watches(config.limits().max_watchers()),
        quota("toolrack"),
        acceptor(
            {config.limits().max_connections(), FromProto(config.limits().handshake_timeout())}) {
    quota.Resize(config.limits().grpc_memory_bytes());
  }
  ~Parts() { Stop(); }

  absl::Status Build(DaemonControl* control);
  absl::Status Listen(std::vector<std::pair<ListenSocket, size_t>>& sockets);
  std::map<std::string, std::unique_ptr<grpc::Service>> ServicesOf(size_t scope);
  absl::StatusOr<std::unique_ptr<GrpcServer>> MakeGrpcServer(size_t scope);
  std::string SocketPath(size_t scope) const {
    return absl::StrCat(config.listen().runtime_dir(), "/", kScopes[scope].name, ".sock");
  }
  void Stop();

  const v1::Config config;
  const ConfigSource source;
  absl::Mutex reload_mu;
  v1::Config reloaded ABSL_GUARDED_BY(reload_mu) = config;  // `config` with what holds by now
  const std::unique_ptr<AuditLog> audit;                    // null: none
  const std::unique_ptr<const TokenCounter> tokens;         // null: estimates
  const absl::Time start_time = absl::Now();
  const absl::Duration start_steady = Clock::Real().SteadyNow();
  std::unique_ptr<RuntimeDir> dir;
  ThreadPool requests;
  ThreadPool publishing;
  ThreadPool blocking;
  OwnTools own_tools;
  std::unique_ptr<Timers> timers;
  Principals principals;
  Policy policy;
  Approvals approvals;
  const Admission admission;
  Pins pins;
  PinFile pin_file;
  Registry registry;
  Searcher searcher;
  ResultStore results;
  RetryLedger retries;
  SessionTable sessions;
  Prompts prompts;
  HookSet hooks;
  const ToolCallUnwrapper unwrapper;
  CallPipeline pipeline;
  HookHub hook_streams;
  WorkerHub workers;
  ToolServer builtin;
  MethodTable methods;
  WatchSet watches;
  Core core;
  grpc::ResourceQuota quota;
  std::vector<std::unique_ptr<GrpcServer>> servers;  // by scope
  Acceptor acceptor;

  mutable absl::Mutex mu;
  bool draining ABSL_GUARDED_BY(mu) = false;
  bool told ABSL_GUARDED_BY(mu) = false;  // health, pipeline and workers know
  absl::Duration drain_end ABSL_GUARDED_BY(mu) = absl::InfiniteDuration();
  bool stopped = false;
};

std::map<std::string, std::unique_ptr<grpc::Service>> Server::Parts::ServicesOf(size_t scope) {
  std::map<std::string, std::unique_ptr<grpc::Service>> out;
  out[kToolService] = MakeToolService(&core);
  out[kRendererService] = MakeRendererService(&core);
  out[kDispatcherService] = MakeDispatcherService(&core, &retries);
  out[kSessionService] = MakeSessionService(&core, /*everybodys=*/scope >= 2);
  if (scope >= 1) out[kWorkerService] = MakeWorkerService(&workers, &admission);
  if (scope >= 2) out[kHookService] = MakeHookService(&hook_streams, &admission);
  if (scope >= 2) out[kAdminService] = MakeAdminService(&core);
  std::vector<std::string> names(std::begin(kGrpcServices), std::end(kGrpcServices));
  for (const auto& [name, service] : out) names.push_back(name);
  out["grpc.reflection.v1.ServerReflection"] = MakeReflectionService(std::move(names), &requests);
  return out;
}

absl::StatusOr<std::unique_ptr<GrpcServer>> Server::Parts::MakeGrpcServer(size_t scope) {
  GrpcServerOptions options;
  options.max_receive_bytes = config.limits().max_message_bytes();
  options.max_send_bytes =
      config.results().max_result_bytes() + config.limits().max_message_bytes();
  options.max_streams_per_connection = config.limits().max_streams_per_connection();
  options.catch_all = methods.Get("other");
  if (scope == 0) {
    options.elsewhere[kWorkerService] = absl::StrCat("unix:", SocketPath(1));
  } else {
    // Workers send results, which may be larger than any request, and are to be found dead soon.
    options.max_receive_bytes = options.max_send_bytes;
    options.keepalive_time = absl::Seconds(10);
    options.keepalive_timeout = absl::Seconds(5);
  }
  if (scope < 2) {
    for (const char* service : {kHookService, kAdminService}) {
      options.elsewhere[service] = absl::StrCat("unix:", SocketPath(2));
    }
  }
  return GrpcServer::Create(std::move(options), quota, ServicesOf(scope));
}

absl::Status Server::Parts::Listen(std::vector<std::pair<ListenSocket, size_t>>& sockets) {
  std::optional<gid_t> group;
  if (!config.listen().socket_group().empty()) {
    TR_ASSIGN_OR_RETURN(group, GroupOf(config.listen().socket_group()));
  }
  TR_ASSIGN_OR_RETURN(dir, RuntimeDir::Create(config.listen().runtime_dir(), group));
  const auto mode = static_cast<mode_t>(std::stoul(config.listen().socket_mode(), nullptr, 8));
  for (size_t scope = 0; scope < std::size(kScopes); ++scope) {
    TR_ASSIGN_OR_RETURN(ListenSocket socket, ListenSocket::Unix(SocketPath(scope), mode, group));
    sockets.emplace_back(std::move(socket), scope);
  }
  for (const std::string& tcp : config.listen().tcp()) {
    TR_ASSIGN_OR_RETURN(TcpAddress address, ParseTcpAddress(tcp));
    TR_ASSIGN_OR_RETURN(ListenSocket socket, ListenSocket::Tcp(std::move(address)));
    sockets.emplace_back(std::move(socket), 0);
  }
  return absl::OkStatus();
}

absl::Status Server::Parts::Build(DaemonControl* control) {
  std::vector<std::pair<ListenSocket, size_t>> sockets;
  TR_RETURN_IF_ERROR(Listen(sockets));
  TR_RETURN_IF_ERROR(pin_file.Load(pins));
  TR_ASSIGN_OR_RETURN(ToolRegistrar registrar, builtin.TakeRegistrar());
  TR_ASSIGN_OR_RETURN(std::vector<ToolFactory> tools,
                      own_tools.Make({&Clock::Real(), timers.get(), &blocking}, config.builtin()));
  tools.push_back(MakeResultReadTool(
      [this](const v1::ReadResultRequest& request, const CallContext& context) {
        return results.Read(request, context.principal);
      },
      config.results().cap_bytes() * 3 / 4));
  for (ToolFactory& tool :
       MetaTools({&registry, &searcher, &sessions, &policy, &requests, &prompts})) {
    tools.push_back(std::move(tool));
  }
  TR_RETURN_IF_ERROR(registrar.RegisterAll(std::move(tools)));
  sessions.AddHost(builtin.session_host());
  sessions.AddHost(&results);
  sessions.AddHost(&retries);
  core.config = config;
  core.registry = &registry;
  core.searcher = &searcher;
  core.pipeline = &pipeline;
  core.results = &results;
  core.sessions = &sessions;
  core.hooks = &hooks;
  core.workers = &workers;
  core.executor = &requests;
  core.clock = &Clock::Real();
  core.control = control;
  core.methods = &methods;
  core.watches = &watches;
  core.admission = &admission;
  core.policy = &policy;
  core.approvals = &approvals;
  core.prompts = &prompts;
  core.unwrapper = &unwrapper;
  for (size_t scope = 0; scope < std::size(kScopes); ++scope) {
    TR_ASSIGN_OR_RETURN(std::unique_ptr<GrpcServer> server, MakeGrpcServer(scope));
    server->SetServing(true);
    servers.push_back(std::move(server));
  }
  for (auto& [socket, scope] : sockets) {
    LogInfo(absl::StrCat("listening on ", socket.address(), " (", kScopes[scope].name, ")"));
    acceptor.Add(std::move(socket), kScopes[scope].name, servers[scope]->get(),
                 kScopes[scope].spare_fds);
  }
  acceptor.Start();
  return absl::OkStatus();
}

void Server::Parts::Stop() {
  if (std::exchange(stopped, true)) return;
  acceptor.Stop();
  pipeline.Drain();
  sessions.Shutdown();
  watches.EndAll(Draining("daemon"));
  pipeline.StopAll();
  hook_streams.Shutdown();
  workers.Shutdown();
  // One deadline for all: streams that only their client ends (health, reflection) wait for it
  // once.
  const absl::Time last_write = absl::Now() + kLastWrites;
  for (const std::unique_ptr<GrpcServer>& server : servers) server->Shutdown(last_write);
  // Every caller has its answer by now; what is left is tools that have not noticed yet.
  absl::Duration warned = Clock::Real().SteadyNow();
  while (!pipeline.idle()) {
    if (Clock::Real().SteadyNow() - warned > absl::Seconds(5)) {
      warned = Clock::Real().SteadyNow();
      LogWarning(absl::StrCat("waiting for ", pipeline.calls_in_flight(), " calls to end"));
    }
    absl::SleepFor(kDrainTick);
  }
  servers.clear();
  requests.Shutdown();
  publishing.Shutdown();
  blocking.Shutdown();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const v1::Config& config,
                                                       ConfigSource source) {
  const std::vector<ConfigMistake> mistakes = CheckConfig(config);
  if (!mistakes.empty()) {
    return absl::InvalidArgumentError(FormatMistakes("configuration", mistakes));
  }
  v1::Config whole = WithDefaults(config);
  std::unique_ptr<ResultSpill> spill;
  if (!whole.results().spill_dir().empty()) {
    TR_ASSIGN_OR_RETURN(spill, MakeFileSpill(whole.results().spill_dir()));
  }
  std::unique_ptr<AuditLog> audit;
  if (!whole.audit().file().empty()) {
    TR_ASSIGN_OR_RETURN(audit, AuditLog::Open(whole.audit().file()));
  }
  std::unique_ptr<const TokenCounter> tokens;
  if (!whole.renderers().o200k_file().empty()) {
    TR_ASSIGN_OR_RETURN(tokens, LoadO200k(whole.renderers().o200k_file()));
  }
  std::unique_ptr<Server> server(new Server(std::make_unique<Parts>(
      std::move(whole), std::move(source), std::move(audit), std::move(spill), std::move(tokens))));
  TR_RETURN_IF_ERROR(server->parts_->Build(server.get()));
  return server;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

void Server::BeginDrain(absl::Duration grace) {
  Parts& parts = *parts_;
  {
    absl::MutexLock lock(&parts.mu);
    parts.drain_end = std::min(parts.drain_end, Clock::Real().SteadyNow() + grace);
    if (std::exchange(parts.draining, true)) return;
  }
  LogInfo(absl::StrCat("draining: ", parts.pipeline.calls_in_flight(), " calls in flight, at most ",
                       absl::FormatDuration(grace)));
  for (const std::unique_ptr<GrpcServer>& server : parts.servers) server->SetServing(false);
  parts.pipeline.Drain();
  parts.sessions.Drain();
  parts.workers.Drain(grace);
  absl::MutexLock lock(&parts.mu);
  parts.told = true;
}

absl::StatusOr<v1::ReloadConfigResponse> Server::ReloadConfig(bool check_only) {
  Parts& parts = *parts_;
  const std::string& file = parts.source.file;
  if (!parts.source.read) return ConfigInvalid("", "the daemon was started without a file");
  absl::MutexLock lock(&parts.reload_mu);
  absl::StatusOr<v1::Config> next = parts.source.read();
  if (!next.ok()) return ConfigInvalid(file, next.status().message());
  v1::ReloadConfigResponse out;
  for (std::string& path : ChangedSettings(parts.reloaded, *next)) {
    *(HoldsAtOnce(path) ? out.add_applied() : out.add_needs_restart()) = std::move(path);
  }
  if (check_only) return out;
  LogInfo(absl::StrCat("configuration read again; changed: ",
                       out.applied().empty() ? "nothing" : absl::StrJoin(out.applied(), ", "),
                       out.needs_restart().empty() ? "" : "; after a restart: ",
                       absl::StrJoin(out.needs_restart(), ", ")));
  if (out.applied().empty()) return out;
  SetLogLevel(LogLevelOf(next->log().level()));
  parts.principals.Reload(next->principals());
  parts.policy.Reload(next->policy());
  *parts.reloaded.mutable_principals() = next->principals();
  *parts.reloaded.mutable_policy()->mutable_rules() = next->policy().rules();
  parts.reloaded.mutable_policy()->set_default_action(next->policy().default_action());
  parts.reloaded.mutable_log()->set_level(next->log().level());
  // Whoever watches sees by the old rules; and prompts were made by them.
  parts.registry.ForgetHistory();
  parts.watches.EndThose(ViewChanged());
  return out;
}

void Server::ReopenFiles() {
  if (parts_->audit != nullptr) parts_->audit->Reopen();
}

void Server::Wait() {
  Parts& parts = *parts_;
  {
    absl::MutexLock lock(&parts.mu);
    parts.mu.Await(absl::Condition(&parts.told));
  }
  while (parts.pipeline.calls_in_flight() > 0) {
    {
      absl::MutexLock lock(&parts.mu);
      if (Clock::Real().SteadyNow() >= parts.drain_end) break;
    }
    absl::SleepFor(kDrainTick);
  }
  const uint64_t left = parts.pipeline.calls_in_flight();
  if (left > 0) LogWarning(absl::StrCat("the grace is over: stopping ", left, " calls"));
  parts.Stop();
  LogInfo("drained");
}

v1::GetStatusResponse Server::Status() const {
  const Parts& parts = *parts_;
  v1::GetStatusResponse out;
  out.set_version(std::string(Version()));
  FillProcessStatus(parts.start_time, Clock::Real().SteadyNow() - parts.start_steady, out);
  {
    absl::MutexLock lock(&parts.mu);
    out.set_state(parts.draining ? "draining" : "serving");
  }
  FillRegistryStatus(parts.registry, out);
  out.set_workers(static_cast<uint32_t>(parts.workers.attached()));
  out.set_sessions(static_cast<uint32_t>(parts.sessions.size()));
  out.set_hooks(static_cast<uint32_t>(parts.hooks.size()));
  if (parts.audit != nullptr) {
    out.set_audit_file(parts.audit->file());
    out.set_audit_lost(parts.audit->lost());
  }
  out.set_calls_in_flight(parts.pipeline.calls_in_flight());
  for (const auto& [outcome, count] : parts.pipeline.Counters())
    (*out.mutable_calls())[outcome] = count;
  out.set_watchers(static_cast<uint32_t>(parts.watches.size()));
  out.set_stored_results(parts.results.count());
  out.set_stored_result_bytes(parts.results.bytes() + parts.results.spilled());
  for (v1::ListenAddress& address : parts.acceptor.Addresses()) {
    *out.add_listeners() = std::move(address);
  }
  for (v1::MethodStatus& method : parts.methods.List()) *out.add_methods() = std::move(method);
  return out;
}

const v1::Config& Server::config() const { return parts_->config; }
std::vector<v1::ListenAddress> Server::listeners() const { return parts_->acceptor.Addresses(); }
Registry& Server::registry() { return parts_->registry; }
const Core& Server::core() const { return parts_->core; }

}  // namespace toolrack
