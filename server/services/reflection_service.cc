// Reflection v1. Source: the gRPC server reflection protocol.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "internal/health.pb.h"
#include "internal/reflection_v1.grpc.pb.h"
#include "registry/base/errors.h"
#include "server/services/services.h"

namespace toolrack {
namespace {

namespace reflection = grpc::reflection::v1;
using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

// One stream: question, answer, question, answer.
class Talk final : public grpc::ServerBidiReactor<reflection::ServerReflectionRequest,
                                                  reflection::ServerReflectionResponse> {
 public:
  Talk(const std::vector<std::string>& services, Executor* executor)
      : services_(services), executor_(executor) {
    StartRead(&question_);
  }

 private:
  // One operation is under way at any time, so that nothing here needs a lock.
  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    // A file with all that it imports is some 100 µs of work.
    if (!executor_->Post([this] { AnswerQuestion(); })) AnswerQuestion();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
      return;
    }
    StartRead(&question_);
  }
  void OnDone() override { delete this; }

  void AnswerQuestion() {
    answer_.Clear();
    answer_.set_valid_host(question_.host());
    *answer_.mutable_original_request() = question_;
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (question_.message_request_case()) {
      case reflection::ServerReflectionRequest::kListServices:
        for (const std::string& service : services_) {
          answer_.mutable_list_services_response()->add_service()->set_name(service);
        }
        break;
      case reflection::ServerReflectionRequest::kFileByFilename:
        AddFile(pool.FindFileByName(question_.file_by_filename()), "file",
                question_.file_by_filename());
        break;
      case reflection::ServerReflectionRequest::kFileContainingSymbol:
        AddFile(pool.FindFileContainingSymbol(question_.file_containing_symbol()), "symbol",
                question_.file_containing_symbol());
        break;
      case reflection::ServerReflectionRequest::kFileContainingExtension:
        AddExtension(pool, question_.file_containing_extension());
        break;
      case reflection::ServerReflectionRequest::kAllExtensionNumbersOfType:
        AddNumbers(pool, question_.all_extension_numbers_of_type());
        break;
      default:
        Fail(grpc::StatusCode::INVALID_ARGUMENT, "the request asks nothing");
    }
    StartWrite(&answer_);
  }

  void Fail(grpc::StatusCode code, const std::string& message) {
    answer_.mutable_error_response()->set_error_code(code);
    answer_.mutable_error_response()->set_error_message(message);
  }
  void NotFound(absl::string_view kind, absl::string_view name) {
    Fail(grpc::StatusCode::NOT_FOUND,
         absl::StrCat("There is no ", kind, " named ", ForMessage(name), " in this daemon."));
  }

  void AddFile(const FileDescriptor* file, absl::string_view kind, const std::string& name) {
    if (file == nullptr) {
      NotFound(kind, name);
      return;
    }
    // The file that was asked for comes in any case; what it imports only once on a stream.
    sent_.erase(file);
    AddWithImports(file);
  }
  void AddWithImports(const FileDescriptor* file) {
    if (!sent_.insert(file).second) return;
    google::protobuf::FileDescriptorProto proto;
    file->CopyTo(&proto);
    file->CopyJsonNameTo(&proto);  // without them grpcurl prints proto names instead of JSON's
    *answer_.mutable_file_descriptor_response()->add_file_descriptor_proto() =
        proto.SerializeAsString();
    for (int i = 0; i < file->dependency_count(); ++i) AddWithImports(file->dependency(i));
  }
  void AddExtension(const DescriptorPool& pool, const reflection::ExtensionRequest& wanted) {
    const Descriptor* type = pool.FindMessageTypeByName(wanted.containing_type());
    const FieldDescriptor* extension =
        type == nullptr ? nullptr : pool.FindExtensionByNumber(type, wanted.extension_number());
    AddFile(extension == nullptr ? nullptr : extension->file(), "extension",
            absl::StrCat(wanted.containing_type(), "[", wanted.extension_number(), "]"));
  }
  void AddNumbers(const DescriptorPool& pool, const std::string& name) {
    const Descriptor* type = pool.FindMessageTypeByName(name);
    if (type == nullptr) {
      NotFound("message", name);
      return;
    }
    std::vector<const FieldDescriptor*> extensions;
    pool.FindAllExtensions(type, &extensions);
    auto* out = answer_.mutable_all_extension_numbers_response();
    out->set_base_type_name(name);
    for (const FieldDescriptor* extension : extensions) {
      out->add_extension_number(extension->number());
    }
    std::sort(out->mutable_extension_number()->begin(), out->mutable_extension_number()->end());
  }

  const std::vector<std::string>& services_;
  Executor* const executor_;
  reflection::ServerReflectionRequest question_;
  reflection::ServerReflectionResponse answer_;
  std::set<const FileDescriptor*> sent_;
};

class ReflectionService final : public reflection::ServerReflection::CallbackService {
 public:
  ReflectionService(std::vector<std::string> services, Executor* executor)
      : services_(std::move(services)), executor_(executor) {
    std::sort(services_.begin(), services_.end());
    // gRPC's library serves health without descriptors: without this the linker drops ours.
    grpc::health::v1::HealthCheckRequest::descriptor();
  }
  grpc::ServerBidiReactor<reflection::ServerReflectionRequest,
                          reflection::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext*) override {
    return new Talk(services_, executor_);
  }

 private:
  std::vector<std::string> services_;
  Executor* const executor_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeReflectionService(std::vector<std::string> services,
                                                     Executor* executor) {
  return std::make_unique<ReflectionService>(std::move(services), executor);
}

}  // namespace toolrack
