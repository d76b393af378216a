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

// Templates throughout, so that only what a signature needs is compiled.
template <class T, class H, TypeKind Kind, auto Read> struct UnboxOne {
  using Holder = H;
  static constexpr size_t values = 1;
  static H hold(Value* v) { return (v->*Read)(); }
  static T get(H& h) { return static_cast<T>(h); }
  static Type type() {
    Type t;
    t.kind = Kind;
    return t;
  }
};
template <> struct Unbox<int64_t> : UnboxOne<int64_t, int64_t, TypeKind::Int, &Value::to_int> {};
template <> struct Unbox<double> : UnboxOne<double, double, TypeKind::Float, &Value::to_double> {};
template <> struct Unbox<bool> : UnboxOne<bool, bool, TypeKind::Bool, &Value::to_bool> {};
template <> struct Unbox<ScalarType> : UnboxOne<ScalarType, ScalarType, TypeKind::DType, &Value::to_dtype> {};
template <> struct Unbox<Device> : UnboxOne<Device, Device, TypeKind::Device, &Value::to_device> {};
template <> struct Unbox<Layout> : UnboxOne<Layout, Layout, TypeKind::Layout, &Value::to_layout> {};
template <> struct Unbox<MemoryFormat> : UnboxOne<MemoryFormat, MemoryFormat, TypeKind::MemoryFormat, &Value::to_memory_format> {};
template <> struct Unbox<std::string_view> : UnboxOne<std::string_view, std::string, TypeKind::String, &Value::to_string> {};
template <> struct Unbox<std::string> : UnboxOne<std::string, std::string, TypeKind::String, &Value::to_string> {};
template <> struct Unbox<Scalar> : UnboxOne<Scalar, Scalar, TypeKind::Scalar, &Value::to_scalar> {};
template <> struct Unbox<Generator> : UnboxOne<Generator, Generator, TypeKind::Generator, &Value::to_generator> {};

template <class T> struct Unbox<std::optional<T>> {
  using Holder = std::optional<typename Unbox<T>::Holder>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) {
    if (v->is_none()) return std::nullopt;
    return Unbox<T>::hold(v);
  }
  static std::optional<T> get(Holder& h) {
    if (!h) return std::nullopt;
    return Unbox<T>::get(*h);
  }
  static Type type() {
    Type t = Unbox<T>::type();
    t.optional = true;
    return t;
  }
};

// Parameters by const reference read as by value, and the holder outlives the call.
template <class T> struct Unbox<const T&> {
  struct Holder {
    typename Unbox<T>::Holder held;
    std::optional<T> value;
  };
  static constexpr size_t values = Unbox<T>::values;
  static Holder hold(Value* v) { return {Unbox<T>::hold(v), std::nullopt}; }
  static const T& get(Holder& h) { return h.value.emplace(Unbox<T>::get(h.held)); }
  static Type type() { return Unbox<T>::type(); }
};

template <> struct Unbox<Tensor> : UnboxOne<Tensor, Tensor, TypeKind::Tensor, &Value::to_tensor> {};
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
// An undefined tensor is none.
template <> struct Unbox<std::optional<Tensor>> {
  using Holder = std::optional<Tensor>;
  static constexpr size_t values = 1;
  CRESSET_API static Holder hold(Value* v);
  static std::optional<Tensor> get(Holder& h) { return h; }
  static Type type() {
    Type t;
    t.optional = true;
    return t;
  }
};

template <class T, TypeKind Kind, auto Read> struct UnboxList {
  using Holder = std::vector<T>;
  static constexpr size_t values = 1;
  static Holder hold(Value* v) { return (v->*Read)(); }
  static ArrayRef<T> get(Holder& h) { return h; }
  static Type type() {
    Type t;
    t.kind = Kind;
    t.list = true;
    return t;
  }
};
template <> struct Unbox<IntArrayRef> : UnboxList<int64_t, TypeKind::Int, &Value::to_int_list> {};
template <> struct Unbox<ArrayRef<double>> : UnboxList<double, TypeKind::Float, &Value::to_double_list> {};
template <> struct Unbox<ArrayRef<Scalar>> : UnboxList<Scalar, TypeKind::Scalar, &Value::to_scalar_list> {};
template <> struct Unbox<TensorList> : UnboxList<Tensor, TypeKind::Tensor, &Value::to_tensor_list> {};
template <class T> struct Unbox<std::vector<T>> : Unbox<ArrayRef<T>> {
  static const std::vector<T>& get(std::vector<T>& h) { return h; }
};

