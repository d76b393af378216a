#pragma once
// Typed calls: arguments are read from registers, or were made when the program was compiled, and go straight to the operator's kernel.
// Private to the room.

#include <tuple>

#include "cresset/dispatch/op.h"
#include "cresset/graph/runtime/machine.h"

namespace cresset::graph {

// An argument of the C++ type A that is a constant, made once.
template <class A> struct Constant {
  typename dispatch::Unbox<A>::Holder holder;
  A value;
  explicit Constant(Datum* v) : holder(dispatch::Unbox<A>::hold(v)), value(dispatch::Unbox<A>::get(holder)) {}
};

// How an argument comes about; of types without a form of their own below, only constants. `ready`: whether the register holds what the type asks
// for; else the call goes boxed, which converts.
template <class A> struct Argument {
  using T = std::remove_cv_t<std::remove_reference_t<A>>;
  static constexpr size_t values = dispatch::Unbox<T>::values;
  std::unique_ptr<Constant<T>> constant;

  bool prepare(const Datum* const* constants, const int32_t*) {
    Datum copies[values];
    for (size_t i = 0; i < values; i++) {
      if (!constants[i]) return false;
      copies[i] = *constants[i];
    }
    constant = std::make_unique<Constant<T>>(copies);
    return true;
  }
  bool ready(const Datum*) const { return true; }
  const T& get(Datum*) const { return constant->value; }
  void add(dispatch::Key& key, Datum*) const {
    if constexpr (dispatch::AddsToKey<T>::value) key.add(constant->value);
  }
};

// A constant, or in a register that holds an R.
template <class T, class R = T> struct ReadArgument {
  static constexpr size_t values = 1;
  int32_t number = -1;
  std::unique_ptr<Constant<T>> constant;

  bool prepare(const Datum* const* constants, const int32_t* registers) {
    if (!constants[0]) {
      number = registers[0];
      return true;
    }
    Datum copy = *constants[0];
    constant = std::make_unique<Constant<T>>(&copy);
    return true;
  }
  bool ready(const Datum* r) const { return number < 0 || std::holds_alternative<R>(r[number].data()); }
  T get(Datum* r) const { return number < 0 ? constant->value : T(*std::get_if<R>(&r[number].data())); }
  void add(dispatch::Key&, Datum*) const {}
};
template <> struct Argument<int64_t> : ReadArgument<int64_t> {};
template <> struct Argument<double> : ReadArgument<double> {};
template <> struct Argument<bool> : ReadArgument<bool> {};
template <> struct Argument<IntArrayRef> : ReadArgument<IntArrayRef, std::vector<int64_t>> {};

// Tensors stand in registers, constants too.
template <class R> struct RegisterArgument {
  static constexpr size_t values = 1;
  int32_t number = -1;
  bool prepare(const Datum* const*, const int32_t* registers) {
    number = registers[0];
    return true;
  }
  bool ready(const Datum* r) const { return std::holds_alternative<R>(r[number].data()); }
  R& get(Datum* r) const {
    R* const held = std::get_if<R>(&r[number].data());
    if (!held) __builtin_unreachable();  // `ready` was asked first
    return *held;
  }
  void add(dispatch::Key& key, Datum* r) const { key.add(get(r)); }
};
template <> struct Argument<const Tensor&> : RegisterArgument<Tensor> {};
template <> struct Argument<Tensor&> : RegisterArgument<Tensor> {};
template <> struct Argument<TensorList> : RegisterArgument<std::vector<Tensor>> {};
// A weight that may be absent is made into an optional once.
template <> struct Argument<const std::optional<Tensor>&> {
  static constexpr size_t values = 1;
  int32_t number = -1;
  std::optional<Tensor> constant;
  bool prepare(const Datum* const* constants, const int32_t* registers) {
    if (!constants[0]) {
      number = registers[0];
      return true;
    }
    Datum copy = *constants[0];
    constant = dispatch::Unbox<std::optional<Tensor>>::hold(&copy);
    return true;
  }
  bool ready(const Datum* r) const { return number < 0 || std::holds_alternative<Tensor>(r[number].data()); }
  struct Either {
    const std::optional<Tensor>* constant;
    std::optional<Tensor> made;
    operator const std::optional<Tensor>&() const { return constant ? *constant : made; }
  };
  Either get(Datum* r) const {
    if (number < 0) return {&constant, std::nullopt};
    const Tensor& t = *std::get_if<Tensor>(&r[number].data());
    return {nullptr, t.defined() ? std::optional<Tensor>(t) : std::nullopt};
  }
  void add(dispatch::Key& key, Datum* r) const {
    if (number < 0) key.add(constant);
    else key.add(*std::get_if<Tensor>(&r[number].data()));
  }
};

// Results into registers.
inline void store(Datum* r, const int32_t* outputs, Tensor&& t) { put(r[outputs[0]], std::move(t)); }
inline void store(Datum* r, const int32_t* outputs, Tensor& t) { put(r[outputs[0]], Tensor(t)); }
inline void store(Datum* r, const int32_t* outputs, std::vector<Tensor>&& list) {
  Datum& out = r[outputs[0]];
  if (auto* at = std::get_if<std::vector<Tensor>>(&out.data())) *at = std::move(list);
  else out = Datum(std::move(list));
}
template <class... T, size_t... I> void store_each(Datum* r, const int32_t* outputs, std::tuple<T...>&& results, std::index_sequence<I...>) {
  (store(r, outputs + I, std::move(std::get<I>(results))), ...);
}
template <class... T> void store(Datum* r, const int32_t* outputs, std::tuple<T...>&& results) {
  store_each(r, outputs, std::move(results), std::index_sequence_for<T...>{});
}

template <class R, class... A> struct Typed {
  using Arguments = std::tuple<Argument<A>...>;

  template <size_t... I> static uint32_t call(Machine& m, const Instruction& i, uint32_t at, std::index_sequence<I...>) {
    const auto& op = *static_cast<const dispatch::Op<R(A...)>*>(static_cast<const dispatch::OpEntry*>(i.target));
    const auto& arguments = *static_cast<const Arguments*>(i.prepared);
    Datum* r = m.registers;
    if (CRESSET_UNLIKELY(!(std::get<I>(arguments).ready(r) && ...))) return step_boxed(m, i, at);
    dispatch::Key key;
    (std::get<I>(arguments).add(key, r), ...);
    const uint8_t awake = static_cast<uint8_t>((key.layers | m.layers.included) & ~m.layers.excluded);
    if (CRESSET_LIKELY((awake | key.backend) == 0)) {
      auto* const cpu = op.cpu_kernel();
      if (CRESSET_UNLIKELY(!cpu)) return step_boxed(m, i, at);
      store(r, i.outputs, cpu(std::get<I>(arguments).get(r)...));
    } else if (awake == kAutogradLayer && key.backend != kFakeBackend && op.autograd && !op.extension.load(std::memory_order_relaxed)) {
      store(r, i.outputs, op.autograd(std::get<I>(arguments).get(r)...));
    } else {
      return step_boxed(m, i, at);
    }
    return finish(m, i, at);
  }
  static uint32_t step(Machine& m, const Instruction& i, uint32_t at) { return call(m, i, at, std::index_sequence_for<A...>{}); }

  static TypedCall make(const std::vector<const Datum*>& constants, const std::vector<int32_t>& registers) {
    auto arguments = std::make_shared<Arguments>();
    size_t at = 0;
    bool fits = true;
    const auto prepare = [&](auto& argument) {
      constexpr size_t values = std::decay_t<decltype(argument)>::values;
      fits = fits && at + values <= constants.size() && argument.prepare(constants.data() + at, registers.data() + at);
      at += values;
    };
    std::apply([&](auto&... each) { (prepare(each), ...); }, *arguments);
    if (!fits || at != constants.size()) return {};
    return {step, std::move(arguments)};
  }
};

struct TypedRow {
  const std::type_info* signature;
  TypedCall (*make)(const std::vector<const Datum*>& constants, const std::vector<int32_t>& registers);
};
template <class Fn> struct TypedOf;
template <class R, class... A> struct TypedOf<R(A...)> {
  static TypedRow row() { return {&typeid(R(A...)), Typed<R, A...>::make}; }
};

ArrayRef<TypedRow> typed_rows_pointwise();
ArrayRef<TypedRow> typed_rows_layers();
ArrayRef<TypedRow> typed_rows_shapes();

}  // namespace cresset::graph
