// Reading a YAML (or JSON, which it contains) text into v1::Config by its descriptors.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"
#include "registry/name.h"
#include "server/config.h"
#include "server/config_fields.h"

namespace toolrack {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxConfigBytes = 1 << 20;
constexpr size_t kMaxMistakes = 100;

// The structure is as deep as the messages are: what is deeper is a wrong type and not walked.
class Reader {
 public:
  explicit Reader(std::vector<ConfigMistake>& mistakes) : mistakes_(mistakes) {}

  void ReadMessage(const YAML::Node& node, const std::string& path, const std::string& row_path,
                   Message& message) {
    Remember(path, node);
    if (node.IsNull()) return;
    if (!node.IsMap()) {
      Wrong(node, path, absl::StrCat("must be a group of settings; got ", KindOf(node)));
      return;
    }
    std::set<std::string> seen;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) {
        Wrong(item.first, path, "a key must be a plain word");
        continue;
      }
      const std::string& key = item.first.Scalar();
      const std::string here =
          path.empty() ? ForMessage(key, 60) : absl::StrCat(path, ".", ForMessage(key, 60));
      if (!seen.insert(key).second) {
        Wrong(item.first, here, "stands twice; keep one of them");
        continue;
      }
      const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(key);
      if (field == nullptr) {
        Wrong(item.first, here, UnknownKey(*message.GetDescriptor(), key));
        continue;
      }
      ReadField(item.second, here, row_path.empty() ? key : absl::StrCat(row_path, ".", key),
                *field, message);
    }
  }

  // Gives mistakes that were found by path their place in the file.
  void Locate(ConfigMistake& mistake) const {
    std::string path = mistake.path;
    while (true) {
      const auto at = marks_.find(path);
      if (at != marks_.end()) {
        mistake.line = at->second.line + 1;
        mistake.column = at->second.column + 1;
        return;
      }
      const size_t dot = path.find_last_of(".[");
      if (dot == std::string::npos) return;
      path.resize(dot);
    }
  }

 private:
  void Remember(const std::string& path, const YAML::Node& node) {
    if (!node.Mark().is_null()) marks_.emplace(path, node.Mark());
  }

  void Wrong(const YAML::Node& node, const std::string& path, std::string message) {
    const YAML::Mark mark = node.Mark();
    if (mark.is_null()) {
      mistakes_.push_back({0, 0, path, std::move(message)});
    } else {
      mistakes_.push_back({mark.line + 1, mark.column + 1, path, std::move(message)});
    }
  }

  static std::string KindOf(const YAML::Node& node) {
    if (node.IsSequence()) return "a list";
    if (node.IsMap()) return "a group of settings";
    if (node.IsScalar()) return ForMessage(node.Scalar(), 60);
    return "nothing";
  }

  static std::string UnknownKey(const google::protobuf::Descriptor& type, const std::string& key) {
    std::vector<absl::string_view> names;
    for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
    const std::vector<std::string> nearest = NearestNames(key, names, 1);
    if (!nearest.empty()) {
      return absl::StrCat("there is no such setting; did you mean `", nearest[0], "`?");
    }
    std::sort(names.begin(), names.end());
    std::string all;
    for (absl::string_view name : names) absl::StrAppend(&all, all.empty() ? "" : ", ", name);
    return absl::StrCat("there is no such setting; there are ", all);
  }

  void ReadField(const YAML::Node& node, const std::string& path, const std::string& row_path,
                 const FieldDescriptor& field, Message& message) {
    Remember(path, node);
    if (!field.is_repeated()) {
      ReadOne(node, path, row_path, field, message);
      return;
    }
    if (node.IsNull()) return;
    if (!node.IsSequence()) {
      Wrong(node, path, absl::StrCat("must be a list; got ", KindOf(node)));
      return;
    }
    size_t index = 0;
    for (const auto& item : node) {
      ReadOne(item, absl::StrCat(path, "[", index++, "]"), row_path, field, message);
      if (mistakes_.size() > kMaxMistakes) return;
    }
  }

  void ReadOne(const YAML::Node& node, const std::string& path, const std::string& row_path,
               const FieldDescriptor& field, Message& message) {
    Remember(path, node);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field)) {
      const auto* reflection = message.GetReflection();
      Message* child = field.is_repeated() ? reflection->AddMessage(&message, &field)
                                           : reflection->MutableMessage(&message, &field);
      ReadMessage(node, path, row_path, *child);
      return;
    }
    if (!node.IsScalar()) {
      Wrong(node, path, absl::StrCat("must be one value; got ", KindOf(node)));
      return;
    }
    if (!IsUtf8(node.Scalar())) {
      Wrong(node, path, "is not UTF-8");
      return;
    }
    const bool quoted = node.Tag() == "!";
    const std::string wrong = SetConfigValue(message, field, row_path, node.Scalar(), quoted);
    if (!wrong.empty()) Wrong(node, path, wrong);
  }

  std::vector<ConfigMistake>& mistakes_;
  std::map<std::string, YAML::Mark> marks_;
};

}  // namespace

v1::Config ReadConfig(absl::string_view text, std::vector<ConfigMistake>& mistakes) {
  v1::Config config;
  if (text.size() > kMaxConfigBytes) {
    mistakes.push_back({0, 0, "", "the text is larger than 1 MiB"});
    return config;
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      mistakes.push_back({documents[1].Mark().line + 1, 1, "",
                          "there is more than one document (`---`); keep one"});
    }
    if (documents.empty()) return config;
    Reader reader(mistakes);
    reader.ReadMessage(documents[0], "", "", config);
    // What was read is legal by itself here: CheckConfig finds what is wrong between settings.
    for (ConfigMistake& mistake : CheckConfig(config)) {
      reader.Locate(mistake);
      mistakes.push_back(std::move(mistake));
    }
  } catch (const YAML::Exception& error) {
    mistakes.push_back(
        {error.mark.line + 1, error.mark.column + 1, "", ForMessage(error.msg, 200)});
  } catch (const std::exception& error) {
    mistakes.push_back({0, 0, "", ForMessage(error.what(), 200)});
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const ConfigMistake& a, const ConfigMistake& b) {
                     return std::tie(a.line, a.column) < std::tie(b.line, b.column);
                   });
  if (mistakes.size() > kMaxMistakes) {
    mistakes.resize(kMaxMistakes);
    mistakes.push_back({0, 0, "", "and more: mend these first"});
  }
  return config;
}

}  // namespace toolrack
