// A condition that a fuzz target holds for every input; ends the process when it does not.
#ifndef TOOLRACK_TESTS_FUZZ_CHECK_H_
#define TOOLRACK_TESTS_FUZZ_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define FUZZ_CHECK(condition)                                              \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)

#endif  // TOOLRACK_TESTS_FUZZ_CHECK_H_
