#include "cresset/ops/tensor_iterator.h"

#include <algorithm>

#include "cresset/base/parallel.h"
#include "cresset/core/default_dtype.h"
#include "cresset/core/result_type.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/pointwise/pointwise.h"
#include "cresset/ops/support.h"

namespace cresset {

TensorIteratorConfig& TensorIteratorConfig::add(const Tensor& t, bool output) {
  CRESSET_CHECK(!output || given_.empty() || given_.back().output, "TensorIterator: outputs are added before inputs");
  given_.push_back({t, output});
  return *this;
}

namespace {

DimVector strides_over(const Tensor& t, IntArrayRef shape) {
  DimVector out(shape.size(), 0);
  const auto item = static_cast<int64_t>(t.element_size());
  const size_t skipped = shape.size() - static_cast<size_t>(t.dim());
  for (size_t d = skipped; d < shape.size(); d++)
    if (t.sizes()[d - skipped] != 1) out[d] = t.strides()[d - skipped] * item;
  return out;
}

}  // namespace

TensorIterator TensorIteratorConfig::build() {
  CRESSET_CHECK(!given_.empty(), "TensorIterator: expected at least one tensor");
  TensorIterator iter;
  ResultType promoted;
  std::optional<DimVector> shape = static_shape_;
  std::optional<Device> device = static_device_;
  for (const Given& g : given_) {
    iter.outputs_ += g.output;
    CRESSET_CHECK(g.output || g.tensor.defined(), "TensorIterator: an input is undefined");
    if (!g.tensor.defined()) continue;
    if (!g.output) promoted.add(*g.tensor.impl());
    if (!static_shape_ && (!g.output || !resize_)) shape = shape ? ops::broadcast_shapes(*shape, g.tensor.sizes()) : DimVector(g.tensor.sizes());
    if (!device || (!g.output && g.tensor.dim() > 0)) device = g.tensor.device();
  }
  if (!shape && given_[0].tensor.defined()) shape = DimVector(given_[0].tensor.sizes());
  CRESSET_CHECK(shape && device, "TensorIterator: neither inputs nor outputs tell the shape");
  iter.shape_ = *shape;

  ScalarType common = promoted.get();
  if (common == ScalarType::Undefined && given_[0].tensor.defined()) common = given_[0].tensor.scalar_type();
  if (promote_to_float_ && is_integral_type(common, true)) common = get_default_dtype();
  if (static_dtype_) common = *static_dtype_;
  const bool one_dtype = promote_ || same_dtype_ || static_dtype_;
  if (one_dtype) iter.common_ = common;

  for (const Given& g : given_) {
    Tensor original = g.tensor;
    if (!original.defined()) {
      SmallVector<DimVector, 6> inputs;
      for (const Given& input : given_)
        if (!input.output) inputs.push_back(strides_over(input.tensor, *shape));
      original = empty_strided(*shape, ops::dense_strides(*shape, inputs), TensorOptions(*device).dtype(static_dtype_.value_or(common)));
    } else if (g.output && resize_ && !original.sizes().equals(*shape)) {
      ops::resize_output(original, *shape);
    } else if (g.output) {
      CRESSET_CHECK(original.sizes().equals(*shape), "TensorIterator: an output of shape ", original.sizes(), " does not hold the common shape ", *shape);
    }
    CRESSET_CHECK(!same_device_ || original.device() == *device || (!g.output && original.dim() == 0), "TensorIterator: expected all tensors on ", *device,
                  ", got one on ", original.device());
    Tensor own = original;
    if (same_dtype_ && !promote_) {
      CRESSET_CHECK(original.scalar_type() == common, "TensorIterator: expected all tensors of dtype ", common, ", got ", original.scalar_type());
    } else if (!g.output && promote_ && original.scalar_type() != common) {
      own = original.to(common);
    } else if (g.output && cast_outputs_ && original.scalar_type() != common) {
      if (safe_casting_) ops::check_castable("TensorIterator", common, original.scalar_type());
      own = empty_like(original, original.options().dtype(common));
    }
    if (own.impl()->is_lazy()) own = own.resolve_conj().resolve_neg();
    iter.operands_.push_back({own, original, strides_over(own, *shape)});
  }
  if (check_overlap_)
    for (int o = 0; o < iter.outputs_; o++) {
      ops::check_no_internal_overlap("TensorIterator", iter.output(o));
      for (int i = iter.outputs_; i < iter.ntensors(); i++)
        ops::check_no_partial_overlap("TensorIterator", iter.output(o), iter.operands_[static_cast<size_t>(i)].original);
    }
  return iter;
}

TensorIterator::~TensorIterator() = default;

TensorIterator TensorIterator::unary_op(Tensor& out, const Tensor& a) {
  return TensorIteratorConfig().add_output(out).add_input(a).promote_inputs_to_common_dtype(true).cast_common_dtype_to_outputs(true).build();
}
TensorIterator TensorIterator::unary_float_op(Tensor& out, const Tensor& a) {
  return TensorIteratorConfig()
      .add_output(out)
      .add_input(a)
      .promote_inputs_to_common_dtype(true)
      .promote_integer_inputs_to_float(true)
      .cast_common_dtype_to_outputs(true)
      .build();
}
TensorIterator TensorIterator::nullary_op(Tensor& out) { return TensorIteratorConfig().add_output(out).resize_outputs(false).build(); }
TensorIterator TensorIterator::borrowing_binary_op(const Tensor& out, const Tensor& a, const Tensor& b) {
  return TensorIteratorConfig().add_output(out).add_input(a).add_input(b).promote_inputs_to_common_dtype(true).cast_common_dtype_to_outputs(true).build();
}
TensorIterator TensorIterator::binary_op(Tensor& out, const Tensor& a, const Tensor& b) { return borrowing_binary_op(out, a, b); }
TensorIterator TensorIterator::binary_float_op(Tensor& out, const Tensor& a, const Tensor& b) {
  return TensorIteratorConfig()
      .add_output(out)
      .add_input(a)
      .add_input(b)
      .promote_inputs_to_common_dtype(true)
      .promote_integer_inputs_to_float(true)
      .cast_common_dtype_to_outputs(true)
      .build();
}
TensorIterator TensorIterator::comparison_op(Tensor& out, const Tensor& a, const Tensor& b) {
  if (!out.defined()) out = empty({0}, a.options().dtype(kBool));
  return TensorIteratorConfig().add_output(out).add_input(a).add_input(b).promote_inputs_to_common_dtype(true).build();
}

int64_t TensorIterator::numel() const {
  int64_t n = 1;
  for (const int64_t s : shape_) n *= s;
  return n;
}
bool TensorIterator::is_contiguous() const {
  return std::all_of(operands_.begin(), operands_.end(), [&](const Operand& o) { return o.tensor.sizes().equals(shape_) && o.tensor.is_contiguous(); });
}
ScalarType TensorIterator::common_dtype() const {
  CRESSET_CHECK(common_ != ScalarType::Undefined, "TensorIterator: no common dtype was asked for");
  return common_;
}

// Of the elements in row-major order those from `begin` on, in runs along the last dimension.
void TensorIterator::run_range(int64_t begin, int64_t end, Loop loop) const {
  const size_t n = operands_.size(), dims = shape_.size();
  SmallVector<char*, 8> data(n, nullptr);
  SmallVector<int64_t, 8> inner(n, 0);
  for (size_t i = 0; i < n; i++) inner[i] = dims ? operands_[i].strides[dims - 1] : 0;
  const int64_t row = dims ? shape_[dims - 1] : 1;
  for (int64_t at = begin; at < end;) {
    int64_t rest = at / row;
    const int64_t column = at % row, count = std::min(row - column, end - at);
    for (size_t i = 0; i < n; i++) data[i] = static_cast<char*>(operands_[i].tensor.data_ptr()) + column * inner[i];
    for (size_t d = dims; d-- > 1;) {
      const int64_t index = rest % shape_[d - 1];
      rest /= shape_[d - 1];
      for (size_t i = 0; i < n; i++) data[i] += index * operands_[i].strides[d - 1];
    }
    loop(data.data(), inner.data(), count);
    at += count;
  }
}

void TensorIterator::serial_for_each(Loop loop) const {
  const int64_t n = numel();
  if (n == 0) return;
  // Contiguous operands are one row.
  if (is_contiguous()) {
    SmallVector<char*, 8> data;
    SmallVector<int64_t, 8> steps;
    for (const Operand& o : operands_) {
      data.push_back(static_cast<char*>(o.tensor.data_ptr()));
      steps.push_back(static_cast<int64_t>(o.tensor.element_size()));
    }
    loop(data.data(), steps.data(), n);
    return;
  }
  run_range(0, n, loop);
}
void TensorIterator::run(Loop loop, int64_t grain) const {
  const int64_t n = numel();
  if (n <= grain || get_num_threads() == 1) return serial_for_each(loop);
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) { run_range(begin, end, loop); });
}
void TensorIterator::run_2d(Loop2d loop, int64_t grain) const {
  const size_t n = operands_.size();
  run(
      [&](char** data, const int64_t* strides, int64_t count) {
        SmallVector<int64_t, 16> both(strides, strides + n);
        both.resize(2 * n, 0);
        loop(data, both.data(), count, 1);
      },
      grain);
}

void TensorIterator::cast_outputs() {
  for (int i = 0; i < outputs_; i++) {
    Operand& o = operands_[static_cast<size_t>(i)];
    if (o.tensor.is_same(o.original)) continue;
    o.original.copy_(o.tensor);
  }
}

}  // namespace cresset
