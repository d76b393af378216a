#pragma once
// Modules as functions of their parameters and buffers, for vmap and for derivatives by them. (Python: torch.func, torch.nn.utils.skip_init.)

#include <tuple>
#include <utility>
#include <vector>

#include "cresset/core/layers.h"
#include "cresset/nn/module/members.h"

namespace cresset::func {

using TensorDict = OrderedDict<std::string, Tensor>;

namespace detail {

using MemberFinder = Tensor* (*)(nn::Module& module, const std::string& name);

// Puts tensors in the place of those of a module for a scope.
class CRESSET_API ExchangedTensors {
 public:
  ExchangedTensors(nn::Module& module, MemberFinder root, const std::vector<TensorDict>& tensors, bool tie_weights, bool strict);
  ~ExchangedTensors();
  ExchangedTensors(const ExchangedTensors&) = delete;
  ExchangedTensors& operator=(const ExchangedTensors&) = delete;

 private:
  CRESSET_LOCAL void put(nn::Module& root_module, MemberFinder root, const std::string& path, const Tensor& value);
  CRESSET_LOCAL void restore();
  struct Saved {
    Tensor* place;
    Tensor value;
  };
  std::vector<Saved> saved_;
};

CRESSET_API std::pair<TensorDict, TensorDict> stack_module_state(const std::vector<const nn::Module*>& models);

}  // namespace detail

// Calls `module` with these tensors in place of its parameters and buffers of those names, which come back afterwards. Tied tensors are
// replaced together unless `tie_weights` is off. Errors: a name in several dictionaries; with `strict`, missing and unexpected names; a
// tensor of a class of your own whose member is not known (nn::declare_member).
template <class M, class... Args> auto functional_call(const nn::ModuleHolder<M>& module, const std::vector<TensorDict>& tensors, std::tuple<Args...> args,
                                                       bool tie_weights = true, bool strict = false) {
  nn::ModuleHolder<M> holder = module;
  const detail::ExchangedTensors exchanged(*holder, &nn::detail::member_of_module<M>, tensors, tie_weights, strict);
  return std::apply([&](auto&... arg) { return holder(arg...); }, args);
}
template <class M, class... Args>
auto functional_call(const nn::ModuleHolder<M>& module, const TensorDict& tensors, std::tuple<Args...> args, bool tie_weights = true, bool strict = false) {
  return functional_call(module, std::vector<TensorDict>{tensors}, std::move(args), tie_weights, strict);
}
template <class M>
auto functional_call(const nn::ModuleHolder<M>& module, const TensorDict& tensors, const Tensor& input, bool tie_weights = true, bool strict = false) {
  return functional_call(module, tensors, std::make_tuple(input), tie_weights, strict);
}

// The parameters and the buffers of modules of one class, stacked along a new first dimension: leaves that require grad where theirs do.
// Errors: no modules; different classes, modes or requirements of gradients.
template <class M> std::pair<TensorDict, TensorDict> stack_module_state(const std::vector<M>& models) {
  std::vector<const nn::Module*> all;
  for (const M& model : models) all.push_back(&nn::detail::module_of(model));
  return detail::stack_module_state(all);
}

// Makes every batch norm below `root` (included) use the statistics of the batch, always, and keep none of its own.
CRESSET_API void replace_all_batch_norm_modules_(nn::Module& root);
template <class M> const nn::ModuleHolder<M>& replace_all_batch_norm_modules_(const nn::ModuleHolder<M>& root) {
  replace_all_batch_norm_modules_(*root.ptr());
  return root;
}

}  // namespace cresset::func

namespace cresset::nn::utils {

namespace detail {
CRESSET_API void give_memory(Module& module);
}

// A module whose parameters and buffers have memory and no values; nothing is drawn: skip_init<Linear>(2, 3).
template <class Holder, class... Args> Holder skip_init(Args&&... args) {
  Holder module = [&] {
    const NoDataScope scope(NoData::Meta);
    return Holder(std::forward<Args>(args)...);
  }();
  detail::give_memory(*module);
  return module;
}

}  // namespace cresset::nn::utils
