#pragma once
#include <new>
#include <stdexcept>
#include <utility>

#include "cresset/python/bind_module.h"
#include "torch/csrc/autograd/python_variable.h"
#include "torch/csrc/utils/pybind.h"
#include "torch/torch.h"

namespace torch {
namespace python {
using cresset::python_api::bind_module;
}
namespace detail {
// Errors of the standard library are RuntimeError in functions that load_inline binds, and not what pybind11 makes of them.
template <class F> auto as_runtime_error(F&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::logic_error& e) { throw std::runtime_error(e.what()); } catch (const std::bad_alloc& e) {
    throw std::runtime_error(e.what());
  }
}
}  // namespace detail
// The function as load_inline binds it.
template <class R, class... A> auto wrap_pybind_function(R (*f)(A...)) {
  return [f](A... args) -> R { return detail::as_runtime_error([&]() -> R { return f(std::forward<A>(args)...); }); };
}
}  // namespace torch