// vector<bool> has no array of bools to refer to.
template <> struct Unbox<ArrayRef<bool>> {
  struct Holder {
    std::unique_ptr<bool[]> data;
    size_t size;
  };
  static constexpr size_t values = 1;
  CRESSET_API static Holder hold(Value* v);
  static ArrayRef<bool> get(Holder& h) { return ArrayRef<bool>(h.data.get(), h.size); }
  static Type type() {
    Type t;
    t.kind = TypeKind::Bool;
    t.list = true;
    return t;
  }
};
template <> struct Unbox<ArrayRef<std::optional<Tensor>>> {
  using Holder = std::vector<std::optional<Tensor>>;
  static constexpr size_t values = 1;
  CRESSET_API static Holder hold(Value* v);
  static ArrayRef<std::optional<Tensor>> get(Holder& h) { return h; }
  static Type type() {
    Type t;
    t.list = t.element_optional = true;
    return t;
  }
};
template <> struct Unbox<OptionalIntArrayRef> {
  using Holder = std::optional<std::vector<int64_t>>;
  static constexpr size_t values = 1;
  CRESSET_API static Holder hold(Value* v);
  static OptionalIntArrayRef get(Holder& h) { return h ? OptionalIntArrayRef(*h) : OptionalIntArrayRef(); }
  static Type type() {
    Type t = Unbox<IntArrayRef>::type();
    t.optional = true;
    return t;
  }
};
// dtype, layout, device and pin_memory of a schema are one parameter in C++.
template <> struct Unbox<TensorOptions> {
  using Holder = TensorOptions;
  static constexpr size_t values = 4;
  CRESSET_API static Holder hold(Value* v);
  static TensorOptions get(Holder& h) { return h; }
  static Type type() {
    Type t;
    t.kind = TypeKind::DType;
    t.optional = true;
    return t;
  }
};

// Typed to boxed.
template <class T> void push_value(Stack& stack, const T& v) { stack.emplace_back(v); }
CRESSET_API void push_value(Stack& stack, TensorList v);
CRESSET_API void push_value(Stack& stack, ArrayRef<double> v);
CRESSET_API void push_value(Stack& stack, ArrayRef<Scalar> v);
CRESSET_API void push_value(Stack& stack, ArrayRef<bool> v);
CRESSET_API void push_value(Stack& stack, ArrayRef<std::optional<Tensor>> v);
CRESSET_API void push_value(Stack& stack, const OptionalIntArrayRef& v);
CRESSET_API void push_value(Stack& stack, const std::optional<ArrayRef<double>>& v);
CRESSET_API void push_value(Stack& stack, const std::optional<IntArrayRef>& v);
CRESSET_API void push_value(Stack& stack, const std::optional<std::string_view>& v);
CRESSET_API void push_value(Stack& stack, const TensorOptions& o);

template <class T> struct IsTuple : std::false_type {};
template <class... T> struct IsTuple<std::tuple<T...>> : std::true_type {};

template <class R> void push_result(Stack& stack, R&& result) {
  if constexpr (IsTuple<std::decay_t<R>>::value) std::apply([&](const auto&... each) { (push_value(stack, each), ...); }, result);
  else push_value(stack, result);
}

// Calls anything that takes A... and returns R with the values on top of the stack, and puts its results there.
template <class R, class... A, class F, size_t... I> void call_with_values(F& kernel, Stack& stack, std::index_sequence<I...>) {
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

template <class R, class... A> void call_typed_from_stack(AnyFn kernel, Stack& stack) {
  const auto typed = reinterpret_cast<R (*)(A...)>(kernel);
  call_with_values<R, A...>(typed, stack, std::index_sequence_for<A...>{});
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

template <class R, class... A> R call_boxed_kernel(const BoxedFn& kernel, const OpEntry& op, A... args) {
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
template <class R, class... A> struct SignatureOf<R(A...)> {
  static std::vector<Type> types() {
    std::vector<Type> list;
    [[maybe_unused]] auto add = [&](Type type, size_t values) {
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
