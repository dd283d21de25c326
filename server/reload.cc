#include "server/reload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/config_fields.h"

namespace toolrack {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

constexpr absl::string_view kAtOnce[] = {"log.level", "policy.default_action", "policy.rules",
                                         "principals"};

bool Differs(const Message& before, const Message& after, const FieldDescriptor& field) {
  MessageDifferencer differencer;
  const std::vector<const FieldDescriptor*> only{&field};
  return !differencer.CompareWithFields(before, after, only, only);
}

void Compare(const Message& before, const Message& after, const std::string& path,
             std::vector<std::string>& out) {
  const auto* descriptor = before.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor& field = *descriptor->field(i);
    const std::string here = path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
    const bool group = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
                       !field.is_repeated() && !IsDuration(field);
    if (group) {
      Compare(before.GetReflection()->GetMessage(before, &field),
              after.GetReflection()->GetMessage(after, &field), here, out);
    } else if (Differs(before, after, field)) {
      out.push_back(here);
    }
  }
}

}  // namespace

std::vector<std::string> ChangedSettings(const v1::Config& before, const v1::Config& after) {
  std::vector<std::string> out;
  Compare(before, after, "", out);
  std::sort(out.begin(), out.end());
  return out;
}

bool HoldsAtOnce(absl::string_view path) {
  return std::find(std::begin(kAtOnce), std::end(kAtOnce), path) != std::end(kAtOnce);
}

}  // namespace toolrack
