#pragma once
// Control flow whose branches and bodies are functions of tensors: `cond`, `while_loop`, `map`, `scan`, `associative_scan`. docs/records/0020-control-flow.md.
//
// Functions give new tensors: they write none of their arguments and return none of them, nor views. Gradients, forward mode and vmap go through, as
// through the operators that run. On fake tensors every function runs once, so that a program that is captured sees all of them.

#include "cresset/transform/func.h"

namespace cresset {
namespace func {

// A function that cannot be a branch or a body: what it gives does not fit, or it writes or gives back what it got.
class CRESSET_API ControlFlowError : public Error {
  using Error::Error;
};

// `true_fn(operands)` where the one element of `predicate` is true, else `false_fn(operands)`. Under vmap with a predicate of each element both run, and
// without a predicate, of operands without data: the results of `true_fn` are like those of either.
// Errors: more than one element; ControlFlowError for branches that give other numbers, sizes or dtypes of tensors, which is found before either runs
// on data.
CRESSET_API Tensors cond(const Tensor& predicate, const Function& true_fn, const Function& false_fn, const Tensors& operands);

// `carried = body(carried)` as long as `condition(carried)`, one bool, is true; under vmap for each element as long as its own is.
// Errors: ControlFlowError for a condition of another dtype or number of elements, and for a body that gives other numbers, sizes or dtypes of tensors
// than it got.
CRESSET_API Tensors while_loop(const Function& condition, const Function& body, Tensors carried);

// `f` of each slice along the first dimension, the results stacked. `others` are the same for all slices and come after these. Errors: no slices, or
// different numbers of them.
CRESSET_API Tensors map(const Function& f, const Tensors& xs, const Tensors& others = {});

struct CRESSET_API ScanResult {
  Tensors carry, outputs;
};
// `combine(carry..., x...) -> (carry..., output...)` from slice to slice along `dim`, backwards if `reverse`: the last carry, and the outputs stacked along
// a new first dimension. Errors: as of `map`; a carry that does not keep its number, sizes and dtypes.
CRESSET_API ScanResult scan(const Function& combine, const Tensors& init, const Tensors& xs, int64_t dim = 0, bool reverse = false);

// Prefixes of an associative function of two groups of tensors, `combine(left..., right...) -> (combined...)`, along `dim`: about 2 log2(n) calls, each of
// which gets many slices at once, as a batch of vmap. Errors: as of `map`.
CRESSET_API Tensors associative_scan(const Function& combine, const Tensors& xs, int64_t dim, bool reverse = false);

}  // namespace func
}  // namespace cresset
