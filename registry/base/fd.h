// One file descriptor that closes itself.
#ifndef TOOLRACK_REGISTRY_BASE_FD_H_
#define TOOLRACK_REGISTRY_BASE_FD_H_

#include <unistd.h>

#include <utility>

namespace toolrack {

// Move-only; -1 is none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.number_, -1));
    return *this;
  }
  ~Fd() { Reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int Release() { return std::exchange(number_, -1); }
  void Reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_FD_H_
