// How single C++ values look as JSON in typed tools: their schema, reading them, writing them.
// Structs and their fields are in registry/typed_fields.h, which says what may be used.
#ifndef TOOLRACK_REGISTRY_TYPED_VALUES_H_
#define TOOLRACK_REGISTRY_TYPED_VALUES_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "registry/typed_json.h"

namespace toolrack {

template <typename T>
concept DescribedStruct = std::is_class_v<T> && requires {
  T::Describe();
};
template <typename E>
concept DescribedEnum = std::is_enum_v<E> && requires(E value) {
  DescribeEnum(value);
};
template <typename T>
concept PlainInteger = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                       !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                       !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// The number type within T that Min and Max are about; NoNumber when there is none.
struct NoNumber {};
template <typename T>
struct NumberWithin {
  using type = std::conditional_t<PlainInteger<T> || std::floating_point<T>, T, NoNumber>;
};
template <typename T>
struct NumberWithin<std::optional<T>> : NumberWithin<T> {};
template <typename T>
struct NumberWithin<std::vector<T>> : NumberWithin<T> {};
template <typename T>
struct NumberWithin<std::map<std::string, T>> : NumberWithin<T> {};

// What a field asks of its value beyond the type.
template <typename Number>
struct FieldRules {
  std::optional<Number> min, max;
  std::optional<uint64_t> min_length, max_length;
  std::optional<uint64_t> min_items, max_items;
};
template <typename T>
using RulesFor = FieldRules<typename NumberWithin<T>::type>;

// What a schema says besides the type.
struct SchemaNote {
  std::string description;
  std::string default_json;
  int depth = 0;  // of structs: guards against types that contain themselves
};
SchemaNote Nested(const SchemaNote& note);
inline constexpr int kMaxSchemaDepth = 24;

// `{"type":"…"` and the description, left open.
void OpenSchema(const char* type, const SchemaNote& note, std::string& out);
// The default, and `}`.
void CloseSchema(const SchemaNote& note, std::string& out);

template <typename T>
inline constexpr bool kNeverTrue = false;

// How T looks as JSON. Specialised for the types above.
template <typename T>
struct JsonType {
  static_assert(kNeverTrue<T>,
                "toolrack: this type cannot be used in a typed tool. Use bool, an integer, double, "
                "std::string, std::optional, std::vector, std::map<std::string, T>, std::variant, "
                "an enum with DescribeEnum(E), or a struct with `static auto Describe()`.");
};

template <>
struct JsonType<bool> {
  static void Schema(const RulesFor<bool>&, const SchemaNote& note, std::string& out) {
    OpenSchema("boolean", note, out);
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<bool>&, bool& out) {
    const std::optional<bool> got = value.AsBool();
    if (!got.has_value()) return Unexpected("a boolean", value);
    out = *got;
    return nullptr;
  }
  static void Encode(bool value, std::string& out) { AppendJson(value, out); }
};

template <PlainInteger T>
struct JsonType<T> {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;

