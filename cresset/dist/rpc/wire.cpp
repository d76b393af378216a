#include "cresset/dist/rpc/wire.h"

#include <cstring>
#include <map>
#include <mutex>

#include "cresset/dispatch/values/dict.h"
#include "cresset/dispatch/values/list.h"
#include "cresset/dispatch/values/object.h"
#include "cresset/ops/functions.h"

namespace cresset::distributed::rpc {

namespace {

constexpr int kDepth = 200;

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size() - i) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7fU >> length);
    for (size_t k = 1; k < length; k++) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff)) || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

std::mutex& types_mutex() {
  static std::mutex one;
  return one;
}
std::map<std::string, std::function<Value(const Value&)>>& types() {
  static std::map<std::string, std::function<Value(const Value&)>> all;
  return all;
}
std::function<Value(const Value&)> reader_of(const std::string& type) {
  const std::lock_guard<std::mutex> lock(types_mutex());
  const auto at = types().find(type);
  CRESSET_CHECK_AS(WireError, at != types().end(), "rpc: no type is registered as '", type.substr(0, 100), "'");
  return at->second;
}

class Writer {
 public:
  std::string out;
  std::function<uint64_t(const Tensor&)> sent;

  void value(const Value& v) {
    CRESSET_CHECK_AS(WireError, ++depth_ <= kDepth, "rpc: expected a value nested at most ", kDepth, " deep");
    any(v);
    depth_--;
  }

 private:
  template <class T> void raw(const T& n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view t) {
    raw(static_cast<uint64_t>(t.size()));
    out += t;
  }
  void real(double d) {
    out += 'f';
    raw(d);
  }
  // As few bytes as hold the number with its sign, as Python's integers of any length.
  void integer(int64_t n) {
    const uint64_t magnitude = n < 0 ? ~static_cast<uint64_t>(n) + 1 : static_cast<uint64_t>(n);
    size_t bits = 0;
    while (bits < 64 && magnitude >> bits) bits++;
    const size_t bytes = bits / 8 + 1;
    append_head(out, 'i', bytes);
    for (size_t i = 0; i < bytes; i++) out += i < 8 ? static_cast<char>(static_cast<uint64_t>(n) >> (8 * i)) : n < 0 ? '\xff' : '\0';
  }
  template <class List> void list(char kind, const List& values) {
    append_head(out, kind, values.size());
    for (const auto& v : values) value(Value(v));
  }
  void tensor(const Tensor& t) {
    if (!t.defined()) {
      out += '0';
      return;
    }
    CRESSET_CHECK_AS(WireError, t.device().is_cpu() && t.layout() == Layout::Strided, "rpc: expected a dense tensor on the CPU, got layout ", t.layout(),
                     " on ", t.device());
    const Tensor flat = t.detach().resolve_conj().resolve_neg().contiguous();
    const bool in_graph = sent && t.requires_grad();
    if (in_graph) append_head(out, 'G', sent(t));
    out += 'T';
    out += '\0';
    out += t.requires_grad() && !in_graph ? '\1' : '\0';
    text(dtype_name(t.scalar_type()));
    list('p', t.sizes());
    text({static_cast<const char*>(flat.data_ptr()), static_cast<size_t>(flat.numel()) * flat.element_size()});
  }
  void any(const Value& v) {
    if (v.is_none()) out += '0';
    else if (v.isTensor()) tensor(v.to_tensor());
    else if (v.isBool()) out += v.to_bool() ? 't' : 'u';
    else if (v.isInt()) integer(v.to_int());
    else if (v.isDouble()) real(v.to_double());
    else if (v.isComplexDouble()) {
      const complex<double> c = v.toComplexDouble();
      out += 'c';
      raw(c.real());
      raw(c.imag());
    } else if (v.isString()) {
      if (!is_utf8(v.to_string())) return append_bytes(out, v.to_string());
      out += 's';
      text(v.to_string());
    } else if (v.is<ScalarType>()) {
      out += 'y';
      text(dtype_name(v.to_dtype()));
    } else if (v.isDevice()) {
      out += 'v';
      text(str(v.to_device()));
    } else if (const auto* own = v.object() ? dynamic_cast<const Travelling*>(v.object()->get()) : nullptr) {
      out += 'R';
      text(own->type());
      value(own->fields());
    } else if (v.isTuple()) {
      list('p', v.toTupleRef().elements());
    } else if (v.isGenericDict()) {
      const dispatch::GenericDict dict = v.toGenericDict();
      append_head(out, 'd', dict.size());
      for (const auto& entry : dict) {
        value(entry.key());
        value(entry.value());
      }
    } else if (v.isList()) {
      list('l', v.toListVector());
    } else {
      throw WireError(str("rpc: expected numbers, text, tensors, and lists, tuples and dicts of them, got ", v.kind()));
    }
  }

