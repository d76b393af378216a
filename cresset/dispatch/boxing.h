#pragma once
// Between typed calls and stacks of values. Templates over the signature alone, so that ops of one signature share them.

#include <memory>
#include <tuple>
#include <type_traits>

#include "cresset/dispatch/schema.h"

namespace cresset::dispatch {

struct OpEntry;
using AnyFn __attribute__((may_alias)) = void (*)();
using BoxedFn = std::function<void(const OpEntry&, Stack&)>;

// How one C++ parameter type reads from values: `values` of them are consumed, Holder keeps what a reference refers to.
template <class T> struct Unbox;

template <class H, class T>
struct UnboxBase {
  using Holder = H;
  static constexpr size_t values = 1;
  static T get(H& h) { return static_cast<T>(h); }
};
#define CRESSET_UNBOX(T, H, kind_, read)                                        \
  template <> struct Unbox<T> : UnboxBase<H, T> {                              \
    static H hold(Value* v) { return v->read(); }                              \
    static Type type() { Type t; t.kind = TypeKind::kind_; return t; }         \
  };                                                                            \
  template <> struct Unbox<std::optional<T>> : UnboxBase<std::optional<H>, std::optional<T>> { \
    static std::optional<H> hold(Value* v) { if (v->is_none()) return std::nullopt; return v->read(); }       \
    static Type type() { Type t = Unbox<T>::type(); t.optional = true; return t; } \
  };
CRESSET_UNBOX(int64_t, int64_t, Int, to_int)
CRESSET_UNBOX(double, double, Float, to_double)
CRESSET_UNBOX(bool, bool, Bool, to_bool)
CRESSET_UNBOX(ScalarType, ScalarType, DType, to_dtype)
CRESSET_UNBOX(Device, Device, Device, to_device)
CRESSET_UNBOX(Layout, Layout, Layout, to_layout)
CRESSET_UNBOX(MemoryFormat, MemoryFormat, MemoryFormat, to_memory_format)
CRESSET_UNBOX(std::string_view, std::string, String, to_string)
CRESSET_UNBOX(std::string, std::string, String, to_string)
CRESSET_UNBOX(Scalar, Scalar, Scalar, to_scalar)
CRESSET_UNBOX(Generator, Generator, Generator, to_generator)
#undef CRESSET_UNBOX

// Parameters by const reference read as by value, and the holder outlives the call.
template <class T>
struct Unbox<const T&> {
  struct Holder {
    typename Unbox<T>::Holder held;
    std::optional<T> value;
  };
  static constexpr size_t values = Unbox<T>::values;
  static Holder hold(Value* v) { return {Unbox<T>::hold(v), std::nullopt}; }
  static const T& get(Holder& h) { return h.value.emplace(Unbox<T>::get(h.held)); }
  static Type type() { return Unbox<T>::type(); }
};

template <> struct Unbox<Tensor> : UnboxBase<Tensor, Tensor> {
  static Tensor hold(Value* v) { return v->to_tensor(); }
  static Type type() { return {}; }
};
template <> struct Unbox<const Tensor&> {
  using Holder = const Tensor*;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return &v->to_tensor(); }
  static const Tensor& get(Holder& h) { return *h; }
  static Type type() { return {}; }
};
template <> struct Unbox<Tensor&> {
  using Holder = Tensor*;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return &v->to_tensor_ref(); }
  static Tensor& get(Holder& h) { return *h; }
  static Type type() { return {}; }
};
template <> struct Unbox<std::optional<Tensor>> : UnboxBase<std::optional<Tensor>, std::optional<Tensor>> {
  static std::optional<Tensor> hold(Value* v) {
    if (v->is_none() || !v->to_tensor().defined()) return std::nullopt;
    return v->to_tensor();
  }
  static Type type() { Type t; t.optional = true; return t; }
};

#define CRESSET_UNBOX_LIST(T, Vector, kind_, read)                                                                  \
  template <> struct Unbox<ArrayRef<T>> {                                                                           \
    using Holder = Vector;                                                                                          \
    static constexpr size_t values = 1;                                                                             \
    static Holder hold(Value* v) { return v->read(); }                                                              \
    static ArrayRef<T> get(Holder& h) { return h; }                                                                 \
    static Type type() { Type t; t.kind = TypeKind::kind_; t.list = true; return t; }                               \
  };                                                                                                                \
  template <> struct Unbox<std::optional<ArrayRef<T>>> {                                                            \
    using Holder = std::optional<Vector>;                                                                           \
    static constexpr size_t values = 1;                                                                             \
    static Holder hold(Value* v) { if (v->is_none()) return std::nullopt; return v->read(); }                       \
    static std::optional<ArrayRef<T>> get(Holder& h) { if (!h) return std::nullopt; return ArrayRef<T>(*h); }       \
    static Type type() { Type t = Unbox<ArrayRef<T>>::type(); t.optional = true; return t; }                        \
  };                                                                                                                \
  template <> struct Unbox<Vector> : UnboxBase<Vector, Vector> {                                                    \
    static Vector hold(Value* v) { return v->read(); }                                                              \
    static Type type() { return Unbox<ArrayRef<T>>::type(); }                                                       \
  };
