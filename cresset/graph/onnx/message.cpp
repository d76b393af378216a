#include "cresset/graph/onnx/message.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cresset/base/error.h"
#include "cresset/io/protobuf.h"

namespace cresset::graph::onnx {

namespace {

namespace protobuf = ::cresset::io::protobuf;

constexpr int kDeepest = 100;

constexpr const char* kAttributeTypes[] = {"UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",      "INTS",
                                           "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS", nullptr};
constexpr const char* kLocations[] = {"DEFAULT", "EXTERNAL", nullptr};

// The tables refer to each other.
struct Tables {
  using K = FieldKind;
  static FieldInfo one(int n, const char* name, K kind) { return {n, name, kind}; }
  static FieldInfo one(int n, const char* name, const MessageInfo& m) { return {n, name, K::Message, false, false, &m}; }
  static FieldInfo many(int n, const char* name, K kind, bool packed = false) { return {n, name, kind, true, packed}; }
  static FieldInfo many(int n, const char* name, const MessageInfo& m) { return {n, name, K::Message, true, false, &m}; }
  static FieldInfo word(int n, const char* name, const char* const* words) { return {n, name, K::Integer, false, false, nullptr, words}; }

  MessageInfo entry{"StringStringEntryProto", {one(1, "key", K::Text), one(2, "value", K::Text)}};
  MessageInfo opset{"OperatorSetIdProto", {one(1, "domain", K::Text), one(2, "version", K::Integer)}};
  MessageInfo segment{"Segment", {one(1, "begin", K::Integer), one(2, "end", K::Integer)}};
  MessageInfo dimension{"Dimension", {one(1, "dim_value", K::Integer), one(2, "dim_param", K::Text), one(3, "denotation", K::Text)}};
  MessageInfo shape{"TensorShapeProto", {many(1, "dim", dimension)}};
  MessageInfo tensor_type{"Tensor", {one(1, "elem_type", K::Integer), one(2, "shape", shape)}};
  MessageInfo sequence_type{"Sequence", {one(1, "elem_type", type)}};
  MessageInfo optional_type{"Optional", {one(1, "elem_type", type)}};
  MessageInfo map_type{"Map", {one(1, "key_type", K::Integer), one(2, "value_type", type)}};
  MessageInfo type{"TypeProto",
                   {one(1, "tensor_type", tensor_type), one(4, "sequence_type", sequence_type), one(5, "map_type", map_type), one(6, "denotation", K::Text),
                    one(8, "sparse_tensor_type", tensor_type), one(9, "optional_type", optional_type)}};
  MessageInfo value{"ValueInfoProto", {one(1, "name", K::Text), one(2, "type", type), one(3, "doc_string", K::Text), many(4, "metadata_props", entry)}};
  MessageInfo tensor{
      "TensorProto",
      {many(1, "dims", K::Integer), one(2, "data_type", K::Integer), one(3, "segment", segment), many(4, "float_data", K::Single, true),
       many(5, "int32_data", K::Integer, true), many(6, "string_data", K::Bytes), many(7, "int64_data", K::Integer, true), one(8, "name", K::Text),
       one(9, "raw_data", K::Bytes), many(10, "double_data", K::Double, true), many(11, "uint64_data", K::Integer, true), one(12, "doc_string", K::Text),
       many(13, "external_data", entry), word(14, "data_location", kLocations), many(16, "metadata_props", entry)}};
  MessageInfo sparse_tensor{"SparseTensorProto", {one(1, "values", tensor), one(2, "indices", tensor), many(3, "dims", K::Integer)}};
  MessageInfo attribute{
      "AttributeProto",
      {one(1, "name", K::Text), one(2, "f", K::Single), one(3, "i", K::Integer), one(4, "s", K::Bytes), one(5, "t", tensor), one(6, "g", graph),
       many(7, "floats", K::Single), many(8, "ints", K::Integer), many(9, "strings", K::Bytes), many(10, "tensors", tensor), many(11, "graphs", graph),
       one(13, "doc_string", K::Text), one(14, "tp", type), many(15, "type_protos", type), word(20, "type", kAttributeTypes), one(21, "ref_attr_name", K::Text),
       one(22, "sparse_tensor", sparse_tensor), many(23, "sparse_tensors", sparse_tensor)}};
  MessageInfo node{"NodeProto",
                   {many(1, "input", K::Text), many(2, "output", K::Text), one(3, "name", K::Text), one(4, "op_type", K::Text), many(5, "attribute", attribute),
                    one(6, "doc_string", K::Text), one(7, "domain", K::Text), one(8, "overload", K::Text), many(9, "metadata_props", entry)}};
  MessageInfo annotation{"TensorAnnotation", {one(1, "tensor_name", K::Text), many(2, "quant_parameter_tensor_names", entry)}};
  MessageInfo graph{"GraphProto",
                    {many(1, "node", node), one(2, "name", K::Text), many(5, "initializer", tensor), one(10, "doc_string", K::Text), many(11, "input", value),
                     many(12, "output", value), many(13, "value_info", value), many(14, "quantization_annotation", annotation),
                     many(15, "sparse_initializer", sparse_tensor), many(16, "metadata_props", entry)}};
  MessageInfo training{
      "TrainingInfoProto",
      {one(1, "initialization", graph), one(2, "algorithm", graph), many(3, "initialization_binding", entry), many(4, "update_binding", entry)}};
  MessageInfo function{"FunctionProto",
                       {one(1, "name", K::Text), many(4, "input", K::Text), many(5, "output", K::Text), many(6, "attribute", K::Text), many(7, "node", node),
                        one(8, "doc_string", K::Text), many(9, "opset_import", opset), one(10, "domain", K::Text), many(11, "attribute_proto", attribute),
                        many(12, "value_info", value), one(13, "overload", K::Text), many(14, "metadata_props", entry)}};
  MessageInfo model{"ModelProto",
                    {one(1, "ir_version", K::Integer), one(2, "producer_name", K::Text), one(3, "producer_version", K::Text), one(4, "domain", K::Text),
                     one(5, "model_version", K::Integer), one(6, "doc_string", K::Text), one(7, "graph", graph), many(8, "opset_import", opset),
                     many(14, "metadata_props", entry), many(20, "training_info", training), many(25, "functions", function)}};
};

protobuf::WireType wire_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::Integer: return protobuf::kVarint;
    case FieldKind::Single: return protobuf::kFourBytes;
    case FieldKind::Double: return protobuf::kEightBytes;
    default: return protobuf::kLengthDelimited;
  }
}
size_t varint_size(uint64_t value) {
  size_t n = 1;
  for (; value > 0x7F; value >>= 7) n++;
  return n;
}
size_t number_size(const Message::Value& v) {
  if (const auto* i = std::get_if<int64_t>(&v)) return varint_size(static_cast<uint64_t>(*i));
  return std::holds_alternative<float>(v) ? 4 : 8;
}
void write_number(std::string& out, const Message::Value& v) {
  if (const auto* i = std::get_if<int64_t>(&v)) protobuf::varint(out, static_cast<uint64_t>(*i));
  else if (const auto* f = std::get_if<float>(&v)) protobuf::raw(out, *f);
  else protobuf::raw(out, std::get<double>(v));
}
size_t alternative_of(FieldKind kind) {
  return kind == FieldKind::Bytes ? alternative_of(FieldKind::Text) : kind == FieldKind::Message ? 4 : static_cast<size_t>(kind);
}

