#include "cresset/profile/arguments.h"

#include <cstring>
#include <sstream>

#include "cresset/profile/steps.h"

namespace cresset::profile {

namespace {

using dispatch::Value;

// The kind that a head word announces; its numbers or elements are the words after it.
enum class Kind : uint8_t { None, Undefined, Tensor, Int, Float, Bool, DType, Ints, Floats, Tensors, Held, Unsaid };
enum Flags : uint8_t { wrapped = 1, tracked = 2, strided = 4, valued = 8 };

struct Head {
  Kind kind;
  ScalarType dtype;
  uint8_t flags;
  uint8_t unused;
  uint32_t count;
};
static_assert(sizeof(Head) == sizeof(int64_t));

int64_t word(Kind kind, size_t count = 0, ScalarType dtype = ScalarType::Undefined, int flags = 0) {
  const Head head{kind, dtype, static_cast<uint8_t>(flags), 0, static_cast<uint32_t>(count)};
  int64_t bits;
  std::memcpy(&bits, &head, sizeof bits);
  return bits;
}
int64_t bits_of(double v) {
  int64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
double float_of(int64_t bits) {
  double v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// The number that a tensor holds, where memory of its own has it. Tensor::item is a call, which would be recorded in turn without end.
std::optional<Value> number_of(const Tensor& t) {
  if (t.impl()->backend() != kCpuBackend || (t.impl()->layers() & ~kAutogradLayer) || t.numel() != 1) return std::nullopt;
  switch (t.scalar_type()) {
    case kBool: return Value(*t.const_data_ptr<bool>());
    case kLong: return Value(*t.const_data_ptr<int64_t>());
    case kDouble: return Value(*t.const_data_ptr<double>());
    case kComplexDouble: return Value(Scalar(*t.const_data_ptr<complex<double>>()));
    default: return std::nullopt;
  }
}

std::string text_of(const Value& v) {
  if (v.isBool()) return v.to_bool() ? "True" : "False";
  std::ostringstream out;
  out << v;
  return out.str();
}

}  // namespace

void Arguments::add_tensor(const Tensor& t, bool values) {
  if (!t.defined()) return words_.push_back(word(Kind::Undefined));
  const bool is_strided = t.layout() == Layout::Strided, is_wrapped = t.impl()->is_wrapped_number();
  const std::optional<Value> number = values && is_wrapped ? number_of(t) : std::nullopt;
  const IntArrayRef sizes = t.sizes();
  words_.push_back(word(Kind::Tensor, sizes.size(), t.scalar_type(),
                        (is_wrapped ? wrapped : 0) | (t.requires_grad() ? tracked : 0) | (is_strided ? strided : 0) | (number ? valued : 0)));
  words_.insert(words_.end(), sizes.begin(), sizes.end());
  if (is_strided) {
    const IntArrayRef strides = t.strides();
    words_.insert(words_.end(), strides.begin(), strides.end());
  }
  if (number) add(*number, false);
}

void Arguments::add(const Value& v, bool values) {
  if (v.is_none()) return words_.push_back(word(Kind::None));
  if (v.is_tensor()) return add_tensor(v.to_tensor(), values);
  if (v.isBool()) return words_.push_back(word(Kind::Bool, v.to_bool()));
  if (v.isInt()) {
    words_.push_back(word(Kind::Int));
    return words_.push_back(v.to_int());
  }
  if (v.isDouble()) {
    words_.push_back(word(Kind::Float));
    return words_.push_back(bits_of(v.to_double()));
  }
  if (v.is<ScalarType>()) return words_.push_back(word(Kind::DType, 0, v.to_dtype()));
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&v.data())) {
    words_.push_back(word(Kind::Ints, ints->size()));
    words_.insert(words_.end(), ints->begin(), ints->end());
    return;
  }
  if (const auto* floats = std::get_if<std::vector<double>>(&v.data())) {
    words_.push_back(word(Kind::Floats, floats->size()));
    for (const double each : *floats) words_.push_back(bits_of(each));
    return;
  }
  if (const auto* tensors = std::get_if<std::vector<Tensor>>(&v.data())) {
    words_.push_back(word(Kind::Tensors, tensors->size()));
    for (const Tensor& t : *tensors) add_tensor(t, false);
    return;
  }
  if (const auto* optional = std::get_if<std::vector<Value::Optional>>(&v.data())) {
    words_.push_back(word(Kind::Tensors, optional->size()));
    for (const auto& t : *optional) t ? add_tensor(*t, false) : words_.push_back(word(Kind::None));
    return;
  }
  if (!v.isString() && !v.is_number()) return words_.push_back(word(Kind::Unsaid));
  words_.push_back(word(Kind::Held, others_.size()));
  others_.push_back(v);
}

int64_t Arguments::keep(const dispatch::OpEntry& op, const dispatch::Stack& stack, bool values) {
  const auto place = static_cast<int64_t>(words_.size());
  const size_t n = std::min(op.function_schema().arguments.size(), stack.size());
  words_.push_back(static_cast<int64_t>(n));
  for (size_t i = 0; i < n; i++) add(stack[stack.size() - n + i], values);
  return place;
}
int64_t Arguments::keep(const Tensor& t) {
  const auto place = static_cast<int64_t>(words_.size());
  words_.push_back(1);
  add_tensor(t, false);
  return place;
}

// Takes one argument after the other.
class ArgumentReader {
 public:
  ArgumentReader(const Arguments& all, int64_t place) : all_(all), at_(all.words_.data() + place), count_(static_cast<size_t>(*at_++)) {}
  size_t count() const { return count_; }

