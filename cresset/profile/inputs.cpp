#include "cresset/profile/inputs.h"

#include <sstream>

namespace cresset::profile {

namespace {

using dispatch::Value;

std::string text_of(const Value& v) {
  if (v.isBool()) return v.to_bool() ? "True" : "False";
  std::ostringstream out;
  out << v;
  return out.str();
}

void add_tensor(InputFact& fact, const Tensor& t) {
  const bool strided = t.defined() && t.layout() == Layout::Strided;
  fact.sizes.push_back(t.defined() ? t.sizes().vec() : std::vector<int64_t>());
  fact.strides.push_back(strided ? t.strides().vec() : std::vector<int64_t>());
}

template <class T> std::string list_text(const std::vector<T>& list) {
  std::string s = "[";
  for (const T& v : list) s += (s.size() > 1 ? ", " : "") + text_of(Value(v));
  return s + "]";
}

InputFact fact_of(const Value& v) {
  InputFact fact;
  if (v.is_none()) return fact;
  if (v.is_tensor()) {
    const Tensor& t = v.to_tensor();
    if (!t.defined()) return fact;
    if (t.impl()->is_wrapped_number()) {
      fact.type = "Scalar";
      fact.value = text_of(Value(t.item()));
      return fact;
    }
    fact.type = trace_type_name(t.scalar_type());
    add_tensor(fact, t);
    return fact;
  }
  if (v.is_number()) {
    fact.type = "Scalar";
    fact.value = text_of(v);
  } else if (v.is<ScalarType>()) {
    fact.type = "Scalar";
    fact.value = std::to_string(static_cast<int>(v.to_dtype()));
  } else if (v.is<std::vector<int64_t>>()) {
    fact.type = "ScalarList";
    fact.value = list_text(v.to_int_list());
  } else if (v.is<std::vector<double>>()) {
    fact.type = "ScalarList";
    fact.value = list_text(v.to_double_list());
  } else if (v.is<std::vector<Tensor>>() || v.is<std::vector<Value::Optional>>()) {
    fact.type = "TensorList";
    fact.is_list = true;
    dispatch::for_each_tensor(v, [&](const Tensor& t) { add_tensor(fact, t); });
  }
  return fact;
}

}  // namespace

std::vector<InputFact> inputs_of(const dispatch::OpEntry& op, const dispatch::Stack& stack) {
  const size_t n = op.function_schema().arguments.size();
  std::vector<InputFact> facts;
  facts.reserve(n);
  for (size_t i = 0; i < n && i < stack.size(); i++) facts.push_back(fact_of(stack[stack.size() - n + i]));
  return facts;
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
