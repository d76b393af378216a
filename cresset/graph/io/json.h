#pragma once
// JSON whose errors say where in the document something is wrong. Private to the room.

#include <nlohmann/json.hpp>

#include "cresset/base/error.h"

namespace cresset::graph {

// A place in a document: a value and how it is reached.
class Field {
 public:
  using Json = nlohmann::json;

  Field(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  template <class... Parts> [[noreturn]] void fail(const Parts&... parts) const { throw ValueError(str(path_, ": ", parts...)); }
  const std::string& path() const { return path_; }
  const Json& json() const { return *value_; }

  bool has(const char* key) const { return value_->is_object() && value_->contains(key) && !(*value_)[key].is_null(); }
  Field at(const char* key) const {
    if (!value_->is_object()) fail("expected an object with '", key, "', got ", kind());
    const auto found = value_->find(key);
    if (found == value_->end()) fail("expected the field '", key, "'");
    return {*found, path_ + "." + key};
  }
  template <class F> void each(F&& visit) const {
    if (!value_->is_array()) fail("expected a list, got ", kind());
    size_t i = 0;
    for (const Json& v : *value_) visit(Field(v, path_ + "[" + std::to_string(i++) + "]"));
  }
  // visit(key, field).
  template <class F> void each_named(F&& visit) const {
    if (!value_->is_object()) fail("expected an object, got ", kind());
    for (auto at = value_->begin(); at != value_->end(); ++at) visit(at.key(), Field(at.value(), path_ + "." + at.key()));
  }
  // The only field of an object: how the format writes a choice.
  std::pair<std::string, Field> choice() const {
    if (!value_->is_object() || value_->size() != 1) fail("expected an object with one field that says its kind, got ", kind());
    return {value_->begin().key(), Field(value_->begin().value(), path_ + "." + value_->begin().key())};
  }
  std::string text() const {
    if (!value_->is_string()) fail("expected a string, got ", kind());
    return value_->get<std::string>();
  }
  int64_t integer() const {
    if (!value_->is_number_integer() || (value_->is_number_unsigned() && value_->get<uint64_t>() > uint64_t{INT64_MAX}))
      fail("expected a whole number of 64 bits, got ", kind());
    return value_->get<int64_t>();
  }
  bool boolean() const {
    if (!value_->is_boolean()) fail("expected true or false, got ", kind());
    return value_->get<bool>();
  }
  // Infinities and NaN are strings.
  double real() const {
    if (value_->is_number()) return value_->get<double>();
    if (value_->is_string()) {
      const auto& s = value_->get_ref<const std::string&>();
      if (s == "Infinity") return std::numeric_limits<double>::infinity();
      if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
      if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
    }
    fail("expected a number, got ", kind());
  }

 private:
  std::string kind() const { return value_->type_name(); }
  const Json* value_;
  std::string path_;
};

}  // namespace cresset::graph