// With the fewest digits that read back.
template <class T> std::string shortest(T value, T (*read)(const char*, char**)) {
  if (value != value) return "nan";
  char text[40];
  for (int digits = sizeof(T) == 4 ? 6 : 15; digits <= 17; digits++) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (read(text, nullptr) == value) break;
  }
  return text;
}
std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    const auto found = std::string_view("\n\r\t\"'\\").find(c);
    const auto byte = static_cast<unsigned char>(c);
    if (found != std::string_view::npos) {
      out += {'\\', "nrt\"'\\"[found]};
    } else if (byte < 0x20 || byte >= 0x7F) {
      char text[5];
      std::snprintf(text, sizeof text, "\\%03o", byte);
      out += text;
    } else {
      out += c;
    }
  }
  return out;
}

// The bytes of a message, field by field.
class Reader {
 public:
  Reader(std::string_view bytes, size_t start) : bytes_(bytes), start_(start) {}

  template <class... Parts> [[noreturn]] void fail(const Parts&... parts) const { throw ValueError(str("ONNX: byte ", start_ + at_, ": ", parts...)); }
  bool is_done() const { return at_ == bytes_.size(); }
  size_t place() const { return start_ + at_; }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (is_done()) fail("the file ends within a number");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number is longer than 64 bits");
  }
  template <class T> T raw() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view data() {
    const uint64_t n = varint();
    if (n > bytes_.size() - at_) fail("a field of ", n, " bytes is longer than what is left, ", bytes_.size() - at_);
    return take(static_cast<size_t>(n));
  }
  void skip(int wire) {
    switch (wire) {
      case protobuf::kVarint: varint(); return;
      case protobuf::kEightBytes: take(8); return;
      case protobuf::kLengthDelimited: data(); return;
      case protobuf::kFourBytes: take(4); return;
      default: fail("expected a field, got one of the unknown wire type ", wire);
    }
  }

 private:
  std::string_view take(size_t n) {
    if (n > bytes_.size() - at_) fail("the file ends within a field");
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }

  std::string_view bytes_;
  size_t start_, at_ = 0;
};