  int depth_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes, std::function<void(uint64_t, const Tensor&)> came = {}) : bytes_(bytes), came_(std::move(came)) {}

  bool at_end() const { return at_ == bytes_.size(); }
  Value value() {
    CRESSET_CHECK_AS(WireError, ++depth_ <= kDepth, "rpc: expected a value nested at most ", kDepth, " deep");
    Value v = any(take(1)[0]);
    depth_--;
    return v;
  }

 private:
  std::string_view take(uint64_t count) {
    CRESSET_CHECK_AS(WireError, count <= bytes_.size() - at_, "rpc: the bytes of a value end early");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  template <class T> T raw() {
    T n;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  std::string_view text() { return take(raw<uint64_t>()); }
  // A count of values that follow, each of a byte at least.
  uint64_t count() {
    const auto n = raw<uint64_t>();
    CRESSET_CHECK_AS(WireError, n <= bytes_.size() - at_, "rpc: the bytes of a value end early");
    return n;
  }
  std::vector<Value> values() {
    std::vector<Value> all;
    for (uint64_t left = count(); left > 0; left--) all.push_back(value());
    return all;
  }
  int64_t integer() {
    const std::string_view t = text();
    CRESSET_CHECK_AS(WireError, !t.empty(), "rpc: an integer has no bytes");
    const bool negative = (static_cast<unsigned char>(t.back()) & 0x80) != 0;
    uint64_t n = negative ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < t.size(); i++) {
      const auto byte = static_cast<unsigned char>(t[i]);
      if (i < 8) n = (n & ~(uint64_t{0xff} << (8 * i))) | uint64_t{byte} << (8 * i);
      else CRESSET_CHECK_AS(WireError, byte == (negative ? 0xff : 0), "rpc: an integer is beyond 64 bits");
    }
    CRESSET_CHECK_AS(WireError, t.size() <= 8 || (static_cast<int64_t>(n) < 0) == negative, "rpc: an integer is beyond 64 bits");
    return static_cast<int64_t>(n);
  }
  ScalarType dtype() {
    const std::string_view name = text();
    for (int i = 0; i < static_cast<int>(ScalarType::Undefined); i++) {
      const auto t = static_cast<ScalarType>(i);
      if (name == dtype_name(t)) return t;
    }
    throw WireError(str("rpc: '", std::string(name.substr(0, 40)), "' is no dtype"));
  }
  Tensor tensor() {
    const auto flags = take(2);
    const ScalarType type = dtype();
    CRESSET_CHECK_AS(WireError, take(1)[0] == 'p', "rpc: a tensor has no shape");
    std::vector<int64_t> sizes;
    uint64_t numel = 1;
    bool fits = true;
    for (uint64_t left = count(); left > 0; left--) {
      CRESSET_CHECK_AS(WireError, take(1)[0] == 'i', "rpc: a size of a tensor is no integer");
      sizes.push_back(integer());
      CRESSET_CHECK_AS(WireError, sizes.back() >= 0, "rpc: a size of a tensor is negative");
      fits = !__builtin_mul_overflow(numel, static_cast<uint64_t>(sizes.back()), &numel) && numel <= uint64_t{1} << 48 && fits;
    }
    const std::string_view data = text();
    CRESSET_CHECK_AS(WireError, fits && sizes.size() <= 64 && numel * element_size(type) == data.size(), "rpc: ", data.size(),
                     " bytes do not fit a tensor of shape ", sizes, " and dtype ", type);
    Tensor t = cresset::empty(sizes, TensorOptions(type));
    if (!data.empty()) std::memcpy(t.data_ptr(), data.data(), data.size());
    if (flags[1]) {
      CRESSET_CHECK_AS(WireError, is_floating_type(type) || is_complex_type(type), "rpc: a tensor of dtype ", type, " cannot need a gradient");
      t.requires_grad_(true);
    }
    return t;
  }
  Value any(char kind) {
    switch (kind) {
      case '0': return {};
      case 't': return Value(true);
      case 'u': return Value(false);
      case 'i': return Value(integer());
      case 'f': return Value(raw<double>());
      case 'c': {
        const auto real = raw<double>();
        return Value(complex<double>(real, raw<double>()));
      }
      case 's': {
        const std::string_view t = text();
        CRESSET_CHECK_AS(WireError, is_utf8(t), "rpc: a text is no UTF-8");
        return Value(std::string(t));
      }
      case 'b':
      case 'B': return Value(std::string(text()));
      case 'l':
      case 'e':
      case 'z': {
        dispatch::GenericList list;
        for (Value& v : values()) list.push_back(std::move(v));
        return Value(list);
      }
      case 'p': return Value(dispatch::TupleObject::create(values()));
      case 'd': {
        dispatch::GenericDict dict;
        for (uint64_t left = count(); left > 0; left--) {
          Value key = value();
          CRESSET_CHECK_AS(WireError, key.isInt() || key.isBool() || key.isDouble() || key.isString() || key.is_none() || key.isTuple(),
                           "rpc: expected numbers, text or tuples as keys of a dict, got ", key.kind());
          dict.insert_or_assign(std::move(key), value());
        }
        return Value(dict);
      }
      case 'T': return Value(tensor());
      case 'G': {
        const auto number = raw<uint64_t>();
        const Value v = value();
        CRESSET_CHECK_AS(WireError, came_ && v.isTensor() && v.to_tensor().defined(), "rpc: a tensor of a graph came outside of one");
        v.to_tensor().set_requires_grad(true);
        came_(number, v.to_tensor());
        return v;
      }
      case 'R': {
        const std::string type(text());
        const Value fields = value();
        return reader_of(type)(fields);
      }
      case 'y': return Value(dtype());
      case 'v': return Value(Device(std::string(text())));
      default: throw WireError(str("rpc: a value of kind ", static_cast<int>(static_cast<unsigned char>(kind)), " is of a class that C++ does not know"));
    }
  }

  const std::string_view bytes_;
  const std::function<void(uint64_t, const Tensor&)> came_;
  uint64_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

void register_type(const std::string& type, std::function<Value(const Value&)> read) {
  const std::lock_guard<std::mutex> lock(types_mutex());
  types()[type] = std::move(read);
}

void append_head(std::string& out, char kind, uint64_t count) {
  out += kind;
  out.append(reinterpret_cast<const char*>(&count), sizeof count);
}

void append_bytes(std::string& out, std::string_view bytes) {
  append_head(out, 'b', bytes.size());
  out += bytes;
}

std::string encode(const Value& value) { return encode(value, nullptr); }
std::string encode(const Value& value, const std::function<uint64_t(const Tensor&)>& sent) {
  Writer writer;
  writer.sent = sent;
  writer.value(value);
  return std::move(writer.out);
}

Value decode(std::string_view bytes) { return decode(bytes, nullptr); }
Value decode(std::string_view bytes, const std::function<void(uint64_t, const Tensor&)>& came) {
  Reader reader(bytes, came);
  Value value;
  try {
    value = reader.value();
  } catch (const WireError&) { throw; } catch (const Error& error) {
    throw WireError(str("rpc: the bytes of a value do not fit together: ", error.what()));
  }
  CRESSET_CHECK_AS(WireError, reader.at_end(), "rpc: bytes follow the end of a value");
  return value;
}

}  // namespace cresset::distributed::rpc
