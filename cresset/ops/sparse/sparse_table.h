#pragma once
// Inside the room: which ops of other families run on sparse tensors, and with what.

#include <unordered_map>
#include <unordered_set>

#include "cresset/dispatch/registration.h"
#include "cresset/ops/sparse/sparse_math.h"

namespace cresset::ops::sparse {

class Kernels {
 public:
  Kernels();  // from the columns `sparse` and `coo` of the rows; generated
  const dispatch::Kernel* find(const dispatch::OpEntry& op, uint8_t backend) const;

 private:
  using ByOp = std::unordered_map<const dispatch::OpEntry*, dispatch::Kernel>;
  template <class R, class... A> void put(const dispatch::Op<R(A...)>& op, R (*kernel)(A...), bool compressed) {
    add(op, dispatch::detail::make_kernel(kernel), compressed);
  }
  void put(const dispatch::OpEntry& op, void (*kernel)(const dispatch::OpEntry&, dispatch::Stack&), bool compressed);
  void add(const dispatch::OpEntry& op, const dispatch::Kernel& kernel, bool compressed);

  ByOp coo_, compressed_;
  std::unordered_set<const dispatch::OpEntry*> of_each_value_;  // nonlinear functions of the elements
  dispatch::Kernel in_place_;                                   // of these on COO tensors
};

}  // namespace cresset::ops::sparse
