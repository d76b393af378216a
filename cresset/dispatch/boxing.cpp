#include "cresset/dispatch/boxing.h"

#include <algorithm>

namespace cresset::dispatch {

std::optional<Tensor> Unbox<std::optional<Tensor>>::hold(Value* v) {
  if (v->is_none() || !v->to_tensor().defined()) return std::nullopt;
  return v->to_tensor();
}

Unbox<ArrayRef<bool>>::Holder Unbox<ArrayRef<bool>>::hold(Value* v) {
  const std::vector<bool> list = v->to_bool_list();
  Holder h{std::make_unique<bool[]>(list.size() + 1), list.size()};
  std::copy(list.begin(), list.end(), h.data.get());
  return h;
}

std::vector<std::optional<Tensor>> Unbox<ArrayRef<std::optional<Tensor>>>::hold(Value* v) { return v->to_optional_tensor_list(); }

std::optional<std::vector<int64_t>> Unbox<OptionalIntArrayRef>::hold(Value* v) {
  if (v->is_none()) return std::nullopt;
  return v->to_int_list();
}

TensorOptions Unbox<TensorOptions>::hold(Value* v) {
  TensorOptions o;
  if (!v[0].is_none()) o = o.dtype(v[0].to_dtype());
  if (!v[1].is_none()) o = o.layout(v[1].to_layout());
  if (!v[2].is_none()) o = o.device(v[2].to_device());
  if (!v[3].is_none()) o = o.pinned_memory(v[3].to_bool());
  return o;
}

void push_value(Stack& stack, TensorList v) { stack.emplace_back(v.vec()); }
void push_value(Stack& stack, ArrayRef<double> v) { stack.emplace_back(v.vec()); }
void push_value(Stack& stack, ArrayRef<Scalar> v) { stack.emplace_back(v.vec()); }
void push_value(Stack& stack, ArrayRef<bool> v) { stack.emplace_back(std::vector<bool>(v.begin(), v.end())); }
void push_value(Stack& stack, ArrayRef<std::optional<Tensor>> v) { stack.emplace_back(v.vec()); }
void push_value(Stack& stack, const OptionalIntArrayRef& v) { stack.push_back(v ? Value(*v) : Value()); }
void push_value(Stack& stack, const std::optional<ArrayRef<double>>& v) { stack.push_back(v ? Value(v->vec()) : Value()); }
void push_value(Stack& stack, const std::optional<IntArrayRef>& v) { stack.push_back(v ? Value(*v) : Value()); }
void push_value(Stack& stack, const std::optional<std::string_view>& v) { stack.push_back(v ? Value(*v) : Value()); }
void push_value(Stack& stack, const TensorOptions& o) {
  stack.emplace_back(o.dtype_opt());
  stack.emplace_back(o.layout_opt());
  stack.emplace_back(o.device_opt());
  stack.emplace_back(o.pinned_memory_opt());
}

}  // namespace cresset::dispatch
