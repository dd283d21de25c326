// Data sets that lie beside the project; a test that wants one skips itself where it is missing.
#ifndef TOOLRACK_TESTS_SCHEMA_SHARED_DATA_H_
#define TOOLRACK_TESTS_SCHEMA_SHARED_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/base/json.h"

namespace toolrack {

inline std::filesystem::path SharedPath(const std::string& name) {
  const char* shared = std::getenv("TOOLRACK_SHARED");
  const std::filesystem::path root =
      shared != nullptr ? std::filesystem::path(shared)
                        : std::filesystem::path(TOOLRACK_SOURCE_DIR) / ".." / "shared";
  return root / name;
}

// Empty when the file is not there.
inline std::vector<Json> ReadLines(const std::filesystem::path& path) {
  std::vector<Json> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) out.push_back(Json::parse(line));
  }
  return out;
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_SCHEMA_SHARED_DATA_H_
