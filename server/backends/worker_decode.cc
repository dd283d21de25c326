#include "server/backends/worker_decode.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "internal/worker_lenient.pb.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

absl::Status Broken() {
  return ProtocolViolation("bytes came that are no WorkerServiceAttachRequest");
}

// The first text of the tool that is not UTF-8, as a finding.
v1::Finding Utf8Finding(const internal::LenientTool& tool) {
  std::vector<std::pair<std::string, const std::string*>> texts = {
      {"/name", &tool.name()},
      {"/title", &tool.title()},
      {"/description", &tool.description()},
      {"/input_schema", &tool.input_schema()},
      {"/output_schema", &tool.output_schema()},
      {"/meta_json", &tool.meta_json()}};
  for (int i = 0; i < tool.categories_size(); ++i)
    texts.push_back({absl::StrCat("/categories/", i), &tool.categories(i)});
  for (int i = 0; i < tool.examples_size(); ++i)
    texts.push_back({absl::StrCat("/examples/", i), &tool.examples(i)});
  v1::Finding finding;
  finding.set_rule("not_utf8");
  finding.set_severity(v1::FINDING_SEVERITY_ERROR);
  for (const auto& [pointer, text] : texts) {
    const size_t at = FirstInvalidUtf8(*text);
    if (at == text->size()) continue;
    finding.set_pointer(pointer);
    finding.set_message(absl::StrCat("the text is not UTF-8 (byte ", at, "); send UTF-8"));
    return finding;
  }
  finding.set_message("the definition holds text that is not UTF-8, or is no Tool; send UTF-8");
  return finding;
}

absl::Status DecodePublish(internal::LenientPublish& lenient, WorkerMessage& out) {
  if (!IsUtf8(lenient.namespace_()))
    return ProtocolViolation("the namespace of a publish is not UTF-8");
  v1::WorkerPublish* publish = out.request.mutable_publish();
  publish->set_namespace_(std::move(*lenient.mutable_namespace_()));
  publish->set_generation(lenient.generation());
  publish->set_mode(static_cast<v1::PublishMode>(lenient.mode()));
  publish->set_commit(lenient.commit());
  for (const std::string& bytes : lenient.tools()) {
    if (publish->add_tools()->ParseFromString(bytes)) continue;
    publish->mutable_tools()->RemoveLast();
    internal::LenientTool tool;
    if (!tool.ParseFromString(bytes)) return Broken();
    v1::WorkerRejected bad;
    bad.set_name(ForMessage(tool.name(), 200));
    *bad.add_findings() = Utf8Finding(tool);
    const v1::Finding& finding = bad.findings(0);
    bad.add_reasons(
        absl::StrCat(finding.pointer(), finding.pointer().empty() ? "" : ": ", finding.message()));
    out.bad_tools.push_back(std::move(bad));
  }
  return absl::OkStatus();
}

absl::Status DecodeResults(const internal::LenientResults& lenient, WorkerMessage& out) {
  v1::WorkerResults* results = out.request.mutable_results();
  for (const std::string& bytes : lenient.results()) {
    if (results->add_results()->ParseFromString(bytes)) continue;
    results->mutable_results()->RemoveLast();
    internal::LenientResult result;
    if (!result.ParseFromString(bytes)) return Broken();
    out.bad_results.push_back(result.invocation_id());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeLeniently(absl::string_view bytes, WorkerMessage& out) {
  out.Clear();
  internal::LenientAttachRequest lenient;
  if (!lenient.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Broken();
  switch (lenient.message_case()) {
    case internal::LenientAttachRequest::kHello:
      if (out.request.mutable_hello()->ParseFromString(lenient.hello())) return absl::OkStatus();
      return ProtocolViolation("the hello cannot be read: the worker name must be UTF-8");
    case internal::LenientAttachRequest::kPublish:
      return DecodePublish(*lenient.mutable_publish(), out);
    case internal::LenientAttachRequest::kWithdraw:
      if (out.request.mutable_withdraw()->ParseFromString(lenient.withdraw()))
        return absl::OkStatus();
      return ProtocolViolation("the withdraw cannot be read: the namespace must be UTF-8");
    case internal::LenientAttachRequest::kResults:
      return DecodeResults(lenient.results(), out);
    case internal::LenientAttachRequest::MESSAGE_NOT_SET:
      break;
  }
  return Broken();
}

}  // namespace toolrack