  static T Low(const RulesFor<T>& rules) {
    return rules.min.value_or(std::numeric_limits<T>::min());
  }
  static T High(const RulesFor<T>& rules) {
    return rules.max.value_or(std::numeric_limits<T>::max());
  }
  static void Schema(const RulesFor<T>& rules, const SchemaNote& note, std::string& out) {
    OpenSchema("integer", note, out);
    AppendKey("minimum", out);
    AppendJson(static_cast<Wide>(Low(rules)), out);
    AppendKey("maximum", out);
    AppendJson(static_cast<Wide>(High(rules)), out);
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<T>& rules, T& out) {
    if (value.kind() != JsonView::Kind::kNumber) return Unexpected("an integer", value);
    std::optional<Wide> got;
    if constexpr (std::is_signed_v<T>) {
      got = value.AsInt64();
    } else {
      got = value.AsUint64();
    }
    if (!got.has_value() || *got < Low(rules) || *got > High(rules)) {
      std::string range("expected an integer from ");
      AppendJson(static_cast<Wide>(Low(rules)), range);
      range.append(" to ");
      AppendJson(static_cast<Wide>(High(rules)), range);
      return Misfit(std::move(range));
    }
    out = static_cast<T>(*got);
    return nullptr;
  }
  static void Encode(T value, std::string& out) { AppendJson(static_cast<Wide>(value), out); }
};

template <std::floating_point T>
struct JsonType<T> {
  static void Schema(const RulesFor<T>& rules, const SchemaNote& note, std::string& out) {
    OpenSchema("number", note, out);
    if (rules.min.has_value()) {
      AppendKey("minimum", out);
      AppendJson(static_cast<double>(*rules.min), out);
    }
    if (rules.max.has_value()) {
      AppendKey("maximum", out);
      AppendJson(static_cast<double>(*rules.max), out);
    }
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<T>& rules, T& out) {
    const std::optional<double> got = value.AsDouble();
    if (!got.has_value()) return Unexpected("a number", value);
    if (rules.min.has_value() && *got < *rules.min) {
      return Misfit(absl::StrCat("expected at least ", *rules.min));
    }
    if (rules.max.has_value() && *got > *rules.max) {
      return Misfit(absl::StrCat("expected at most ", *rules.max));
    }
    out = static_cast<T>(*got);
    return nullptr;
  }
  static void Encode(T value, std::string& out) { AppendJson(static_cast<double>(value), out); }
};

template <>
struct JsonType<std::string> {
  static void Schema(const RulesFor<std::string>& rules, const SchemaNote& note, std::string& out);
  static Decoded Decode(JsonView value, const RulesFor<std::string>& rules, std::string& out);
  static void Encode(const std::string& value, std::string& out) {
    AppendJson(absl::string_view(value), out);
  }
};

// null, e.g. as an alternative of a variant.
template <>
struct JsonType<std::monostate> {
  static void Schema(const RulesFor<std::monostate>&, const SchemaNote& note, std::string& out) {
    OpenSchema("null", note, out);
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<std::monostate>&, std::monostate&) {
    return value.kind() == JsonView::Kind::kNull ? nullptr : Unexpected("null", value);
  }
  static void Encode(std::monostate, std::string& out) { out.append("null"); }
};

// In a field: may be left out. Elsewhere: null when there is none.
template <typename T>
struct JsonType<std::optional<T>> {
  static void Schema(const RulesFor<T>& rules, const SchemaNote& note, std::string& out) {
    JsonType<T>::Schema(rules, note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<T>& rules, std::optional<T>& out) {
    return JsonType<T>::Decode(value, rules, out.emplace());
  }
  static void Encode(const std::optional<T>& value, std::string& out) {
    if (value.has_value()) {
      JsonType<T>::Encode(*value, out);
    } else {
      out.append("null");
    }
  }
};

void AppendItemRules(const std::optional<uint64_t>& min, const std::optional<uint64_t>& max,
                     std::string& out);
Decoded CheckItems(size_t size, const std::optional<uint64_t>& min,
                   const std::optional<uint64_t>& max);

template <typename T>
struct JsonType<std::vector<T>> {
  static void Schema(const RulesFor<T>& rules, const SchemaNote& note, std::string& out) {
    OpenSchema("array", note, out);
    AppendKey("items", out);
    JsonType<T>::Schema(Inner(rules), Nested(note), out);
    AppendItemRules(rules.min_items, rules.max_items, out);
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<T>& rules, std::vector<T>& out) {
    if (value.kind() != JsonView::Kind::kArray) return Unexpected("an array", value);
    Decoded fault = CheckItems(value.size(), rules.min_items, rules.max_items);
    if (fault != nullptr) return fault;
    out.clear();
    out.reserve(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      T element{};
      fault = Under(i, JsonType<T>::Decode(value.At(i), Inner(rules), element));
      if (fault != nullptr) return fault;
      out.push_back(std::move(element));
    }
    return nullptr;
  }
  static void Encode(const std::vector<T>& value, std::string& out) {
    out.push_back('[');
    bool first = true;
    for (const auto& element : value) {  // auto: vector<bool> gives bool
      if (!first) out.push_back(',');
      first = false;
      JsonType<T>::Encode(element, out);
    }
    out.push_back(']');
  }

