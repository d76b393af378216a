#pragma once
// The bodies of elementwise.h's templates, for the files that give `check`, `start`, `move` and `fields` for their options and states.
// Private to the room.

#include "cresset/optim/elementwise.h"
#include "cresset/optim/fields.h"
#include "cresset/optim/step_lists.h"

namespace cresset::optim {

namespace detail {

inline Tensor real_view(const Tensor& t) { return t.is_complex() ? cresset::view_as_real(t) : t; }

inline void check_betas(const char* name, const std::tuple<double, double>& betas) {
  const auto [beta1, beta2] = betas;
  CRESSET_CHECK_VALUE(beta1 >= 0 && beta1 < 1, name, ": invalid beta parameter at index 0, got ", beta1);
  CRESSET_CHECK_VALUE(beta2 >= 0 && beta2 < 1, name, ": invalid beta parameter at index 1, got ", beta2);
}
inline void check_not_negative(const char* name, const char* what, double value) { CRESSET_CHECK_VALUE(value >= 0, name, ": invalid ", what, " ", value); }

}  // namespace detail

template <class Derived> void OptionsWithRate<Derived>::serialize(serialize::OutputArchive& archive) const {
  fields(const_cast<Derived&>(static_cast<const Derived&>(*this)), [&](const char* key, const auto& value) { detail::write(archive, key, value); });
}
template <class Derived> void OptionsWithRate<Derived>::serialize(serialize::InputArchive& archive) {
  fields(static_cast<Derived&>(*this), [&](const char* key, auto& value) { detail::read(archive, key, value); });
}
template <class Derived> void ElementwiseParamState<Derived>::serialize(serialize::OutputArchive& archive) const {
  fields(const_cast<Derived&>(static_cast<const Derived&>(*this)), [&](const char* key, const auto& value) { detail::write(archive, key, value); });
}
template <class Derived> void ElementwiseParamState<Derived>::serialize(serialize::InputArchive& archive) {
  fields(static_cast<Derived&>(*this), [&](const char* key, auto& value) { detail::read(archive, key, value); });
}

template <class Options, class ParamState>
ElementwiseOptimizer<Options, ParamState>::ElementwiseOptimizer(const std::vector<OptimizerParamGroup>& param_groups, Options defaults)
    : Optimizer(param_groups, std::make_unique<Options>(defaults)) {
  for (const auto& group : param_groups_) check(static_cast<const Options&>(group.options()), group.params());
  check(defaults, {});
}

template <class Options, class ParamState> std::unique_ptr<OptimizerParamState> ElementwiseOptimizer<Options, ParamState>::make_state() const {
  return std::make_unique<ParamState>();
}

template <class Options, class ParamState> Tensor ElementwiseOptimizer<Options, ParamState>::step(LossClosure closure) {
  NoGradGuard guard;
  const Tensor loss = call(closure);
  detail::check_dense(param_groups_, "optimizer");
  // All states before the first parameter moves: one that cannot be made leaves every parameter as it is.
  for (const auto& group : param_groups_) {
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined() || state_.count(p.unsafeGetTensorImpl()) != 0) continue;
      ParamState fresh;
      start(p, fresh, static_cast<const Options&>(group.options()));
      state_of<ParamState>(p) = std::move(fresh);
    }
  }
  for (auto& group : param_groups_) {
    const Options& o = static_cast<const Options&>(group.options());
    detail::StepLists<ParamState> lists;
    for (const Tensor& p : group.params()) {
      if (!p.grad().defined()) continue;
      ParamState& state = state_of<ParamState>(p);
      state.step()++;
      lists.add(p, &state);
    }
    if (!lists.params.empty()) move(lists, o);
  }
  return loss;
}

// Makes the bodies of one optimizer.
#define CRESSET_ELEMENTWISE_OPTIMIZER(Name)               \
  template class OptionsWithRate<Name##Options>;          \
  template class ElementwiseParamState<Name##ParamState>; \
  template class ElementwiseOptimizer<Name##Options, Name##ParamState>;

}  // namespace cresset::optim
