#pragma once
// The lists that a step's operator (ops/optim.toml) takes: the parameters of a group that have a gradient, with their states.
// Private to the room.

#include <utility>
#include <vector>

#include "cresset/ops/list_functions.h"
#include "cresset/optim/optimizer.h"

namespace cresset::optim::detail {

template <class ParamState> struct StepLists {
  std::vector<Tensor> params, grads;
  std::vector<ParamState*> states;

  void add(const Tensor& p, ParamState* state) {
    params.push_back(p);
    grads.push_back(p.grad());
    states.push_back(state);
  }
  // The tensors that `entry` gives of each state.
  template <class F> std::vector<Tensor> list(F&& entry) const {
    std::vector<Tensor> tensors;
    tensors.reserve(states.size());
    for (ParamState* state : states) tensors.push_back(entry(*state));
    return tensors;
  }
  // How many steps each has made; equal counts share a tensor.
  std::vector<Tensor> steps() const {
    std::vector<Tensor> tensors;
    tensors.reserve(states.size());
    for (size_t i = 0; i < states.size(); i++) {
      const bool same = i > 0 && states[i]->step() == states[i - 1]->step();
      tensors.push_back(same ? tensors.back() : cresset::full({}, static_cast<double>(states[i]->step()), kDouble));
    }
    return tensors;
  }
};

inline Tensor zeros_beside(const Tensor& p) { return cresset::zeros_like(p, MemoryFormat::Preserve); }

// Errors: a gradient that is not dense. Asked before a step changes anything, so that all parameters are moved or none.
CRESSET_API void check_dense(const std::vector<OptimizerParamGroup>& groups, const char* name);

}  // namespace cresset::optim::detail
