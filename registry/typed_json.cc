#include "registry/typed_json.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

// 2^63 and 2^64, which doubles hold exactly.
constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

}  // namespace

JsonView::Kind JsonView::kind() const {
  switch (value_->type()) {
    case Json::value_t::boolean:
      return Kind::kBoolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return Kind::kNumber;
    case Json::value_t::string:
      return Kind::kString;
    case Json::value_t::array:
      return Kind::kArray;
    case Json::value_t::object:
      return Kind::kObject;
    default:
      return Kind::kNull;
  }
}

const char* JsonView::KindName() const {
  switch (kind()) {
    case Kind::kBoolean:
      return "a boolean";
    case Kind::kNumber:
      return value_->is_number_float() ? "a number" : "an integer";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
    case Kind::kNull:
      break;
  }
  return "null";
}

std::optional<bool> JsonView::AsBool() const {
  const bool* value = value_->get_ptr<const bool*>();
  return value == nullptr ? std::nullopt : std::make_optional(*value);
}

std::optional<int64_t> JsonView::AsInt64() const {
  if (value_->is_number_unsigned()) {
    const uint64_t value = value_->get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  if (value_->is_number_integer()) return value_->get<int64_t>();
  if (!value_->is_number_float()) return std::nullopt;
  const double value = value_->get<double>();
  if (!(value >= -kTwo63 && value < kTwo63) || value != std::trunc(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<uint64_t> JsonView::AsUint64() const {
  if (value_->is_number_unsigned()) return value_->get<uint64_t>();
  if (value_->is_number_integer()) {
    const int64_t value = value_->get<int64_t>();
    return value < 0 ? std::nullopt : std::make_optional(static_cast<uint64_t>(value));
  }
  if (!value_->is_number_float()) return std::nullopt;
  const double value = value_->get<double>();
  if (!(value >= 0 && value < kTwo64) || value != std::trunc(value)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

std::optional<double> JsonView::AsDouble() const {
  if (!value_->is_number()) return std::nullopt;
  return value_->get<double>();
}

std::optional<absl::string_view> JsonView::AsString() const {
  const auto* value = value_->get_ptr<const Json::string_t*>();
  return value == nullptr ? std::nullopt : std::make_optional(absl::string_view(*value));
}

size_t JsonView::size() const { return value_->is_structured() ? value_->size() : 0; }

JsonView JsonView::At(size_t index) const {
  return JsonView(&value_->get_ref<const Json::array_t&>()[index]);
}

std::optional<JsonView> JsonView::Find(absl::string_view key) const {
  const auto* object = value_->get_ptr<const Json::object_t*>();
  if (object == nullptr) return std::nullopt;
  const auto at = object->find(std::string(key));
  if (at == object->end()) return std::nullopt;
  return JsonView(&at->second);
}

void JsonView::ForEachMember(absl::FunctionRef<bool(absl::string_view, JsonView)> visit) const {
  const auto* object = value_->get_ptr<const Json::object_t*>();
  if (object == nullptr) return;
  for (const auto& [key, value] : *object) {
    if (!visit(key, JsonView(&value))) return;
  }
}

Decoded Misfit(std::string message) {
  return std::make_unique<DecodeFault>(DecodeFault{"", std::move(message)});
}

Decoded Unexpected(const char* wanted, JsonView got) {
  return Misfit(absl::StrCat("expected ", wanted, ", got ", got.KindName()));
}

Decoded Under(absl::string_view key, Decoded fault) {
  if (fault == nullptr) return fault;
  fault->pointer =
      absl::StrCat("/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}), fault->pointer);
  return fault;
}

Decoded Under(size_t index, Decoded fault) {
  if (fault == nullptr) return fault;
  fault->pointer = absl::StrCat("/", index, fault->pointer);
  return fault;
}

void AppendJson(bool value, std::string& out) { out.append(value ? "true" : "false"); }

void AppendJson(int64_t value, std::string& out) { absl::StrAppend(&out, value); }

void AppendJson(uint64_t value, std::string& out) { absl::StrAppend(&out, value); }

void AppendJson(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out.append("null");
    return;
  }
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out.append(buffer, end.ptr);
}

void AppendJson(absl::string_view value, std::string& out) { out.append(JsonQuote(value)); }

void AppendKey(absl::string_view key, std::string& out) {
  if (!out.empty() && out.back() != '{') out.push_back(',');
  AppendJson(key, out);
  out.push_back(':');
}

size_t CountCharacters(absl::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace toolrack
