#pragma once
// JSON whose errors say where in the document something is wrong. Private to the room.

#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cresset/base/error.h"

namespace cresset::graph {

// A place in a document, which outlives it. How it is reached is found out for errors alone: most documents have thousands of places and no error.
class Field {
 public:
  using Json = nlohmann::json;

  Field(const Json& document, std::string name) : value_(&document), document_(std::make_shared<const Document>(Document{&document, std::move(name)})) {}

  template <class... Parts> [[noreturn]] void fail(const Parts&... parts) const { throw ValueError(str(path(), ": ", parts...)); }
  std::string path() const {
    struct Step {
      const Json* value;
      Json::const_iterator next;
      size_t index;
    };
    const auto step = [](const Json& value) { return Step{&value, value.begin(), 0}; };
    std::vector<Step> way{step(*document_->json)};
    while (!way.empty() && way.back().value != value_) {
      Step& last = way.back();
      if (!last.value->is_structured() || last.next == last.value->end()) {
        way.pop_back();
        continue;
      }
      const Json& below = *last.next++;
      last.index++;
      way.push_back(step(below));
    }
    std::string text = document_->name;
    for (size_t i = 0; i + 1 < way.size(); i++)
      text += way[i].value->is_array() ? "[" + std::to_string(way[i].index - 1) + "]" : "." + std::prev(way[i].next).key();
    return text;
  }
  const Json& json() const { return *value_; }

  bool has(const char* key) const {
    if (!value_->is_object()) return false;
    const auto found = value_->find(key);
    return found != value_->end() && !found->is_null();
  }
  Field at(const char* key) const {
    if (!value_->is_object()) fail("expected an object with '", key, "', got ", kind());
    const auto found = value_->find(key);
    if (found == value_->end()) fail("expected the field '", key, "'");
    return {*found, document_};
  }
  template <class F> void each(F&& visit) const {
    if (!value_->is_array()) fail("expected a list, got ", kind());
    for (const Json& v : *value_) visit(Field(v, document_));
  }
  // visit(key, field).
  template <class F> void each_named(F&& visit) const {
    if (!value_->is_object()) fail("expected an object, got ", kind());
    for (auto at = value_->begin(); at != value_->end(); ++at) visit(at.key(), Field(at.value(), document_));
  }
  // The only field of an object: how the format writes a choice.
  std::pair<std::string, Field> choice() const {
    if (!value_->is_object() || value_->size() != 1) fail("expected an object with one field that says its kind, got ", kind());
    return {value_->begin().key(), Field(value_->begin().value(), document_)};
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
  struct Document {
    const Json* json;
    std::string name;
  };
  Field(const Json& value, std::shared_ptr<const Document> document) : value_(&value), document_(std::move(document)) {}

  std::string kind() const { return value_->type_name(); }
  const Json* value_;
  std::shared_ptr<const Document> document_;
};

}  // namespace cresset::graph
