#include "registry/base/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "registry/base/errors.h"
#include "registry/base/json_reader.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

// Builds the value and stops at the first thing we do not take. Keeps a stack of its own: no
// recursion.
class StrictSax : public nlohmann::json_sax<Json> {
 public:
  StrictSax(const JsonLimits& limits, Json& root) : limits_(limits), root_(root) {}

  bool null() override { return Put(Json(nullptr)); }
  bool boolean(bool value) override { return Put(Json(value)); }
  bool number_integer(number_integer_t value) override { return Put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Put(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return Put(Json(value)); }
  bool string(string_t& value) override { return Put(Json(std::move(value))); }
  bool binary(binary_t&) override { return Fail("unexpected binary value"); }
  bool start_object(std::size_t) override { return Open(Json(Json::value_t::object)); }
  bool start_array(std::size_t) override { return Open(Json(Json::value_t::array)); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& key) override {
    auto& object = stack_.back()->get_ref<Json::object_t&>();
    const auto [at, fresh] = object.emplace(std::move(key), nullptr);
    if (!fresh) return Fail(absl::StrCat("duplicate key ", JsonQuote(ForMessage(at->first, 60))));
    slot_ = &at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    if (!fault_.message.empty()) return false;
    knows_offset_ = true;
    fault_.offset = position > 0 ? position - 1 : 0;
    // nlohmann: "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error
    // while parsing …"
    absl::string_view what = error.what();
    const size_t colon = what.find(": ");
    if (colon != absl::string_view::npos) what.remove_prefix(colon + 2);
    fault_.message = ForMessage(what, 200);
    return false;
  }

  JsonFault TakeFault() { return std::move(fault_); }
  // nlohmann tells the position of its own faults only.
  bool knows_offset() const { return knows_offset_; }

 private:
  bool Fail(std::string message) {
    fault_.message = std::move(message);
    return false;
  }
  bool OverLimit(const char* limit, size_t allowed, size_t actual, std::string message) {
    fault_.limit = limit;
    fault_.allowed = allowed;
    fault_.actual = actual;
    return Fail(std::move(message));
  }

  bool Count() {
    if (++nodes_ <= limits_.max_nodes) return true;
    return OverLimit("max_nodes", limits_.max_nodes, nodes_,
                     absl::StrCat("more than ", limits_.max_nodes, " values"));
  }

  Json* Place(Json&& value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (stack_.back()->is_array()) {
      auto& array = stack_.back()->get_ref<Json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    *slot_ = std::move(value);
    return slot_;
  }

  bool Put(Json&& value) {
    if (!Count()) return false;
    Place(std::move(value));
    return true;
  }

  bool Open(Json&& value) {
    if (!Count()) return false;
    if (stack_.size() >= limits_.max_depth) {
      return OverLimit("max_depth", limits_.max_depth, stack_.size() + 1,
                       absl::StrCat("nested deeper than ", limits_.max_depth, " levels"));
    }
    stack_.push_back(Place(std::move(value)));
    return true;
  }

  bool Close() {
    stack_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  Json& root_;
  std::vector<Json*>
      stack_;  // addresses are stable: a container is not touched while one of its children is open
  Json* slot_ = nullptr;
  size_t nodes_ = 0;
  bool knows_offset_ = false;
  JsonFault fault_;
};

// Reads a text and tells how far it got.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// Where reading a faulty text stopped: a second reading, as the position costs time on every byte.
size_t StoppedAt(absl::string_view text, const JsonLimits& limits) {
  const char* reached = text.data();
  Json value;
  StrictSax sax(limits, value);
  Json::sax_parse(CountingIterator(text.data(), &reached),
                  CountingIterator(text.data() + text.size(), &reached), &sax);
  return static_cast<size_t>(reached - text.data());
}

absl::Status AppendValue(const google::protobuf::Value& value, size_t depth, std::string& out);

absl::Status AppendStruct(const google::protobuf::Struct& value, size_t depth, std::string& out) {
  if (depth == 0) return absl::InvalidArgumentError("nested too deeply");
  std::vector<const std::string*> keys;
  keys.reserve(value.fields_size());
  for (const auto& field : value.fields()) keys.push_back(&field.first);
  std::sort(keys.begin(), keys.end(),
            [](const std::string* a, const std::string* b) { return *a < *b; });
  out.push_back('{');
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out.push_back(',');
    absl::StrAppend(&out, JsonQuote(*keys[i]), ":");
    absl::Status status = AppendValue(value.fields().at(*keys[i]), depth - 1, out);
    if (!status.ok()) return status;
  }
  out.push_back('}');
  return absl::OkStatus();
}

absl::Status AppendValue(const google::protobuf::Value& value, size_t depth, std::string& out) {
  using google::protobuf::Value;
  switch (value.kind_case()) {
    case Value::kNullValue:
    case Value::KIND_NOT_SET:
      out.append("null");
      return absl::OkStatus();
    case Value::kBoolValue:
      out.append(value.bool_value() ? "true" : "false");
      return absl::OkStatus();
    case Value::kStringValue:
      out.append(JsonQuote(value.string_value()));
      return absl::OkStatus();
    case Value::kNumberValue: {
      const double number = value.number_value();
      if (!std::isfinite(number)) return absl::InvalidArgumentError("a number is not finite");
      if (number == std::trunc(number) && std::abs(number) <= 9007199254740992.0) {
        absl::StrAppend(&out, static_cast<int64_t>(number));
      } else {
        out.append(Json(number).dump());  // the shortest text that reads back as the same double
      }
      return absl::OkStatus();
    }
    case Value::kStructValue:
      return AppendStruct(value.struct_value(), depth, out);
    case Value::kListValue: {
      if (depth == 0) return absl::InvalidArgumentError("nested too deeply");
      out.push_back('[');
      for (int i = 0; i < value.list_value().values_size(); ++i) {
        if (i > 0) out.push_back(',');
        absl::Status status = AppendValue(value.list_value().values(i), depth - 1, out);
        if (!status.ok()) return status;
      }
      out.push_back(']');
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError("unknown kind of value");
}

}  // namespace

std::variant<std::monostate, JsonFault> ParseJson(absl::string_view text, const JsonLimits& limits,
                                                  Json& out) {
  if (text.size() > limits.max_bytes) {
    return JsonFault{limits.max_bytes, absl::StrCat("longer than ", limits.max_bytes, " bytes"),
                     "max_bytes", limits.max_bytes, text.size()};
  }
  // nlohmann skips a byte order mark; JSON has none.
  if (text.substr(0, 3) == "\xEF\xBB\xBF")
    return JsonFault{0, "starts with a byte order mark", "", 0, 0};
  Json value;
  if (ReadGoodJson(text, limits, value)) {
    out = std::move(value);
    return std::monostate();
  }
  // The slow way says what is wrong, and where. nlohmann takes a NUL for the end of the text.
  const size_t nul = text.find('\0');
  if (nul != absl::string_view::npos) return JsonFault{nul, "holds a NUL byte", "", 0, 0};
  value = nullptr;
  StrictSax sax(limits, value);
  if (Json::sax_parse(text.begin(), text.end(), &sax)) {
    out = std::move(value);
    return std::monostate();
  }
  JsonFault fault = sax.TakeFault();
  if (fault.message.empty()) fault.message = "not JSON";
  if (!sax.knows_offset()) fault.offset = StoppedAt(text, limits);
  return fault;
}

absl::StatusOr<Json> ParseJsonOrStatus(absl::string_view text, const JsonLimits& limits) {
  Json value;
  auto outcome = ParseJson(text, limits, value);
  if (const auto* fault = std::get_if<JsonFault>(&outcome)) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", fault->offset, ": ", fault->message));
  }
  return value;
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonQuote(absl::string_view text) {
  std::string clean;
  if (!IsUtf8(text)) {
    clean = ReplaceInvalidUtf8(text);
    text = clean;
  }
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"':
        out.append("\\\"");
        break;
      case '\\':
        out.append("\\\\");
        break;
      case '\n':
        out.append("\\n");
        break;
      case '\r':
        out.append("\\r");
        break;
      case '\t':
        out.append("\\t");
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out.append(absl::StrFormat("\\u%04x", static_cast<unsigned char>(c)));
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
  return out;
}

absl::StatusOr<std::string> StructToJson(const google::protobuf::Struct& value, size_t max_depth) {
  std::string out;
  absl::Status status = AppendStruct(value, max_depth, out);
  if (!status.ok()) return status;
  return out;
}

}  // namespace toolrack
