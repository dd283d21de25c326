#include "registry/search/fields.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace toolrack {
namespace {

// Reads a schema as a stream of events: a tree of it would cost more than everything else.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(SchemaWords& out) : out_(out) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  bool string(string_t& text) override {
    if (places_.empty()) return true;
    if (in_required_) {
      out_.required.push_back(std::move(text));
    } else if (places_.back() == Place::kEnum) {
      out_.values.push_back(std::move(text));
    } else if (places_.back() == Place::kSchema) {
      if (key_ == "description" || key_ == "title") {
        out_.descriptions.push_back(std::move(text));
      } else if (key_ == "const") {
        out_.values.push_back(std::move(text));
      }
    }
    return true;
  }
  bool key(string_t& name) override {
    if (places_.back() == Place::kProperties) out_.names.push_back(name);
    key_ = std::move(name);
    return true;
  }
  bool start_object(size_t) override {
    places_.push_back(Inner());
    return true;
  }
  bool start_array(size_t) override {
    in_required_ = places_.size() == 1 && In(Place::kSchema) && key_ == "required";
    // Subschemas also stand in lists: `anyOf`, `items`.
    places_.push_back(In(Place::kSchema) && key_ == "enum" ? Place::kEnum
                      : In(Place::kSchema) && IsData()     ? Place::kData
                      : In(Place::kSchema)                 ? Place::kSchemas
                                                           : Place::kData);
    return true;
  }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }

 private:
  // kSchemas and kDefinitions hold schemas, but what they are called there is no parameter.
  enum class Place : uint8_t { kSchema, kSchemas, kProperties, kDefinitions, kEnum, kData };

  bool In(Place place) const { return !places_.empty() && places_.back() == place; }
  bool IsData() const {
    return key_ == "default" || key_ == "examples" || key_ == "example" || key_ == "const" ||
           key_ == "required";
  }
  Place Inner() const {
    if (places_.empty()) return Place::kSchema;
    if (places_.back() != Place::kSchema) {
      return In(Place::kEnum) || In(Place::kData) ? Place::kData : Place::kSchema;
    }
    if (IsData()) return Place::kData;
    if (key_ == "properties") return Place::kProperties;
    const bool named = key_ == "patternProperties" || key_ == "$defs" || key_ == "definitions" ||
                       key_ == "dependentSchemas";
    return named ? Place::kDefinitions : Place::kSchema;
  }
  bool End() {
    places_.pop_back();
    in_required_ = false;
    key_.clear();
    return true;
  }

  SchemaWords& out_;
  std::vector<Place> places_;
  std::string key_;
  bool in_required_ = false;
};

}  // namespace

SchemaWords ReadSchemaWords(absl::string_view schema) {
  SchemaWords out;
  Reader reader(out);
  nlohmann::json::sax_parse(schema.begin(), schema.end(), &reader);
  return out;
}

}  // namespace toolrack