Message::Value read_number(Reader& in, FieldKind kind) {
  switch (kind) {
    case FieldKind::Integer: return static_cast<int64_t>(in.varint());
    case FieldKind::Single: return in.raw<float>();
    default: return in.raw<double>();
  }
}

Message read(const MessageInfo& info, std::string_view bytes, size_t start, int depth) {
  Reader in(bytes, start);
  if (depth > kDeepest) in.fail("messages nest deeper than ", kDeepest);
  Message out(info);
  while (!in.is_done()) {
    const uint64_t key = in.varint();
    const int wire = static_cast<int>(key & 7);
    if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) in.fail("expected the number of a field, got ", key >> 3);
    const auto field = std::find_if(info.fields.begin(), info.fields.end(), [&](const FieldInfo& f) { return static_cast<uint64_t>(f.number) == key >> 3; });
    if (field == info.fields.end()) {
      in.skip(wire);
      continue;
    }
    const protobuf::WireType expected = wire_of(field->kind);
    if (wire == protobuf::kLengthDelimited && expected != wire && field->is_repeated) {
      const std::string_view packed = in.data();
      Reader numbers(packed, in.place() - packed.size());
      while (!numbers.is_done()) out.set(field->name, read_number(numbers, field->kind));
      continue;
    }
    if (wire != expected) in.fail("the field '", field->name, "' of ", info.name, " has the wire type ", wire, ", expected ", static_cast<int>(expected));
    if (expected != protobuf::kLengthDelimited) {
      out.set(field->name, read_number(in, field->kind));
      continue;
    }
    const std::string_view data = in.data();
    if (field->kind != FieldKind::Message) out.set(field->name, std::string(data));
    else out.set(field->name, std::make_shared<Message>(read(*field->message, data, in.place() - data.size(), depth + 1)));
  }
  return out;
}

}  // namespace

const MessageInfo& model_info() {
  static const Tables tables;
  return tables.model;
}

Message read_message(const MessageInfo& info, std::string_view bytes) { return read(info, bytes, 0, 0); }

const FieldInfo& Message::find(std::string_view field) const {
  for (const FieldInfo& f : info_->fields)
    if (field == f.name) return f;
  CRESSET_CHECK_VALUE(false, "ONNX: ", info_->name, " has no field '", std::string(field), "'");
}
void Message::set(std::string_view field, Value value) {
  const FieldInfo& f = find(field);
  CRESSET_CHECK_VALUE(value.index() == alternative_of(f.kind), "ONNX: the field '", f.name, "' of ", info_->name, " takes values of another kind");
  std::vector<Value>& values = fields_[f.number];
  if (!f.is_repeated) values.clear();
  values.push_back(std::move(value));
}
Message& Message::child(std::string_view field) {
  const FieldInfo& f = find(field);
  CRESSET_CHECK_VALUE(f.kind == FieldKind::Message, "ONNX: the field '", f.name, "' of ", info_->name, " is no message");
  std::vector<Value>& values = fields_[f.number];
  if (f.is_repeated || values.empty()) values.emplace_back(std::make_shared<Message>(*f.message));
  return *std::get<std::shared_ptr<Message>>(values.back());
}
const std::vector<Message::Value>& Message::values(std::string_view field) const {
  static const std::vector<Value> none;
  const auto found = fields_.find(find(field).number);
  return found == fields_.end() ? none : found->second;
}
int64_t Message::integer(std::string_view field) const {
  const auto& v = values(field);
  return v.empty() ? 0 : std::get<int64_t>(v.back());
}
const std::string& Message::text(std::string_view field) const {
  static const std::string none;
  const auto& v = values(field);
  return v.empty() ? none : std::get<std::string>(v.back());
}
const Message* Message::message(std::string_view field) const {
  const auto& v = values(field);
  return v.empty() ? nullptr : std::get<std::shared_ptr<Message>>(v.back()).get();
}
std::vector<const Message*> Message::messages(std::string_view field) const {
  std::vector<const Message*> out;
  for (const Value& v : values(field)) out.push_back(std::get<std::shared_ptr<Message>>(v).get());
  return out;
}

