// Early return on an absl::Status that is not OK, for plain functions and for coroutines.
#ifndef TOOLRACK_REGISTRY_BASE_STATUS_MACROS_H_
#define TOOLRACK_REGISTRY_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TR_STATUS_CONCAT_INNER(a, b) a##b
#define TR_STATUS_CONCAT(a, b) TR_STATUS_CONCAT_INNER(a, b)

#define TR_RETURN_IF_ERROR(expr)             \
  do {                                       \
    absl::Status tr_status_ = (expr);        \
    if (!tr_status_.ok()) return tr_status_; \
  } while (false)

#define TR_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return std::move(tmp).status();  \
  lhs = std::move(tmp).value()
#define TR_ASSIGN_OR_RETURN(lhs, expr) \
  TR_ASSIGN_OR_RETURN_INNER(TR_STATUS_CONCAT(tr_statusor_, __LINE__), lhs, expr)

// In a coroutine; `expr` holds no co_await (see task.h, rule 1).
#define TR_CO_RETURN_IF_ERROR(expr)             \
  do {                                          \
    absl::Status tr_status_ = (expr);           \
    if (!tr_status_.ok()) co_return tr_status_; \
  } while (false)

#define TR_CO_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) co_return std::move(tmp).status();  \
  lhs = std::move(tmp).value()
#define TR_CO_ASSIGN_OR_RETURN(lhs, expr) \
  TR_CO_ASSIGN_OR_RETURN_INNER(TR_STATUS_CONCAT(tr_statusor_, __LINE__), lhs, expr)

#endif  // TOOLRACK_REGISTRY_BASE_STATUS_MACROS_H_
