// Which ops of other families run on sparse tensors, and with what.

#include <unordered_map>

#include "cresset/dispatch/registration.h"
#include "cresset/dispatch/registry.h"
#include "cresset/ops/sparse/sparse_math.h"

namespace cresset {

namespace {

using dispatch::Kernel;
using dispatch::OpEntry;

class Table {
 public:
  Table();
  const Kernel* find(const OpEntry& op, uint8_t backend) const {
    const auto& kernels = backend == kSparseBackend ? coo_ : compressed_;
    const auto at = kernels.find(&op);
    return at == kernels.end() ? nullptr : &at->second;
  }

 private:
  using Kernels = std::unordered_map<const OpEntry*, Kernel>;
  template <class F> static void put(Kernels& kernels, const char* op, F f) {
    const OpEntry& entry = dispatch::find_op(op).entry();
    Kernel kernel = dispatch::detail::make_kernel(f);
    CRESSET_CHECK(!kernel.signature || *kernel.signature == *entry.signature, "sparse kernels: the function for ", op, " does not fit ", entry.schema);
    kernels.emplace(&entry, std::move(kernel));
  }
  template <class F> void coo(const char* op, F f) { put(coo_, op, f); }
  template <class F> void both(const char* op, F f) {
    put(coo_, op, f);
    put(compressed_, op, f);
  }

  Kernels coo_, compressed_;
};

Table::Table() {
  namespace sparse = ops::sparse;
  // Functions that are 0 at 0.
  for (const char* op : {"abs",   "asin", "asinh",   "atan",  "atanh",    "ceil",     "conj_physical", "erf",        "erfinv", "expm1",
                         "floor", "frac", "isinf",   "isnan", "isneginf", "isposinf", "log1p",         "nan_to_num", "relu",   "round",
                         "sgn",   "sign", "signbit", "sin",   "sinh",     "sqrt",     "tan",           "tanh",       "trunc"})
    both(op, &sparse::on_values);
  for (const char* op : {"neg", "angle"}) both(op, &sparse::on_values);
  both("pow.Tensor_Scalar", &sparse::pow);
  both("add.Tensor", &sparse::add);
  both("add_.Tensor", &sparse::add_);
  both("add.Scalar", &sparse::add_number);
  both("sub.Tensor", &sparse::sub);
  both("sub_.Tensor", &sparse::sub_);
  both("sub.Scalar", &sparse::add_number);
  both("mul.Tensor", &sparse::mul);
  both("mul.Scalar", &sparse::mul_number);
  both("div.Tensor", &sparse::div);
  both("div.Scalar", &sparse::div_number);
  both("div.Scalar_mode", &sparse::div_number_mode);
  both("floor_divide", &sparse::floor_divide);
  both("floor_divide.Scalar", &sparse::floor_divide_number);
  both("linalg_vector_norm", &sparse::norm);
  both("div.Tensor_mode", &sparse::div_mode);
  both("sum", &sparse::sum);
  both("sum.dim_IntList", &sparse::sum_dims);
  both("any", &sparse::any);
  both("transpose.int", &sparse::transpose);
  both("t", &sparse::t);
  both("permute", &sparse::permute);
  both("threshold_backward", &sparse::threshold_backward);
  coo("squeeze.dim", &sparse::squeeze);
  coo("unsqueeze", &sparse::unsqueeze);
  both("select.int", &sparse::select);
  both("unbind.int", &sparse::unbind);
  coo("index_select", &sparse::index_select);
  coo("cat", &sparse::cat);
  both("mm", &sparse::mm);
  both("addmm", &sparse::addmm);
  both("mv", &sparse::mv);
  both("addmv", &sparse::addmv);
  both("bmm", &sparse::bmm);
  both("clone", &sparse::clone);
  both("_to_copy", &sparse::to_copy);
  both("copy_", &sparse::copy_);
  both("zero_", &sparse::zero_);
  both("resize_", &sparse::resize_);
  both("empty.memory_format", &sparse::empty);
  for (const char* op : {"normal_", "uniform_"}) both(op, &sparse::draw_values_);
}

}  // namespace

const dispatch::Kernel* dispatch::sparse_kernel(const OpEntry& op, uint8_t backend) {
  static const Table& table = *new Table;
  return table.find(op, backend);
}

}  // namespace cresset
