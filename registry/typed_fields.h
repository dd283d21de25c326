// How C++ types are described to typed tools: the JSON Schema of a type, reading it, writing it.
//
//   enum class Unit { kCelsius, kFahrenheit };
//   inline auto DescribeEnum(Unit) {
//     return EnumNames<Unit>({{"celsius", Unit::kCelsius}, {"fahrenheit", Unit::kFahrenheit}});
//   }
//   struct ForecastArgs {
//     std::string city;
//     int days = 0;
//     std::optional<Unit> unit;
//     static auto Describe() {
//       return Fields(Field("city", &ForecastArgs::city, "Name of the city").MinLength(1),
//                     Field("days", &ForecastArgs::days, "How many
//                     days").Min(1).Max(14).Default(3), Field("unit", &ForecastArgs::unit, "Unit of
//                     the temperatures"));
//     }
//   };
//
// Types: bool, integers (their range is in the schema), float and double, std::string,
// std::optional (may be left out), std::vector, std::map<std::string, T>, std::variant (anyOf; the
// first alternative that fits counts), enums with DescribeEnum, structs with Describe, and any of
// these within each other. A struct takes no other members than those described. Schemas have their
// keys in a fixed order, members as declared: the same types give the same bytes.
#ifndef TOOLRACK_REGISTRY_TYPED_FIELDS_H_
#define TOOLRACK_REGISTRY_TYPED_FIELDS_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "registry/typed_json.h"
#include "registry/typed_values.h"

namespace toolrack {

// One described member.
template <typename S, typename T>
class StructField {
 public:
  using Number = typename NumberWithin<T>::type;

  StructField(absl::string_view name, T S::*member, absl::string_view description)
      : name_(name), member_(member) {
    note_.description = std::string(description);
  }
  // The value when it is left out; shown in the schema.
  StructField Default(T value) && {
    JsonType<T>::Encode(value, note_.default_json);
    default_ = std::move(value);
    return std::move(*this);
  }
  // Of a number, or of the numbers within an optional, vector or map. Inclusive.
  StructField Min(Number value) && requires(!std::same_as<Number, NoNumber>) {
    rules_.min = value;
    return std::move(*this);
  }
  StructField Max(Number value) && requires(!std::same_as<Number, NoNumber>) {
    rules_.max = value;
    return std::move(*this);
  }
  // Characters of a string.
  StructField MinLength(uint64_t value) && {
    rules_.min_length = value;
    return std::move(*this);
  }
  StructField MaxLength(uint64_t value) && {
    rules_.max_length = value;
    return std::move(*this);
  }
  // Elements of a vector.
  StructField MinItems(uint64_t value) && {
    rules_.min_items = value;
    return std::move(*this);
  }
  StructField MaxItems(uint64_t value) && {
    rules_.max_items = value;
    return std::move(*this);
  }

  const std::string& name() const { return name_; }
  bool required() const { return !kOptional && !default_.has_value(); }
  void Schema(int depth, std::string& out) const {
    SchemaNote note = note_;
    note.depth = depth;
    JsonType<T>::Schema(rules_, note, out);
  }
  Decoded Decode(const std::optional<JsonView>& value, S& out) const {
    if (value.has_value()) return Under(name_, JsonType<T>::Decode(*value, rules_, out.*member_));
    if (default_.has_value()) {
      out.*member_ = *default_;
    } else if constexpr (!kOptional) {
      return Under(name_, Misfit("it is missing"));
    }
    return nullptr;
  }
  // Leaves out what is not there.
  void Encode(const S& value, std::string& out) const {
    if constexpr (kOptional) {
      if (!(value.*member_).has_value()) return;
    }
    AppendKey(name_, out);
    JsonType<T>::Encode(value.*member_, out);
  }

 private:
  template <typename U>
  struct IsOptional : std::false_type {};
  template <typename U>
  struct IsOptional<std::optional<U>> : std::true_type {};
  static constexpr bool kOptional = IsOptional<T>::value;

  std::string name_;
  T S::*member_;
  SchemaNote note_;
  RulesFor<T> rules_;
  std::optional<T> default_;
};

template <typename S, typename T>
StructField<S, T> Field(absl::string_view name, T S::*member, absl::string_view description) {
  return StructField<S, T>(name, member, description);
}
template <typename... F>
std::tuple<F...> Fields(F... fields) {
  return std::tuple<F...>(std::move(fields)...);
}

// A type that contains itself has no finite schema of its own: written so that registration refuses
// it by name.
void AppendEndlessSchema(std::string& out);

template <DescribedStruct S>
struct JsonType<S> {
  static void Schema(const RulesFor<S>&, const SchemaNote& note, std::string& out) {
    if (note.depth > kMaxSchemaDepth) return AppendEndlessSchema(out);
    OpenSchema("object", note, out);
    AppendKey("properties", out);
    out.push_back('{');
    std::string required;
    ForEach([&](const auto& field) {
      AppendKey(field.name(), out);
      field.Schema(note.depth + 1, out);
      if (!field.required()) return;
      if (!required.empty()) required.push_back(',');
      AppendJson(absl::string_view(field.name()), required);
    });
    out.push_back('}');
    if (!required.empty()) {
      AppendKey("required", out);
      absl::StrAppend(&out, "[", required, "]");
    }
    AppendKey("additionalProperties", out);
    out.append("false");
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<S>&, S& out) {
    if (value.kind() != JsonView::Kind::kObject) return Unexpected("an object", value);
    Decoded fault;
    size_t known = 0;
    ForEach([&](const auto& field) {
      if (fault != nullptr) return;
      const std::optional<JsonView> member = value.Find(field.name());
      if (member.has_value()) ++known;
      fault = field.Decode(member, out);
    });
    if (fault == nullptr && known != value.size()) fault = Unknown(value);
    return fault;
  }
  static void Encode(const S& value, std::string& out) {
    out.push_back('{');
    ForEach([&](const auto& field) { field.Encode(value, out); });
    out.push_back('}');
  }

 private:
  static const auto& All() {
    static const auto* fields = new auto(S::Describe());
    return *fields;
  }
  template <typename V>
  static void ForEach(V visit) {
    std::apply([&](const auto&... field) { (visit(field), ...); }, All());
  }
  static Decoded Unknown(JsonView value) {
    Decoded fault;
    value.ForEachMember([&](absl::string_view key, JsonView) {
      bool found = false;
      ForEach([&](const auto& field) { found |= field.name() == key; });
      if (!found) fault = Under(key, Misfit("there is no such member"));
      return found;
    });
    return fault;
  }
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TYPED_FIELDS_H_
