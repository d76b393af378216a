#pragma once
// Messages of the ONNX format (onnx.ai, onnx.proto): trees of fields by name, as bytes and as text. The tables of the format stand in message.cpp.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cresset/base/macros.h"

namespace cresset::graph::onnx {

enum class FieldKind : uint8_t { Integer, Single, Double, Text, Bytes, Message };

struct MessageInfo;
struct FieldInfo {
  int number;
  const char* name;
  FieldKind kind;
  bool is_repeated = false, is_packed = false;
  const MessageInfo* message = nullptr;  // of messages within
  const char* const* words = nullptr;    // of numbers that have names, up to a null
};
struct MessageInfo {
  const char* name;  // "NodeProto"
  std::vector<FieldInfo> fields;
};

// A message; fields that are not set differ from those that are zero. Errors of the functions that take names: there is no such field, or it is of another kind.
class CRESSET_API Message {
 public:
  using Value = std::variant<int64_t, float, double, std::string, std::shared_ptr<Message>>;
  explicit Message(const MessageInfo& info) : info_(&info) {}

  const MessageInfo& info() const { return *info_; }
  // The field gets this value, or one more where it is repeated.
  void set(std::string_view field, Value value);
  template <size_t N> void set(std::string_view field, const char (&text)[N]) { set(field, Value(std::string(text))); }
  // The message in the field, or one more where it is repeated.
  Message& child(std::string_view field);

  bool has(std::string_view field) const { return !values(field).empty(); }
  const std::vector<Value>& values(std::string_view field) const;
  // The last value, or what stands for none: 0, an empty text. Errors: as above.
  int64_t integer(std::string_view field) const;
  const std::string& text(std::string_view field) const;
  // Null where it is not set.
  const Message* message(std::string_view field) const;
  std::vector<const Message*> messages(std::string_view field) const;

  // The bytes of a file.
  std::string bytes() const;
  // As tools for protocol buffers print it: "name: \"x\"", two spaces deeper in each message within.
  std::string print() const;

 private:
  const FieldInfo& find(std::string_view field) const;
  size_t size() const;
  void write(std::string& out) const;
  void print(std::string& out, const std::string& indent) const;

  const MessageInfo* info_;
  std::map<int, std::vector<Value>> fields_;
  mutable size_t size_ = 0;  // of the bytes, while they are written
};

CRESSET_API const MessageInfo& model_info();
// Fields that the tables do not have are left out. Errors: ValueError with the byte where the bytes are no message, or messages nest deeper than 100.
CRESSET_API Message read_message(const MessageInfo& info, std::string_view bytes);

}  // namespace cresset::graph::onnx
