#pragma once
// Shared by the list forms of ops: `_foreach_add` and the like, whose bodies call the op on each element.

#include <initializer_list>
#include <vector>

#include "cresset/base/function_ref.h"
#include "cresset/dispatch/op.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

// Errors: an empty list, or lists of different lengths.
void check_lists(const char* name, std::initializer_list<size_t> sizes);
// Errors: a tensor of dimensions where one number is expected for all elements.
void check_single_number(const char* name, const Tensor& number);
// The elements of a vector of `n` numbers. Errors: another shape.
std::vector<Scalar> list_numbers(const char* name, const Tensor& numbers, size_t n);

// Not inlined, since ops on lists are many, and a call of one is no matter of a few instructions.
template <class... T> CRESSET_NOINLINE dispatch::Key list_key_of(const T&... args) { return dispatch::key_of(args...); }
template <class R, class... A> CRESSET_NOINLINE R list_call(const dispatch::Op<R(A...)>& op, dispatch::Key key, dispatch::TypeIdentity<A>... args) {
  return dispatch::call(op, key, static_cast<A>(args)...);
}

std::vector<Tensor> map_list(size_t n, FunctionRef<Tensor(size_t)> one);
void walk_list(size_t n, FunctionRef<void(size_t)> one);

}  // namespace cresset::ops
