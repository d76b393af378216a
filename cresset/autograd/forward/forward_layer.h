#pragma once
// Inside the room: what the layer of forward mode and the bookkeeping of tangents share.

#include "cresset/autograd/forward/forward_mode.h"
#include "cresset/autograd/forward/forward_rules.h"

namespace cresset::autograd {

// Transforms of functions nest in any order and share the layer.
constexpr Layer kTransformLayer = Layer::Vmap;

// The tangent of an open level, seen or not.
ForwardTangent* find_tangent(const Tensor& t, uint64_t level);
// Views of `base` made while a level was open.
variable_list views_without_tangent(const Tensor& base, uint64_t level);
// Gives `to`, which holds the same values, the tangents of all levels that it lacks.
void copy_tangents(const Tensor& from, const Tensor& to);

void forward_mode_layer(const dispatch::OpEntry& op, dispatch::Stack& stack);
// From now on the layer is there; before, nothing can wake it.
void register_transform_layer();

// An operator whose derivatives are those of the operators that its body calls.
bool is_composite(const dispatch::OpEntry& op);
void run_composite(const dispatch::OpEntry& op, dispatch::Stack& stack);
dispatch::Stack take_arguments(dispatch::Stack& stack, size_t n);

}  // namespace cresset::autograd
