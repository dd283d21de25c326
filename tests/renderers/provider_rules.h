// What the vendors refuse, written down from their documentation: checks for whole `tools` values.
#ifndef TOOLRACK_TESTS_RENDERERS_PROVIDER_RULES_H_
#define TOOLRACK_TESTS_RENDERERS_PROVIDER_RULES_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "renderers/json_text.h"

namespace toolrack {

inline bool IsProviderName(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
             std::string::npos;
}

// Calls `visit` for every object in schema position.
inline void EachSchema(const JsonText& schema, const std::string& at,
                       const std::function<void(const JsonText&, const std::string&)>& visit) {
  visit(schema, at);
  for (const JsonMember& member : schema.members) {
    const std::string here = at + "/" + member.key;
    if (member.key == "properties" || member.key == "$defs" || member.key == "definitions") {
      for (const JsonMember& sub : member.value.members) {
        EachSchema(sub.value, here + "/" + sub.key, visit);
      }
    } else if (member.key == "anyOf" || member.key == "oneOf" || member.key == "allOf") {
      for (const JsonText& sub : member.value.items) EachSchema(sub, here, visit);
    } else if (member.key == "items" && member.value.is_object()) {
      EachSchema(member.value, here, visit);
    }
  }
}

using Faults = std::vector<std::string>;

inline void CheckRoot(const JsonText& schema, const std::string& name, bool openai,
                      Faults& faults) {
  const auto fault = [&](const std::string& what) { faults.push_back(name + ": " + what); };
  if (!schema.is_object()) return fault("schema is no object");
  if (schema.StringAt("type") != "object") fault("root type");
  for (const char* key : {"oneOf", "anyOf", "allOf"}) {
    if (schema.Find(key) != nullptr) fault(std::string(key) + " at the root");
  }
  const JsonText* properties = schema.Find("properties");
  if (openai && (properties == nullptr || !properties->is_object())) fault("no properties");
  if (openai) {
    for (const char* key : {"enum", "not", "$schema"}) {
      if (schema.Find(key) != nullptr) fault(std::string(key) + " at the root");
    }
  }
  EachSchema(schema, "", [&](const JsonText& sub, const std::string& at) {
    if (!sub.is_object() && sub.kind != JsonText::Kind::kBool) fault("no schema at " + at);
    const JsonText* inner = sub.Find("properties");
    if (inner != nullptr && !inner->is_object()) fault("properties is no object at " + at);
    const JsonText* items = sub.Find("items");
    if (openai && sub.StringAt("type") == "array" && (items == nullptr || !items->is_object())) {
      fault("array without items at " + at);
    }
  });
  if (!openai && properties != nullptr) {
    for (const JsonMember& member : properties->members) {
      if (member.key.empty() || member.key.size() > 64 ||
          member.key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_.-") != std::string::npos) {
        fault("property name " + member.key);
      }
    }
  }
}

// Messages API.
inline Faults AnthropicFaults(const JsonText& tools) {
  Faults faults;
  std::set<std::string> names;
  bool all_deferred = !tools.items.empty();
  for (const JsonText& tool : tools.items) {
    const std::string name(tool.StringAt("name"));
    if (!IsProviderName(name)) faults.push_back("name " + name);
    if (!names.insert(name).second) faults.push_back("twice: " + name);
    if (tool.Find("input_schema") == nullptr) faults.push_back("no input_schema: " + name);
    const JsonText* deferred = tool.Find("defer_loading");
    if (deferred != nullptr && deferred->is_true()) {
      if (tool.Find("cache_control") != nullptr) faults.push_back("cached and deferred: " + name);
    } else {
      all_deferred = false;
    }
    if (tool.Find("input_schema") != nullptr) {
      CheckRoot(*tool.Find("input_schema"), name, false, faults);
    }
  }
  if (all_deferred) faults.push_back("all deferred");
  return faults;
}

// Functions of Chat Completions (`nested`) and Responses.
inline Faults OpenAiFaults(const JsonText& tools, bool nested) {
  Faults faults;
  std::set<std::string> names;
  std::function<void(const JsonText&)> check = [&](const JsonText& tool) {
    const std::string type(tool.StringAt("type"));
    if (type == "namespace") {
      if (tool.StringAt("description").empty()) faults.push_back("namespace without description");
      for (const JsonText& inner : tool.Find("tools")->items) check(inner);
      return;
    }
    if (type == "tool_search") return;
    if (type != "function") faults.push_back("type " + type);
    const JsonText& function = nested ? *tool.Find("function") : tool;
    const std::string name(function.StringAt("name"));
    if (!IsProviderName(name)) faults.push_back("name " + name);
    if (!names.insert(name).second) faults.push_back("twice: " + name);
    if (function.Find("parameters") == nullptr) return faults.push_back("no parameters: " + name);
    CheckRoot(*function.Find("parameters"), name, true, faults);
  };
  for (const JsonText& tool : tools.items) check(tool);
  return faults;
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_RENDERERS_PROVIDER_RULES_H_
