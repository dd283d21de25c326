#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/session_table.h"
#include "server/rpc/admission.h"
#include "server/rpc/unary.h"
#include "server/services/core.h"
#include "server/services/page.h"
#include "server/services/services.h"
#include "toolrack/v1/session_service.grpc.pb.h"

namespace toolrack {
namespace {

std::string SessionKey(const v1::Session& session) {
  return absl::StrCat(TimeKey(session.open_time()), "/", session.session_id());
}

class SessionService final : public v1::SessionService::CallbackService {
 public:
  SessionService(const Core* core, bool everybodys)
      : core_(*core),
        everybodys_(everybodys),
        max_pending_(core->config.limits().max_pending_requests()),
        open_(core->methods->Get("SessionService/OpenSession")),
        get_(core->methods->Get("SessionService/GetSession")),
        list_(core->methods->Get("SessionService/ListSessions")),
        close_(core->methods->Get("SessionService/CloseSession")),
        load_(core->methods->Get("SessionService/LoadTools")),
        unload_(core->methods->Get("SessionService/UnloadTools")) {}

  grpc::ServerUnaryReactor* OpenSession(grpc::CallbackServerContext* context,
                                        const v1::OpenSessionRequest* request,
                                        v1::Session* response) override {
    return AnswerOn(core_.executor, max_pending_, context, response, open_,
                    [this, request, context]() -> absl::StatusOr<v1::Session> {
                      absl::StatusOr<std::string> who =
                          core_.admission->Admit(*context, AccessScope::kCall, open_->name());
                      if (!who.ok()) return who.status();
                      return core_.sessions->Open(*request, *who);
                    });
  }

  grpc::ServerUnaryReactor* GetSession(grpc::CallbackServerContext* context,
                                       const v1::GetSessionRequest* request,
                                       v1::Session* response) override {
    return AnswerHere(context, response, get_, [this, request, context] {
      return Seen<v1::Session>(*context, get_, [this, request](const Viewer& viewer) {
        return core_.sessions->Get(request->session_id(), viewer);
      });
    });
  }

  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context,
                                         const v1::ListSessionsRequest* request,
                                         v1::ListSessionsResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, list_, [this, request, context] {
          return Seen<v1::ListSessionsResponse>(
              *context, list_,
              [this, request](const Viewer& viewer) -> absl::StatusOr<v1::ListSessionsResponse> {
                v1::ListSessionsResponse out;
                std::vector<v1::Session> sessions = core_.sessions->List(viewer);
                absl::StatusOr<std::string> next =
                    Page(sessions, request->page_size(), request->page_token(), SessionKey,
                         [&out](v1::Session session) { *out.add_sessions() = std::move(session); });
                if (!next.ok()) return next.status();
                out.set_next_page_token(*std::move(next));
                return out;
              });
        });
  }

  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* context,
                                         const v1::CloseSessionRequest* request,
                                         v1::CloseSessionResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, close_, [this, request, context] {
          return Seen<v1::CloseSessionResponse>(
              *context, close_,
              [this, request](const Viewer& viewer) -> absl::StatusOr<v1::CloseSessionResponse> {
                absl::StatusOr<v1::SessionCounters> counters =
                    core_.sessions->Close(request->session_id(), viewer);
                if (!counters.ok()) return counters.status();
                v1::CloseSessionResponse out;
                *out.mutable_counters() = *std::move(counters);
                return out;
              });
        });
  }

  grpc::ServerUnaryReactor* LoadTools(grpc::CallbackServerContext* context,
                                      const v1::LoadToolsRequest* request,
                                      v1::LoadToolsResponse* response) override {
    return AnswerOn(core_.executor, max_pending_, context, response, load_,
                    [this, request, context] {
                      return Seen<v1::LoadToolsResponse>(
                          *context, load_, [this, request](const Viewer& viewer) {
                            return core_.sessions->Load(*request, viewer);
                          });
                    });
  }

  grpc::ServerUnaryReactor* UnloadTools(grpc::CallbackServerContext* context,
                                        const v1::UnloadToolsRequest* request,
                                        v1::UnloadToolsResponse* response) override {
    return AnswerOn(core_.executor, max_pending_, context, response, unload_,
                    [this, request, context] {
                      return Seen<v1::UnloadToolsResponse>(
                          *context, unload_, [this, request](const Viewer& viewer) {
                            return core_.sessions->Unload(*request, viewer);
                          });
                    });
  }

 private:
  using Viewer = SessionTable::Viewer;

  // What `work` gives, once the caller was let in: an administrator sees everybody's sessions on
  // the socket that is for it, everybody else their own.
  template <typename Response, typename Work>
  absl::StatusOr<Response> Seen(const grpc::CallbackServerContext& context, MethodStats* method,
                                Work work) const {
    if (everybodys_ && core_.admission->Admit(context, AccessScope::kAdmin, method->name()).ok()) {
      return work(Viewer());
    }
    absl::StatusOr<std::string> who =
        core_.admission->Admit(context, AccessScope::kCall, method->name());
    if (!who.ok()) return who.status();
    return work(Viewer(*std::move(who)));
  }

  const Core& core_;
  const bool everybodys_;
  const uint64_t max_pending_;
  MethodStats* const open_;
  MethodStats* const get_;
  MethodStats* const list_;
  MethodStats* const close_;
  MethodStats* const load_;
  MethodStats* const unload_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSessionService(const Core* core, bool everybodys) {
  return std::make_unique<SessionService>(core, everybodys);
}

}  // namespace toolrack
