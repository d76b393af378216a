#pragma once
// Functions and modules of C++ that run as compiled programs.
//
//   auto fast = cresset::compile(model);                                     // a module
//   auto gelu = cresset::compile([](const Tensor& x) { return x * (x * 0.7).sigmoid(); });
//   Tensor y = fast(x);
//
// The first call with tensors of a kind (dtypes, sizes, strides, whether gradients are wanted) runs the function, and the operators are written down; later ones run
// the program that is made of them: operators joined to kernels, without Python, forward and backward. The function's own C++ code runs no more, so that it
// must do the same for all tensors of a kind. Tensors that it takes from elsewhere, parameters say, are kept and read anew in each call.

#include <memory>
#include <string>
#include <tuple>

#include "cresset/base/function_ref.h"
#include "cresset/core/tensor.h"

namespace cresset {

struct CompileOptions {
  // Raise where a function cannot be captured (numbers that depend on data, generators), in place of running it as it is.
  bool fullgraph = false;
  // Kinds of arguments that there are programs for; further ones run the function as it is.
  size_t max_kinds = 8;
  // Without gradients, weights are kept packed (fuse.h says until when).
  bool freezing = false;
};

struct CompileReport {
  size_t programs = 0;               // kinds with a program: one, or two with backward
  size_t kernels = 0;                // of several operators
  std::vector<std::string> reasons;  // for kinds that run as they are: why
};

namespace graph {

// The programs of one function, by kinds of arguments; any number of threads may call it at once.
class CRESSET_API CompiledCall {
 public:
  using Function = FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)>;

  explicit CompiledCall(const CompileOptions& options);
  ~CompiledCall();
  CompiledCall(const CompiledCall&) = delete;
  CompiledCall& operator=(const CompiledCall&) = delete;

  // `state` is all else that decides about what the function does, as numbers; it is part of the kind.
  std::vector<Tensor> run(Function function, const std::vector<Tensor>& inputs, const std::vector<uintptr_t>& state) const;
  CompileReport report() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Whether it holds a module: something with parameters, buffers and modes.
template <class F, class = void> struct HoldsModule : std::false_type {};
template <class F> struct HoldsModule<F, std::void_t<decltype(std::declval<F&>()->modules()), decltype(std::declval<F&>()->parameters())>> : std::true_type {};

}  // namespace graph

template <class F> class Compiled {
 public:
  Compiled(F function, const CompileOptions& options)
      : function_(std::make_shared<F>(std::move(function))), call_(std::make_shared<const graph::CompiledCall>(options)) {}

  // The function's own result: a tensor, a vector or a tuple of tensors. Errors: what the function and its operators raise.
  template <class... T> auto operator()(const T&... inputs) const {
    static_assert((std::is_convertible<const T&, Tensor>::value && ...), "compile: the function is to take tensors alone");
    using Result = std::decay_t<decltype((*function_)(Tensor(inputs)...))>;
    const auto list = [&](const std::vector<Tensor>& given) { return list_of(apply(given, std::index_sequence_for<T...>())); };
    return result_of<Result>(call_->run(list, {Tensor(inputs)...}, state()));
  }
  const F& function() const { return *function_; }
  CompileReport report() const { return call_->report(); }

 private:
  template <size_t... i> decltype(auto) apply(const std::vector<Tensor>& given, std::index_sequence<i...>) const { return (*function_)(given[i]...); }
  static std::vector<Tensor> list_of(Tensor t) { return {std::move(t)}; }
  static std::vector<Tensor> list_of(std::vector<Tensor> list) { return list; }
  template <class... T> static std::vector<Tensor> list_of(std::tuple<T...> list) {
    return std::apply([](auto&... t) { return std::vector<Tensor>{std::move(t)...}; }, list);
  }
  template <class Result> static Result result_of(std::vector<Tensor>&& found) {
    if constexpr (std::is_same<Result, std::vector<Tensor>>::value) return std::move(found);
    else if constexpr (std::is_same<Result, Tensor>::value) return std::move(found.at(0));
    else return tuple_of<Result>(std::move(found), std::make_index_sequence<std::tuple_size<Result>::value>());
  }
  template <class Result, size_t... i> static Result tuple_of(std::vector<Tensor>&& found, std::index_sequence<i...>) {
    return Result{std::move(found.at(i))...};
  }
  // Which tensors a module has, and which of its parts are in training.
  std::vector<uintptr_t> state() const {
    std::vector<uintptr_t> found;
    if constexpr (graph::HoldsModule<F>::value) {
      const auto add = [&](const Tensor& t) { found.push_back(reinterpret_cast<uintptr_t>(t.impl()) + (t.requires_grad() ? 1 : 0)); };
      for (const Tensor& t : (*function_)->parameters()) add(t);
      for (const Tensor& t : (*function_)->buffers()) add(t);
      for (const auto& m : (*function_)->modules()) found.push_back(reinterpret_cast<uintptr_t>(m.get()) + (m->is_training() ? 1 : 0));
    }
    return found;
  }

  std::shared_ptr<F> function_;
  std::shared_ptr<const graph::CompiledCall> call_;
};

// Of a callable of tensors, or of the holder of a module. Copies share their programs.
template <class F> Compiled<F> compile(F function, const CompileOptions& options = {}) { return Compiled<F>(std::move(function), options); }

}  // namespace cresset
