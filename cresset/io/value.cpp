#include "cresset/io/value.h"

#include <algorithm>
#include <optional>

#include "cresset/base/function_ref.h"
#include "cresset/core/memory/storage.h"
#include "cresset/dispatch/values/object.h"
#include "cresset/io/checkpoint.h"

namespace cresset {

using dispatch::DictObject;
using dispatch::ElementKind;
using dispatch::ListObject;
using dispatch::TupleObject;
using dispatch::Value;

namespace {

constexpr int kMaxDepth = 1000;

class ValueWriter {
 public:
  explicit ValueWriter(io::CheckpointWriter& writer) : writer_(writer), p_(writer.pickler()) {}

  void put(const Value& v) {
    CRESSET_CHECK_VALUE(++depth_ <= kMaxDepth, "pickle_save: containers nest deeper than ", kMaxDepth, ", or one contains itself");
    const auto known = seen_.find(identity(v));
    if (known != seen_.end()) p_.recall(known->second);
    else put_fresh(v);
    depth_--;
  }

 private:
  // Of a tensor or container; null for what is written anew each time.
  static const void* identity(const Value& v) {
    if (v.isTensor()) return v.to_tensor().impl();
    return v.object() ? v.object()->get() : nullptr;
  }

  void put_fresh(const Value& v) {
    if (v.is_none() || (v.isTensor() && !v.to_tensor().defined())) return p_.none();
    if (v.isTensor()) writer_.tensor(v.to_tensor());
    else if (v.isTuple()) put_tuple(v.toTupleRef().elements());
    else if (v.isGenericDict()) put_dict(static_cast<const DictObject&>(**v.object()));
    else if (v.isList()) put_list(v);
    else return put_plain(v);
    if (identity(v)) seen_.emplace(identity(v), p_.memoize());
  }

  void put_plain(const Value& v) {
    if (v.isBool()) p_.boolean(v.to_bool());
    else if (v.isComplexDouble()) p_.complex(v.toComplexDouble().real(), v.toComplexDouble().imag());
    else if (v.isDouble()) p_.real(v.to_double());
    else if (v.isInt()) p_.integer(v.to_int());
    else if (v.isString()) p_.text(v.to_string());
    else if (v.is<ScalarType>()) p_.dtype(v.to_dtype());
    else if (v.isDevice()) put_device(v.to_device());
    else throw TypeError(std::string("pickle_save: ") + v.kind() + " cannot be saved; numbers, text, tensors, dtypes, devices and containers of them can");
  }

  void put_device(Device d) {
    p_.global("torch", "device");
    p_.text(d.str());
    p_.op('\x85');
    p_.op('R');
  }

  void put_tuple(const std::vector<Value>& elements) {
    p_.mark();
    for (const Value& e : elements) put(e);
    p_.op('t');
  }

  void put_list(const Value& v) {
    p_.op(']');
    p_.mark();
    for (const Value& e : v.toListVector()) put(e);
    p_.op('e');
  }

  void put_dict(const DictObject& dict) {
    p_.op('}');
    p_.mark();
    for (const auto& entry : dict.entries) {
      put(entry.key);
      put(entry.value);
    }
    p_.op('u');
  }

  io::CheckpointWriter& writer_;
  io::Pickler& p_;
  int depth_ = 0;
  std::unordered_map<const void*, uint32_t> seen_;
};

ElementKind kind_of(const Value& v) {
  if (v.isTensor()) return ElementKind::Tensor;
  if (v.isBool()) return ElementKind::Bool;
  if (v.isInt()) return ElementKind::Int;
  if (v.isDouble()) return ElementKind::Double;
  if (v.isComplexDouble()) return ElementKind::Complex;
  return v.isString() ? ElementKind::String : ElementKind::Any;
}

// The kind that all have, else Any.
class CommonKind {
 public:
  void see(const Value& v) {
    const ElementKind one = kind_of(v);
    kind_ = first_ || kind_ == one ? one : ElementKind::Any;
    first_ = false;
  }
  ElementKind kind() const { return kind_; }

