// What becomes of a tool's result on its way to the caller: checked, and cut to the cap.
//
// Pure functions but for the store. CPU work grows with the result.
#ifndef TOOLRACK_REGISTRY_CALL_RESULT_SHAPE_H_
#define TOOLRACK_REGISTRY_CALL_RESULT_SHAPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "registry/call/result_store.h"
#include "registry/snapshot.h"
#include "toolrack/v1/result.pb.h"

namespace toolrack {

struct ResultLimits {
  uint64_t cap_bytes = 64 << 10;
  uint64_t max_result_bytes = 16 << 20;
  size_t max_json_depth = 64;
};

// Bytes of text that the caller would read: all text and JSON parts, and structured_json unless one
// of the parts is the same.
uint64_t ResultTextBytes(const v1::ToolResult& result);

// Replaces the result by one with is_error and OUTPUT_INVALID when it is over max_result_bytes, its
// JSON is none, or it does not fit the tool's output schema; else mends what has only one right
// form: bytes that are not UTF-8, `error` without `is_error` and the other way round, fields that
// are the rack's to set.
void CheckResult(const ToolEntry& entry, const ResultLimits& limits, v1::ToolResult& result);

// Sets total_bytes; over the cap, gives a summary when there is none, keeps the whole in `store`
// for `principal` and session and cuts: head and tail of the text stay, at character boundaries,
// with a mark between them that says how much is missing. JSON is never cut but left out whole. The
// text left is at most cap_bytes, or the mark alone.
void CapResult(const ResultLimits& limits, absl::string_view principal,
               absl::string_view session_id, ResultStore& store, v1::ToolResult& result);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_RESULT_SHAPE_H_