size_t Message::size() const {
  size_ = 0;
  for (const auto& [number, values] : fields_) {
    const FieldInfo& f = *std::find_if(info_->fields.begin(), info_->fields.end(), [n = number](const FieldInfo& field) { return field.number == n; });
    const size_t key = varint_size(static_cast<uint64_t>(number) << 3);
    size_t packed = 0;
    for (const Value& v : values) {
      size_t n = 0;
      if (const auto* m = std::get_if<std::shared_ptr<Message>>(&v)) n = (*m)->size();
      else if (const auto* s = std::get_if<std::string>(&v)) n = s->size();
      if (wire_of(f.kind) == protobuf::kLengthDelimited) size_ += key + varint_size(n) + n;
      else if (f.is_packed) packed += number_size(v);
      else size_ += key + number_size(v);
    }
    if (f.is_packed) size_ += key + varint_size(packed) + packed;
  }
  return size_;
}
void Message::write(std::string& out) const {
  for (const auto& [number, values] : fields_) {
    const FieldInfo& f = *std::find_if(info_->fields.begin(), info_->fields.end(), [n = number](const FieldInfo& field) { return field.number == n; });
    if (f.is_packed) {
      size_t n = 0;
      for (const Value& v : values) n += number_size(v);
      protobuf::key(out, number, protobuf::kLengthDelimited);
      protobuf::varint(out, n);
      for (const Value& v : values) write_number(out, v);
      continue;
    }
    for (const Value& v : values) {
      protobuf::key(out, number, wire_of(f.kind));
      if (const auto* m = std::get_if<std::shared_ptr<Message>>(&v)) {
        protobuf::varint(out, (*m)->size_);
        (*m)->write(out);
      } else if (const auto* s = std::get_if<std::string>(&v)) {
        protobuf::varint(out, s->size());
        out += *s;
      } else {
        write_number(out, v);
      }
    }
  }
}
std::string Message::bytes() const {
  std::string out;
  out.reserve(size());
  write(out);
  return out;
}

void Message::print(std::string& out, const std::string& indent) const {
  for (const FieldInfo& f : info_->fields) {
    const auto found = fields_.find(f.number);
    if (found == fields_.end()) continue;
    for (const Value& v : found->second) {
      out += indent + f.name;
      if (const auto* m = std::get_if<std::shared_ptr<Message>>(&v)) {
        out += " {\n";
        (*m)->print(out, indent + "  ");
        out += indent + "}\n";
        continue;
      }
      out += ": ";
      if (const auto* s = std::get_if<std::string>(&v)) out += "\"" + escaped(*s) + "\"";
      else if (const auto* x = std::get_if<float>(&v)) out += shortest<float>(*x, std::strtof);
      else if (const auto* d = std::get_if<double>(&v)) out += shortest<double>(*d, std::strtod);
      else {
        const int64_t i = std::get<int64_t>(v);
        int64_t count = 0;
        while (f.words && f.words[count]) count++;
        out += i >= 0 && i < count ? f.words[i] : std::to_string(i);
      }
      out += "\n";
    }
  }
}
std::string Message::print() const {
  std::string out;
  print(out, "");
  return out;
}

}  // namespace cresset::graph::onnx
