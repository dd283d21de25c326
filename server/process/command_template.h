// The argument list of a command tool: texts with `{NAME}` in them.
#ifndef TOOLRACK_SERVER_PROCESS_COMMAND_TEMPLATE_H_
#define TOOLRACK_SERVER_PROCESS_COMMAND_TEMPLATE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

// One text. Immutable.
class ArgumentTemplate {
 public:
  // `{NAME}` is a property, NAME of `[A-Za-z0-9_.-]`; `{{` and `}}` are braces. INVALID_ARGUMENT
  // with what is wrong.
  static absl::StatusOr<ArgumentTemplate> Parse(absl::string_view text);

  // In the order of the text.
  std::vector<std::string> properties() const;
  // It is one `{NAME}` and nothing else.
  bool bare() const { return parts_.size() == 1 && parts_[0].property; }
  // Without any: the text itself.
  bool fixed() const;

  // Adds what it becomes with these arguments, an object: one argument; when it is bare none for a
  // property that is not there, and one for each element of an array. Texts stand as they are,
  // numbers, booleans and null as JSON writes them. INVALID_ARGUMENT for an object, for an array
  // within a text, for a property that is needed and not there, and for NUL.
  absl::Status Append(const nlohmann::json& arguments, std::vector<std::string>& argv) const;

 private:
  struct Part {
    bool property;
    std::string text;
  };
  std::vector<Part> parts_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_COMMAND_TEMPLATE_H_
