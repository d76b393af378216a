#pragma once
// Parameters and buffers computed from others by modules. (Python: torch.nn.utils.parametrize.)
//
// A C++ layer reads a member, so the member is computed where the layer is called, by its holder or in a container: it is fresh in every
// forward. Outside, after an optimizer's step say, ask value(). Tensors that a module of your own keeps beside `weight` and `bias` has to be
// declared once (declare_member, cresset/nn/module/members.h). A parametrised module has no clone(); its state is saved and loaded like any other.

#include <optional>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "cresset/nn/module/members.h"

namespace cresset::nn::utils::parametrize {

// A module of any class with its forward, and its right_inverse if it has one.
struct Step {
  std::shared_ptr<Module> module;
  Tensor (*forward)(Module& module, const std::vector<Tensor>& originals) = nullptr;
  // The source of `value` in forward; null: the module has none.
  std::vector<Tensor> (*right_inverse)(Module& module, const Tensor& value) = nullptr;
  // right_inverse returns a tuple or a vector, not one tensor.
  bool several = false;
};

class ParametrizationListImpl;
namespace detail {
using MemberFinder = Tensor* (*)(Module& module, const std::string& name);
CRESSET_API void register_step(Module& module, const std::string& name, Tensor* member, Step step, bool unsafe);
CRESSET_API void remove_steps(Module& module, const std::string& name, bool leave_parametrized);
CRESSET_API void transfer(Module& from, Module& to, const std::string& name, MemberFinder member);
}  // namespace detail
// The parametrisations of a tensor; null where there are none.
CRESSET_API std::shared_ptr<ParametrizationListImpl> find_list(const Module& module, const std::string& name);
// The value computed now, which the member holds from then on; and setting it through the right inverses. Errors: no parametrisation.
CRESSET_API Tensor value(Module& module, const std::string& tensor_name);
CRESSET_API void set_value(Module& module, const std::string& tensor_name, const Tensor& value);

// The parametrisations of one tensor, applied in order, and what they start from: the parameter or buffer `original`, or `original0`, ...
class CRESSET_API ParametrizationListImpl : public Module {
 public:
  // Errors: no steps; a value of another shape or dtype than `original`, unless `unsafe`.
  ParametrizationListImpl(std::vector<Step> steps, Tensor original, bool is_buffer = false, bool unsafe = false);
  // The value.
  Tensor forward();
  // Sets the originals so that the value becomes this one. Errors: a module without right_inverse; another number of tensors or dtype.
  void right_inverse(const Tensor& value);
  std::vector<Tensor> originals() const;
  size_t size() const { return steps_.size(); }
  std::shared_ptr<Module> operator[](size_t index) const { return steps_.at(index).module; }
  const std::vector<Step>& steps() const { return steps_; }
  bool is_tensor() const { return is_tensor_; }
  bool is_buffer() const { return is_buffer_; }

 private:
  friend void detail::register_step(Module& module, const std::string& name, Tensor* member, Step step, bool unsafe);
  friend void detail::remove_steps(Module& module, const std::string& name, bool leave_parametrized);
  friend void detail::transfer(Module& from, Module& to, const std::string& name, detail::MemberFinder member);
  friend Tensor value(Module& module, const std::string& tensor_name);
  friend void set_value(Module& module, const std::string& tensor_name, const Tensor& value);
  friend class CachedGuard;
  CRESSET_LOCAL void append(Step step);