  Fact fact() {
    const Head head = take();
    switch (head.kind) {
      case Kind::None: return {};
      case Kind::Undefined: return {};
      case Kind::Tensor: return tensor(head);
      case Kind::Int: return number(*at_++);
      case Kind::Float: return number(float_of(*at_++));
      case Kind::Bool: return flag(head.count != 0);
      case Kind::DType: return dtype_fact(head.dtype);
      case Kind::Ints: return sizes_fact(ArrayRef<int64_t>(skip(head.count), head.count));
      case Kind::Floats: skip(head.count); break;
      case Kind::Tensors: {
        Fact list;
        list.kind = Fact::kTensors;
        for (uint32_t i = 0; i < head.count; i++) list.tensors.push_back(fact());
        return list;
      }
      case Kind::Held:
      case Kind::Unsaid: break;
    }
    Fact other;
    other.kind = Fact::kOther;
    if (head.kind == Kind::Held && all_.others_[head.count].isString()) other.text = all_.others_[head.count].to_string();
    return other;
  }

  InputFact input() {
    const Head head = take();
    InputFact said;
    switch (head.kind) {
      case Kind::Tensor:
        if (head.flags & wrapped) {
          skip(head.flags & strided ? 2 * size_t{head.count} : head.count);
          return head.flags & valued ? input() : scalar("");
        }
        said.type = trace_type_name(head.dtype);
        add_geometry(said, head);
        break;
      case Kind::Int: return scalar(text_of(Value(*at_++)));
      case Kind::Float: return scalar(text_of(Value(float_of(*at_++))));
      case Kind::Bool: return scalar(text_of(Value(head.count != 0)));
      case Kind::DType: return scalar(std::to_string(static_cast<int>(head.dtype)));
      case Kind::Ints: return list(head.count, [](int64_t v) { return text_of(Value(v)); });
      case Kind::Floats: return list(head.count, [](int64_t v) { return text_of(Value(float_of(v))); });
      case Kind::Tensors:
        said.type = "TensorList";
        said.is_list = true;
        for (uint32_t i = 0; i < head.count; i++) {
          const Head each = take();
          if (each.kind == Kind::Tensor) add_geometry(said, each);
        }
        break;
      case Kind::Held:
        if (all_.others_[head.count].is_number()) return scalar(text_of(all_.others_[head.count]));
        break;
      case Kind::None:
      case Kind::Undefined:
      case Kind::Unsaid: break;
    }
    return said;
  }

 private:
  Head take() {
    Head head;
    std::memcpy(&head, at_++, sizeof head);
    return head;
  }
  const int64_t* skip(size_t words) { return std::exchange(at_, at_ + words); }
  Fact tensor(const Head& head) {
    Fact f;
    f.kind = Fact::kTensor;
    f.dtype = head.dtype;
    f.is_wrapped = (head.flags & wrapped) != 0;
    f.requires_grad = (head.flags & tracked) != 0;
    const int64_t* sizes = skip(head.count);
    if (head.flags & strided) {
      const int64_t* strides = skip(head.count);
      f.sizes.append(sizes, sizes + head.count);
      f.strides.append(strides, strides + head.count);
    }
    if (head.flags & valued) fact();
    return f;
  }
  void add_geometry(InputFact& said, const Head& head) {
    const int64_t* sizes = skip(head.count);
    said.sizes.emplace_back(sizes, sizes + head.count);
    said.strides.emplace_back();
    if (!(head.flags & strided)) return;
    const int64_t* strides = skip(head.count);
    said.strides.back().assign(strides, strides + head.count);
  }
  static InputFact scalar(std::string value) {
    InputFact said;
    said.type = "Scalar";
    said.value = std::move(value);
    return said;
  }
  template <class Text> InputFact list(size_t count, Text&& text) {
    InputFact said;
    said.type = "ScalarList";
    said.value = "[";
    for (size_t i = 0; i < count; i++) said.value += (i ? ", " : "") + text(*at_++);
    said.value += "]";
    return said;
  }

  const Arguments& all_;
  const int64_t* at_;
  size_t count_;
};

Facts Arguments::facts(int64_t place) const {
  ArgumentReader reader(*this, place);
  Facts all;
  all.reserve(reader.count());
  for (size_t i = 0; i < reader.count(); i++) all.push_back(reader.fact());
  return all;
}
std::vector<InputFact> Arguments::inputs(int64_t place) const {
  ArgumentReader reader(*this, place);
  std::vector<InputFact> all;
  all.reserve(reader.count());
  for (size_t i = 0; i < reader.count(); i++) all.push_back(reader.input());
  return all;
}

const char* trace_type_name(ScalarType t) {
  switch (t) {
    case ScalarType::Byte: return "unsigned char";
    case ScalarType::Char: return "signed char";
    case ScalarType::Short: return "short int";
    case ScalarType::Int: return "int";
    case ScalarType::Long: return "long int";
    case ScalarType::Half: return "c10::Half";
    case ScalarType::Float: return "float";
    case ScalarType::Double: return "double";
    case ScalarType::ComplexHalf: return "c10::complex<c10::Half>";
    case ScalarType::ComplexFloat: return "c10::complex<float>";
    case ScalarType::ComplexDouble: return "c10::complex<double>";
    case ScalarType::Bool: return "bool";
    case ScalarType::BFloat16: return "c10::BFloat16";
    default: return dtype_name(t);
  }
}

}  // namespace cresset::profile