 private:
  static RulesFor<T> Inner(RulesFor<T> rules) {
    rules.min_items.reset();
    rules.max_items.reset();
    return rules;
  }
};

template <typename T>
struct JsonType<std::map<std::string, T>> {
  static void Schema(const RulesFor<T>& rules, const SchemaNote& note, std::string& out) {
    OpenSchema("object", note, out);
    AppendKey("additionalProperties", out);
    JsonType<T>::Schema(rules, Nested(note), out);
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<T>& rules, std::map<std::string, T>& out) {
    if (value.kind() != JsonView::Kind::kObject) return Unexpected("an object", value);
    out.clear();
    Decoded fault;
    value.ForEachMember([&](absl::string_view key, JsonView member) {
      fault = Under(key, JsonType<T>::Decode(member, rules, out[std::string(key)]));
      return fault == nullptr;
    });
    return fault;
  }
  static void Encode(const std::map<std::string, T>& value, std::string& out) {
    out.push_back('{');
    for (const auto& [key, member] : value) {
      AppendKey(key, out);
      JsonType<T>::Encode(member, out);
    }
    out.push_back('}');
  }
};

template <typename... T>
struct JsonType<std::variant<T...>> {
  static void Schema(const FieldRules<NoNumber>&, const SchemaNote& note, std::string& out) {
    out.push_back('{');
    if (!note.description.empty()) {
      AppendKey("description", out);
      AppendJson(absl::string_view(note.description), out);
    }
    AppendKey("anyOf", out);
    out.push_back('[');
    (Alternative<T>(note, out), ...);
    out.push_back(']');
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const FieldRules<NoNumber>&, std::variant<T...>& out) {
    std::string faults;
    if ((Try<T>(value, out, faults) || ...)) return nullptr;
    return Misfit(absl::StrCat("none of the alternatives fits: ", faults));
  }
  static void Encode(const std::variant<T...>& value, std::string& out) {
    std::visit(
        [&out](const auto& held) { JsonType<std::decay_t<decltype(held)>>::Encode(held, out); },
        value);
  }

 private:
  template <typename U>
  static void Alternative(const SchemaNote& note, std::string& out) {
    if (out.back() != '[') out.push_back(',');
    JsonType<U>::Schema(RulesFor<U>(), Nested(note), out);
  }
  template <typename U>
  static bool Try(JsonView value, std::variant<T...>& out, std::string& faults) {
    U held{};
    Decoded fault = JsonType<U>::Decode(value, RulesFor<U>(), held);
    if (fault != nullptr) {
      absl::StrAppend(&faults, faults.empty() ? "" : "; ", fault->pointer,
                      fault->pointer.empty() ? "" : ": ", fault->message);
      return false;
    }
    out = std::move(held);
    return true;
  }
};

// The names of an enum, for DescribeEnum.
template <typename E>
using EnumNames = std::vector<std::pair<std::string, E>>;

template <DescribedEnum E>
struct JsonType<E> {
  static void Schema(const RulesFor<E>&, const SchemaNote& note, std::string& out) {
    OpenSchema("string", note, out);
    AppendKey("enum", out);
    out.push_back('[');
    for (const auto& [name, value] : Names()) {
      if (out.back() != '[') out.push_back(',');
      AppendJson(absl::string_view(name), out);
    }
    out.push_back(']');
    CloseSchema(note, out);
  }
  static Decoded Decode(JsonView value, const RulesFor<E>&, E& out) {
    const std::optional<absl::string_view> got = value.AsString();
    if (!got.has_value()) return Unexpected("a string", value);
    std::string all;
    for (const auto& [name, each] : Names()) {
      if (*got == name) {
        out = each;
        return nullptr;
      }
      absl::StrAppend(&all, all.empty() ? "" : ", ", name);
    }
    return Misfit(absl::StrCat("expected one of: ", all));
  }
  static void Encode(E value, std::string& out) {
    for (const auto& [name, each] : Names()) {
      if (each == value) return AppendJson(absl::string_view(name), out);
    }
    out.append("null");
  }

 private:
  static const EnumNames<E>& Names() {
    static const auto* names = new EnumNames<E>(DescribeEnum(E()));
    return *names;
  }
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TYPED_VALUES_H_