  std::vector<Step> steps_;
  bool is_tensor_ = true, is_buffer_ = false, unsafe_ = false;
  // The member that holds the value, of the module whose hook computes it.
  Tensor* member_ = nullptr;
  RemovableHandle hook_;
  Tensor cached_;
};
CRESSET_MODULE(ParametrizationList);

// While one lives, every parametrised tensor is computed once. (Python: parametrize.cached().)
class CRESSET_API CachedGuard {
 public:
  CachedGuard();
  ~CachedGuard();
  CachedGuard(const CachedGuard&) = delete;
  CachedGuard& operator=(const CachedGuard&) = delete;
};

CRESSET_API bool is_parametrized(const Module& module, const std::optional<std::string>& tensor_name = std::nullopt);

namespace detail {

template <class P, class = void> struct HasInverse : std::false_type {};
template <class P> struct HasInverse<P, std::void_t<decltype(std::declval<P&>().right_inverse(std::declval<const Tensor&>()))>> : std::true_type {};
template <class P, class... T> constexpr auto takes(int) -> decltype(std::declval<P&>().forward(std::declval<T>()...), true) { return true; }
template <class P, class... T> constexpr bool takes(...) { return false; }

inline std::vector<Tensor> as_list(const Tensor& t) { return {t}; }
inline std::vector<Tensor> as_list(std::vector<Tensor> list) { return list; }
template <class... T> std::vector<Tensor> as_list(const std::tuple<T...>& tensors) {
  return std::apply([](const auto&... t) { return std::vector<Tensor>{t...}; }, tensors);
}
[[noreturn]] CRESSET_API void throw_originals(const Module& module, size_t got, size_t expected);

template <class P> Step step_of(std::shared_ptr<P> module) {
  Step step;
  step.module = std::move(module);
  step.forward = [](Module& m, const std::vector<Tensor>& x) -> Tensor {
    P& own = static_cast<P&>(m);
    using T = const Tensor&;
    if constexpr (takes<P, const std::vector<Tensor>&>(0) && !takes<P, T>(0)) {
      return own.forward(x);
    } else if constexpr (takes<P, T, T>(0) && !takes<P, T>(0)) {
      if (x.size() != 2) throw_originals(m, x.size(), 2);
      return own.forward(x[0], x[1]);
    } else {
      if (x.size() != 1) throw_originals(m, x.size(), 1);
      return own.forward(x[0]);
    }
  };
  if constexpr (HasInverse<P>::value) {
    step.right_inverse = [](Module& m, const Tensor& value) { return as_list(static_cast<P&>(m).right_inverse(value)); };
    step.several = !std::is_convertible<decltype(std::declval<P&>().right_inverse(std::declval<const Tensor&>())), Tensor>::value;
  }
  return step;
}
template <class P> Step step_of(const ModuleHolder<P>& holder) { return step_of(holder.ptr()); }

}  // namespace detail

// Computes the parameter or buffer `tensor_name` by a module from now on: forward(Tensor), or of two tensors or a vector where its
// right_inverse returns that many. Several apply in order. With a right_inverse the tensor starts as what it was, and can be set.
// Errors: a name that is neither; a change of shape or dtype, unless `unsafe`; a member that is not known.
template <class M, class P> M& register_parametrization(M& module, const std::string& tensor_name, const P& parametrization, bool unsafe = false) {
  auto& own = nn::detail::module_of(module);
  detail::register_step(own, tensor_name, nn::detail::member_of(own, tensor_name), detail::step_of(parametrization), unsafe);
  return module;
}
// Makes a tensor an ordinary one again: with its value, or with its original one. Errors: it has no parametrisations; several originals that
// should be left.
template <class M> M& remove_parametrizations(M& module, const std::string& tensor_name, bool leave_parametrized = true) {
  detail::remove_steps(nn::detail::module_of(module), tensor_name, leave_parametrized);
  return module;
}
template <class M> bool is_parametrized(const ModuleHolder<M>& module, const std::optional<std::string>& tensor_name = std::nullopt) {
  return is_parametrized(static_cast<const Module&>(*module), tensor_name);
}
template <class M> Tensor value(const ModuleHolder<M>& module, const std::string& tensor_name) { return value(*module.ptr(), tensor_name); }
template <class M> void set_value(const ModuleHolder<M>& module, const std::string& tensor_name, const Tensor& tensor) {
  set_value(*module.ptr(), tensor_name, tensor);
}

// The class of a module: a parametrisation leaves it as it is.
inline const std::type_info& type_before_parametrizations(const Module& module) { return typeid(module); }
template <class M> const std::type_info& type_before_parametrizations(const ModuleHolder<M>& module) { return typeid(*module.ptr()); }

// Gives `to` copies of the parametrisations of `from`, for one tensor or for all, and their originals. Errors: there are none; a
// parametrisation that does not derive from Cloneable.
template <class From, class To> To& transfer_parametrizations_and_params(From& from, To& to, const std::string& tensor_name = {}) {
  auto& target = nn::detail::module_of(to);
  detail::transfer(nn::detail::module_of(from), target, tensor_name, &nn::detail::member_of_module<std::decay_t<decltype(target)>>);
  return to;
}

}  // namespace cresset::nn::utils::parametrize
