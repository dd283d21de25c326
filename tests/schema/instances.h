// Values to try on a schema: mostly fitting, often nearly, sometimes not at all.
#ifndef TOOLRACK_TESTS_SCHEMA_INSTANCES_H_
#define TOOLRACK_TESTS_SCHEMA_INSTANCES_H_

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "registry/base/json.h"

namespace toolrack {

class InstanceMaker {
 public:
  InstanceMaker(const Json& document, unsigned seed) : document_(document), random_(seed) {}

  Json Make() { return For(document_, 0); }

 private:
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }
  bool OneIn(size_t n) { return Below(n) == 0; }

  Json Anything(int depth) {
    switch (Below(depth > 3 ? 8 : 10)) {
      case 0:
        return nullptr;
      case 1:
        return OneIn(2);
      case 2:
        return static_cast<int64_t>(Below(7)) - 2;
      case 3:
        return 1.0;
      case 4:
        return 0.5;
      case 5:
        return "";
      case 6:
        return "ab";
      case 7:
        return UINT64_MAX;
      case 8:
        return Json::array({Anything(depth + 1)});
      default:
        return Json{{"a", Anything(depth + 1)}};
    }
  }

  Json For(const Json& schema, int depth) {
    if (!schema.is_object() || depth > 6 || OneIn(20)) return Anything(depth);
    if (schema.contains("const") && !OneIn(5)) return schema["const"];
    if (schema.contains("enum") && schema["enum"].is_array() && !schema["enum"].empty() &&
        !OneIn(5)) {
      return schema["enum"][Below(schema["enum"].size())];
    }
    if (schema.contains("$ref") && schema["$ref"].is_string()) {
      const std::string ref = schema["$ref"];
      if (ref.rfind("#", 0) == 0) {
        const Json::json_pointer pointer(ref.substr(1));
        if (document_.contains(pointer)) return For(document_[pointer], depth + 1);
      }
    }
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      if (schema.contains(key) && schema[key].is_array() && !schema[key].empty() && !OneIn(4)) {
        return For(schema[key][Below(schema[key].size())], depth + 1);
      }
    }
    Json type = schema.value("type", Json());
    if (type.is_array() && !type.empty()) type = type[Below(type.size())];
    if (type.is_null() && schema.contains("properties")) type = "object";
    if (type == "object") return Object(schema, depth);
    if (type == "array") {
      Json out = Json::array();
      for (size_t n = Below(4); n > 0; --n)
        out.push_back(For(schema.value("items", Json(true)), depth + 1));
      return out;
    }
    if (type == "string") return std::string(Below(6), static_cast<char>('a' + Below(3)));
    if (type == "integer")
      return schema.value("minimum", Json(static_cast<int64_t>(Below(20)) - 3));
    if (type == "number")
      return schema.value("maximum", Json(static_cast<double>(Below(40)) / 4 - 2));
    if (type == "boolean") return OneIn(2);
    if (type == "null") return nullptr;
    return Anything(depth);
  }

  Json Object(const Json& schema, int depth) {
    Json out = Json::object();
    const Json required = schema.value("required", Json::array());
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, sub] : properties.items()) {
      const bool needed = std::find(required.begin(), required.end(), Json(name)) != required.end();
      if (needed ? !OneIn(15) : OneIn(2)) out[name] = For(sub, depth + 1);
    }
    if (OneIn(8)) out["x" + std::to_string(Below(3))] = Anything(depth);
    return out;
  }

  const Json& document_;
  std::mt19937 random_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_SCHEMA_INSTANCES_H_
