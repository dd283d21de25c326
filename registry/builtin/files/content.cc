#include "registry/builtin/files/content.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {
constexpr uint64_t kChunk = 256 << 10;
}  // namespace

bool IsText(absl::string_view bytes) {
  return bytes.find('\0') == absl::string_view::npos && IsUtf8(bytes);
}

absl::Status FileTooLarge(absl::string_view path, uint64_t bytes, uint64_t max_bytes) {
  return absl::OutOfRangeError(absl::StrCat(
      "\"", ForMessage(path), "\" has ", bytes, " bytes; at most ", max_bytes,
      " are handled at once. Read a piece of it with `offset` and `length` of file_read."));
}

absl::Status FilesStopped() {
  return absl::CancelledError("Stopped before it was done. Nothing was changed.");
}

absl::StatusOr<std::string> ReadPiece(const FileRoot::File& file, absl::string_view path,
                                      uint64_t offset, uint64_t length, const StopToken& stop) {
  std::string out;
  if (offset > INT64_MAX || length > INT64_MAX - offset) return out;  // no file is that long
  while (out.size() < length) {
    if (stop.stop_requested()) return FilesStopped();
    const size_t before = out.size();
    out.resize(before + std::min<uint64_t>(kChunk, length - before));
    const ssize_t got = ::pread(file.fd.get(), &out[before], out.size() - before,
                                static_cast<off_t>(offset + before));
    out.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return FileError(errno, path);
  }
  return out;
}

absl::StatusOr<std::string> ReadWhole(const FileRoot::File& file, absl::string_view path,
                                      uint64_t max_bytes, const StopToken& stop) {
  const auto size = static_cast<uint64_t>(file.info.st_size);
  if (size > max_bytes) return FileTooLarge(path, size, max_bytes);
  // It may have grown, and some files do not tell their size.
  TR_ASSIGN_OR_RETURN(std::string out, ReadPiece(file, path, 0, max_bytes + 1, stop));
  if (out.size() > max_bytes) return FileTooLarge(path, out.size(), max_bytes);
  return out;
}

}  // namespace toolrack
