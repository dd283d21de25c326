// What a model, and its caller, are told of an output that is not as it should be.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_FEEDBACK_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_FEEDBACK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/services/dispatch_retry.h"
#include "toolrack/v1/renderer.pb.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

v1::CallStatus ToCallStatus(const absl::Status& status);

// The kind of fault that a call's status is, added to `faults`; none for what is not the model's.
void AddFault(const absl::Status& status, OutputFaults& faults);

// The text for the model: the status's own, with the schemas of the wrong arguments when `tool`
// (null: not known) tells them.
std::string FeedbackText(const absl::Status& status, const v1::Tool* tool);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_FEEDBACK_H_
