#pragma once
#include "cresset/python/bind_module.h"
#include "torch/csrc/autograd/python_variable.h"
#include "torch/csrc/utils/pybind.h"
#include "torch/torch.h"

namespace torch {
namespace python {
using cresset::python_api::bind_module;
}
// The function as load_inline binds it: errors become Python's by the translator that casters bring.
template <class R, class... A> constexpr auto wrap_pybind_function(R (*f)(A...)) { return f; }
template <class F> constexpr F wrap_pybind_function(F f) { return f; }
}  // namespace torch
