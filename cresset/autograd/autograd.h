#pragma once
// backward and grad: the entry points of reverse mode.

#include <optional>

#include "cresset/autograd/grad_mode.h"
#include "cresset/autograd/variable.h"

namespace cresset {
namespace autograd {

// Adds the derivative of the sum of `tensors`, each weighted by its entry of `grad_tensors`, to the `grad()` of all leaves, or only
// of `inputs`. Entries may be undefined for tensors with one element. retain_graph defaults to create_graph.
// Errors: a tensor that does not require grad; a missing or misshapen gradient; a graph freed by an earlier call.
CRESSET_API void backward(const variable_list& tensors, const variable_list& grad_tensors = {}, std::optional<bool> retain_graph = std::nullopt,
                          bool create_graph = false, const variable_list& inputs = {});

// The derivative of the sum of `outputs`, each weighted by its entry of `grad_outputs`, with respect to each of `inputs`; no
// `grad()` changes. An input that the outputs do not depend on is an error, or an undefined tensor with allow_unused.
CRESSET_API variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs = {},
                               std::optional<bool> retain_graph = std::nullopt, bool create_graph = false, bool allow_unused = false);

}  // namespace autograd
}  // namespace cresset
