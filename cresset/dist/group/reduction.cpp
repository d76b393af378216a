#include "cresset/dist/group/reduction.h"

#include "cresset/dist/errors.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/from_data.h"

namespace cresset::distributed {

namespace {

void combine(ReduceOp op, Tensor into, const Tensor& a, const Tensor& b) {
  switch (op.op_) {
    case ReduceOp::SUM:
    case ReduceOp::AVG: cresset::add_out(into, a, b); break;
    case ReduceOp::PRODUCT: cresset::mul_out(into, a, b); break;
    case ReduceOp::MIN: cresset::minimum_out(into, a, b); break;
    case ReduceOp::MAX: cresset::maximum_out(into, a, b); break;
    case ReduceOp::BAND: cresset::bitwise_and_out(into, a, b); break;
    case ReduceOp::BOR: cresset::bitwise_or_out(into, a, b); break;
    case ReduceOp::BXOR: cresset::bitwise_xor_out(into, a, b); break;
    default: throw Error("dist: the reduction is not known");
  }
}

const char* name_of(ReduceOp op) {
  static constexpr const char* kNames[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "UNUSED"};
  return kNames[op.op_];
}

}  // namespace

Reduction make_reduction(const char* name, ReduceOp op, ScalarType dtype) {
  const bool bits = op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR, order = op == ReduceOp::MIN || op == ReduceOp::MAX;
  CRESSET_CHECK(op.op_ <= ReduceOp::BXOR, name, ": the reduction ", name_of(op), " is one of NCCL's alone");
  CRESSET_CHECK(!bits || is_integral_type(dtype, true), name, ": expected an integer dtype for ", name_of(op), ", got ", dtype);
  CRESSET_CHECK_VALUE(!order || !is_complex_type(dtype), name, ": expected a dtype with an order for ", name_of(op), ", got ", dtype);
  return [op, options = TensorOptions(dtype)](void* into, const void* a, const void* b, size_t n) {
    const std::vector<int64_t> sizes = {static_cast<int64_t>(n)};
    auto tensor = [&](const void* data) { return cresset::from_blob(const_cast<void*>(data), sizes, options); };
    combine(op, tensor(into), tensor(a), tensor(b));
  };
}

}  // namespace cresset::distributed
