#include "registry/base/random.h"

#include <openssl/evp.h>
#include <sys/random.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

void FillRandom(char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(out, size, 0);
    if (got < 0) continue;  // EINTR; the kernel gives no other error for valid arguments
    out += got;
    size -= static_cast<size_t>(got);
  }
}

}  // namespace

std::string RandomId() {
  char bytes[16];
  FillRandom(bytes, sizeof(bytes));
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

std::string QuickId() {
  static const std::string* prefix = new std::string(RandomId().substr(0, 12));
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(*prefix,
                      absl::Hex(counter.fetch_add(1, std::memory_order_relaxed), absl::kZeroPad8));
}

std::string Sha256Hex(absl::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1)
    std::abort();
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<char*>(digest), size));
}

}  // namespace toolrack