 private:
  ElementKind kind_ = ElementKind::Any;
  bool first_ = true;
};

class ValueReader {
 public:
  explicit ValueReader(const io::Checkpoint& checkpoint) : checkpoint_(checkpoint), d_(checkpoint.document()), storages_(checkpoint.num_storages()) {}

  Value get(io::NodeId id) {
    const auto known = made_.find(id);
    if (known != made_.end()) {
      CRESSET_CHECK(known->second, "pickle_load: a container of the file contains itself");
      return *known->second;
    }
    CRESSET_CHECK(++depth_ <= kMaxDepth, "pickle_load: containers of the file nest deeper than ", kMaxDepth);
    made_[id] = std::nullopt;
    const Value v = make(id);
    made_[id] = v;
    depth_--;
    return v;
  }

 private:
  Value make(io::NodeId id) {
    const io::Node& n = d_[id];
    switch (n.kind) {
      case io::Kind::None: return Value();
      case io::Kind::Bool: return n.flag;
      case io::Kind::Int: return n.integer;
      case io::Kind::Float: return n.real;
      case io::Kind::Complex: return complex<double>(n.real, n.imaginary);
      case io::Kind::Text: return std::string(n.text);
      case io::Kind::DType: return n.dtype;
      case io::Kind::Device: return device(n);
      case io::Kind::Tensor: return tensor(d_.tensors[n.place]);
      case io::Kind::List: return list(d_.children(id));
      case io::Kind::Size:
      case io::Kind::Tuple: return TupleObject::create(all(d_.children(id)));
      case io::Kind::Dict:
      case io::Kind::OrderedDict: return dict(d_.children(id));
      default: throw TypeError("pickle_load: the file holds what no value can be; load it in Python");
    }
  }

  Value device(const io::Node& n) const {
    std::string text(n.text);
    if (n.place != io::kNoNode && d_[n.place].kind == io::Kind::Int) text += ":" + std::to_string(d_[n.place].integer);
    return Device(text);
  }

  Tensor tensor(const io::TensorRecord& record) {
    return checkpoint_.make_tensor(record, [&](uint32_t number) {
      auto& slot = storages_[number];
      if (!slot) slot = checkpoint_.read_storage(number);
      return slot;
    });
  }

  std::vector<Value> all(const std::vector<io::NodeId>& items) {
    std::vector<Value> out;
    for (const io::NodeId item : items) out.push_back(get(item));
    return out;
  }

  Value list(const std::vector<io::NodeId>& items) {
    std::vector<Value> elements = all(items);
    CommonKind common;
    for (const Value& e : elements) common.see(e);
    auto out = make_intrusive<ListObject>(common.kind());
    out->elements = std::move(elements);
    return out;
  }

  Value dict(const std::vector<io::NodeId>& items) {
    const std::vector<Value> flat = all(items);
    CommonKind keys, values;
    for (size_t i = 0; i + 1 < flat.size(); i += 2) {
      keys.see(flat[i]);
      values.see(flat[i + 1]);
    }
    auto out = make_intrusive<DictObject>(keys.kind(), values.kind());
    for (size_t i = 0; i + 1 < flat.size(); i += 2) out->insert(flat[i], flat[i + 1]);
    return out;
  }

  const io::Checkpoint& checkpoint_;
  const io::Document& d_;
  std::vector<intrusive_ptr<StorageImpl>> storages_;
  std::unordered_map<io::NodeId, std::optional<Value>> made_;
  int depth_ = 0;
};

}  // namespace

std::vector<char> pickle_save(const Value& value) {
  io::CheckpointWriter writer;
  ValueWriter(writer).put(value);
  std::vector<char> out;
  writer.write([&](const void* data, size_t size) { out.insert(out.end(), static_cast<const char*>(data), static_cast<const char*>(data) + size); }, "archive");
  return out;
}

Value pickle_load(const std::vector<char>& data) {
  io::CheckpointOptions options;
  options.file = "the bytes for pickle_load";
  const io::Checkpoint checkpoint(std::make_shared<io::MemorySource>(data.data(), data.size()), options);
  return ValueReader(checkpoint).get(checkpoint.root());
}

}  // namespace cresset
