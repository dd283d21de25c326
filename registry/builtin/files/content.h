// Reading what is in a file, within bounds.
#ifndef TOOLRACK_REGISTRY_BUILTIN_FILES_CONTENT_H_
#define TOOLRACK_REGISTRY_BUILTIN_FILES_CONTENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/stop.h"
#include "registry/builtin/files/root.h"

namespace toolrack {

// UTF-8 without NUL.
bool IsText(absl::string_view bytes);

// At most `length` bytes from `offset` on. CANCELLED when it was stopped; else as FileError.
absl::StatusOr<std::string> ReadPiece(const FileRoot::File& file, absl::string_view path,
                                      uint64_t offset, uint64_t length, const StopToken& stop);
// All of it; OUT_OF_RANGE when there is more than `max_bytes`.
absl::StatusOr<std::string> ReadWhole(const FileRoot::File& file, absl::string_view path,
                                      uint64_t max_bytes, const StopToken& stop);

absl::Status FileTooLarge(absl::string_view path, uint64_t bytes, uint64_t max_bytes);
absl::Status FilesStopped();

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_FILES_CONTENT_H_
