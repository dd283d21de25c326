#include "registry/base/stop.h"

namespace toolrack {

const char* StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kDeadline:
      return "deadline";
    case StopReason::kCaller:
      return "caller";
    case StopReason::kAdmin:
      return "admin";
    case StopReason::kShutdown:
      return "shutdown";
    case StopReason::kNone:
      break;
  }
  return "";
}

}  // namespace toolrack
