#pragma once
// Registration in one expression: RegisterOperators().op("ns::f(Tensor x) -> Tensor", RegisterOperators::options().kernel<F>(DispatchKey::CPU)).

#include "cresset/dispatch/dispatcher.h"

namespace cresset::dispatch {

class CRESSET_API RegisterOperators {
 public:
  class CRESSET_API Options {
    template <class F> using IfObject = std::enable_if_t<std::is_base_of_v<OperatorKernel, F>, int>;
    template <class F> using IfLambda = std::enable_if_t<!std::is_base_of_v<OperatorKernel, std::decay_t<F>>, int>;

   public:
    Options&& schema(const std::string& schema_or_name) &&;
    Options&& aliasAnalysis(AliasAnalysis kind) &&;

    // An object made of the arguments; a function; a boxed function; a lambda.
    template <class F, class... Args, IfObject<F> = 0> Options&& kernel(DispatchKey key, Args&&... args) && {
      return add(key_name(key), object<F>(std::forward<Args>(args)...));
    }
    template <class Fn, Fn* F> Options&& kernel(DispatchKey key) && { return add(key_name(key), CppFunction(F)); }
    template <void (*F)(const OperatorHandle&, Stack*)> Options&& kernel(DispatchKey key) && { return add(key_name(key), CppFunction(F)); }
    template <class F, IfLambda<F> = 0> Options&& kernel(DispatchKey key, F&& f) && { return add(key_name(key), CppFunction(std::forward<F>(f))); }

    template <class F, class... Args, IfObject<F> = 0> Options&& catchAllKernel(Args&&... args) && { return add("", object<F>(std::forward<Args>(args)...)); }
    template <class Fn, Fn* F> Options&& catchAllKernel() && { return add("", CppFunction(F)); }
    template <void (*F)(const OperatorHandle&, Stack*)> Options&& catchAllKernel() && { return add("", CppFunction(F)); }
    template <class F, IfLambda<F> = 0> Options&& catchAllKernel(F&& f) && { return add("", CppFunction(std::forward<F>(f))); }

   private:
    friend class RegisterOperators;
    template <class F, class... Args> static CppFunction object(Args&&... args) {
      return KernelFunction::makeFromUnboxedFunctor<false, F>(std::make_unique<F>(std::forward<Args>(args)...)).function();
    }
    Options&& add(std::string key, CppFunction f);
    std::string text_;
    std::vector<CppFunction> kernels_;
    std::optional<AliasAnalysis> aliases_;
  };
  static Options options() { return {}; }

  RegisterOperators();
  ~RegisterOperators();
  RegisterOperators(RegisterOperators&&) noexcept;
  RegisterOperators& operator=(RegisterOperators&&) noexcept;

  // Errors: neither schema nor name, a schema that kernels do not tell and no text gives, two kernels for one key, another schema of the name.
  RegisterOperators&& op(Options&& options) &&;
  RegisterOperators& op(Options&& options) &;
  RegisterOperators&& op(const std::string& schema_or_name, Options&& o = options()) && { return std::move(*this).op(std::move(o).schema(schema_or_name)); }
  RegisterOperators& op(const std::string& schema_or_name, Options&& o = options()) & { return op(std::move(o).schema(schema_or_name)); }
  // A function for every key.
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Options>>>
  RegisterOperators&& op(const std::string& schema_or_name, F&& f, Options&& o = options()) && {
    return std::move(*this).op(std::move(o).schema(schema_or_name).catchAllKernel(std::forward<F>(f)));
  }
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Options>>>
  RegisterOperators& op(const std::string& schema_or_name, F&& f, Options&& o = options()) & {
    return op(std::move(o).schema(schema_or_name).catchAllKernel(std::forward<F>(f)));
  }
  // As in static registrations: RegisterOperators("ns::f", &f).
  template <class F> explicit RegisterOperators(const std::string& schema_or_name, F&& f, Options&& o = options()) {
    op(schema_or_name, std::forward<F>(f), std::move(o));
  }

 private:
  std::vector<RegistrationHandle> made_;
};

}  // namespace cresset::dispatch