CRESSET_UNBOX_LIST(int64_t, std::vector<int64_t>, Int, to_int_list)
CRESSET_UNBOX_LIST(double, std::vector<double>, Float, to_double_list)
CRESSET_UNBOX_LIST(Scalar, std::vector<Scalar>, Scalar, to_scalar_list)
CRESSET_UNBOX_LIST(Tensor, std::vector<Tensor>, Tensor, to_tensor_list)
#undef CRESSET_UNBOX_LIST

// vector<bool> has no array of bools to refer to.
template <> struct Unbox<ArrayRef<bool>> {
  struct Holder {
    std::unique_ptr<bool[]> data;
    size_t size;
  };
  static constexpr size_t values = 1;
  static Holder hold(Value* v) {
    const std::vector<bool> list = v->to_bool_list();
    Holder h{std::make_unique<bool[]>(list.size() + 1), list.size()};
    std::copy(list.begin(), list.end(), h.data.get());
    return h;
  }
  static ArrayRef<bool> get(Holder& h) { return ArrayRef<bool>(h.data.get(), h.size); }
  static Type type() { Type t; t.kind = TypeKind::Bool; t.list = true; return t; }
};
template <> struct Unbox<ArrayRef<std::optional<Tensor>>> {
  using Holder = std::vector<std::optional<Tensor>>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return v->to_optional_tensor_list(); }
  static ArrayRef<std::optional<Tensor>> get(Holder& h) { return h; }
  static Type type() { Type t; t.list = t.element_optional = true; return t; }
};
template <> struct Unbox<OptionalIntArrayRef> {
  using Holder = std::optional<std::vector<int64_t>>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { if (v->is_none()) return std::nullopt; return v->to_int_list(); }
  static OptionalIntArrayRef get(Holder& h) { return h ? OptionalIntArrayRef(*h) : OptionalIntArrayRef(); }
  static Type type() { Type t = Unbox<IntArrayRef>::type(); t.optional = true; return t; }
};
// dtype, layout, device and pin_memory of a schema are one parameter in C++.
template <> struct Unbox<TensorOptions> {
  using Holder = TensorOptions;
  static constexpr size_t values = 4;
  static Holder hold(Value* v) {
    TensorOptions o;
    if (!v[0].is_none()) o = o.dtype(v[0].to_dtype());
    if (!v[1].is_none()) o = o.layout(v[1].to_layout());
    if (!v[2].is_none()) o = o.device(v[2].to_device());
    if (!v[3].is_none()) o = o.pinned_memory(v[3].to_bool());
    return o;
  }
  static TensorOptions get(Holder& h) { return h; }
  static Type type() { Type t; t.kind = TypeKind::DType; t.optional = true; return t; }
};

// Typed to boxed.
template <class T> void push_value(Stack& stack, const T& v) { stack.emplace_back(v); }
inline void push_value(Stack& stack, TensorList v) { stack.emplace_back(v.vec()); }
inline void push_value(Stack& stack, ArrayRef<double> v) { stack.emplace_back(v.vec()); }
inline void push_value(Stack& stack, ArrayRef<Scalar> v) { stack.emplace_back(v.vec()); }
inline void push_value(Stack& stack, ArrayRef<bool> v) { stack.emplace_back(std::vector<bool>(v.begin(), v.end())); }
inline void push_value(Stack& stack, ArrayRef<std::optional<Tensor>> v) { stack.emplace_back(v.vec()); }
inline void push_value(Stack& stack, const OptionalIntArrayRef& v) { stack.push_back(v ? Value(*v) : Value()); }
inline void push_value(Stack& stack, const std::optional<ArrayRef<double>>& v) { stack.push_back(v ? Value(v->vec()) : Value()); }
inline void push_value(Stack& stack, const std::optional<IntArrayRef>& v) { stack.push_back(v ? Value(*v) : Value()); }
inline void push_value(Stack& stack, const std::optional<std::string_view>& v) { stack.push_back(v ? Value(*v) : Value()); }
inline void push_value(Stack& stack, const TensorOptions& o) {
  stack.emplace_back(o.dtype_opt());
  stack.emplace_back(o.layout_opt());
  stack.emplace_back(o.device_opt());
  stack.emplace_back(o.pinned_memory_opt());
}

template <class T> struct IsTuple : std::false_type {};
template <class... T> struct IsTuple<std::tuple<T...>> : std::true_type {};

template <class R>
void push_result(Stack& stack, R&& result) {
  if constexpr (IsTuple<std::decay_t<R>>::value)
    std::apply([&](const auto&... each) { (push_value(stack, each), ...); }, result);
  else
    push_value(stack, result);
}

template <class R, class... A, size_t... I>
void call_with_values(R (*kernel)(A...), Stack& stack, std::index_sequence<I...>) {
  constexpr size_t counts[] = {Unbox<A>::values..., 0};
  size_t offsets[sizeof...(A) + 1] = {};
  for (size_t i = 0; i < sizeof...(A); i++) offsets[i + 1] = offsets[i] + counts[i];
  const size_t total = offsets[sizeof...(A)];
  CRESSET_CHECK_TYPE(stack.size() >= total, "boxed call: expected ", total, " values on the stack, got ", stack.size());
  [[maybe_unused]] Value* first = stack.data() + (stack.size() - total);
  [[maybe_unused]] std::tuple<typename Unbox<A>::Holder...> holders{Unbox<A>::hold(first + offsets[I])...};
  Stack results;
  if constexpr (std::is_void_v<R>) kernel(Unbox<A>::get(std::get<I>(holders))...);
  else push_result(results, kernel(Unbox<A>::get(std::get<I>(holders))...));
  stack.resize(stack.size() - total);
  for (Value& v : results) stack.push_back(std::move(v));
}

template <class R, class... A>
void call_typed_from_stack(AnyFn kernel, Stack& stack) {
  call_with_values(reinterpret_cast<R (*)(A...)>(kernel), stack, std::index_sequence_for<A...>{});
}

// Results from the end of the stack. References come from the arguments that were written.
template <class T> T pop_value(Value& v) {
  auto holder = Unbox<T>::hold(&v);
  return Unbox<T>::get(holder);
}
template <class R, class Written> struct Results {
  static R take(Stack& stack, Written&) { return pop_value<R>(stack.back()); }
};
template <class Written> struct Results<void, Written> {
  static void take(Stack&, Written&) {}
};
template <class Written> struct Results<Tensor&, Written> {
  static Tensor& take(Stack&, Written& written) { return *written[0]; }
};
template <class Written> struct Results<const Tensor&, Written> {
  static const Tensor& take(Stack&, Written& written) { return *written[0]; }
};
template <class... T, class Written> struct Results<std::tuple<T...>, Written> {
  template <size_t... I> static std::tuple<T...> take(Stack& stack, Written& written, std::index_sequence<I...>) {
    if constexpr ((std::is_reference_v<T> && ...)) return std::tuple<T...>(*written[I]...);
    else return std::tuple<T...>(pop_value<T>(stack[stack.size() - sizeof...(T) + I])...);
  }
  static std::tuple<T...> take(Stack& stack, Written& written) { return take(stack, written, std::index_sequence_for<T...>{}); }
};

template <class R, class... A>
R call_boxed_kernel(const BoxedFn& kernel, const OpEntry& op, A... args) {
  Stack stack;
  stack.reserve(sizeof...(A) + 3);
  SmallVector<Tensor*, 4> written;
  auto push = [&](auto& value, bool is_written) {
    push_value(stack, value);
    if constexpr (std::is_same_v<std::remove_cv_t<std::remove_reference_t<decltype(value)>>, Tensor>)
      if (is_written) written.push_back(const_cast<Tensor*>(&value));
  };
  (push(args, std::is_same_v<A, Tensor&>), ...);
  kernel(op, stack);
  return Results<R, decltype(written)>::take(stack, written);
}

// The schema types of a C++ signature.
template <class Fn> struct SignatureOf;
template <class R, class... A>
struct SignatureOf<R(A...)> {
  static std::vector<Type> types() {
    std::vector<Type> list;
    auto add = [&](Type type, size_t values) {
      static constexpr TypeKind kOptions[] = {TypeKind::DType, TypeKind::Layout, TypeKind::Device, TypeKind::Bool};
      for (size_t i = 0; i < values; i++) {
        if (values > 1) type.kind = kOptions[i];
        list.push_back(type);
      }
    };
    (add(Unbox<A>::type(), Unbox<A>::values), ...);
    return list;
  }
};

}  // namespace cresset::dispatch
