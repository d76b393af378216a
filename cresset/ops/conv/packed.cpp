#include "cresset/ops/conv/packed.h"

#include <algorithm>

#include "cresset/base/parallel.h"
#include "cresset/kernels/conv/conv.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/ops/bodies_conv.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

PackedWeight::PackedWeight(const Tensor& weight, const std::optional<Tensor>& bias)
    : weight_(weight), bias_(bias && bias->defined() ? bias : std::nullopt), is_plain_(is_plain(weight) && (!bias_ || is_plain(*bias_))) {}
const float* PackedWeight::packed(int64_t count, FunctionRef<void(float*)> pack) const {
  std::call_once(once_, [&] {
    const Tensor room = empty({count}, weight_.options());
    pack(static_cast<float*>(room.data_ptr()));
    packed_ = room;
  });
  return static_cast<const float*>(packed_.data_ptr());
}

namespace {

// One value stands for all dimensions of space.
DimVector for_all(IntArrayRef list, size_t dims) { return list.size() == 1 ? DimVector(dims, list[0]) : DimVector(list); }

}  // namespace

PackedConv::PackedConv(const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups)
    : PackedWeight(weight, bias), groups_(groups) {
  const auto dims = static_cast<size_t>(std::max<int64_t>(weight.dim() - 2, 0));
  stride_ = for_all(stride, dims);
  padding_ = for_all(padding, dims);
  dilation_ = for_all(dilation, dims);
}
Tensor PackedConv::operator()(const Tensor& input) const {
  if (!is_plain() || !is_plain(input) || input.dim() != weight_.dim() || input.dim() < 3 || input.dim() > 5 || input.numel() == 0) return {};
  const auto dims = static_cast<size_t>(input.dim() - 2);
  const OutSpec spec = meta::convolution(input, weight_, bias_, stride_, padding_, dilation_, false, DimVector(dims, 0), groups_);
  kernels::ConvParams p;
  p.dims = static_cast<int>(dims);
  p.batch = input.size(0);
  p.in_channels = input.size(1);
  p.out_channels = weight_.size(0);
  p.groups = groups_;
  for (size_t d = 0; d < dims; d++) {
    p.input[d] = input.size(static_cast<int64_t>(d) + 2);
    p.kernel[d] = weight_.size(static_cast<int64_t>(d) + 2);
    p.stride[d] = stride_[d];
    p.padding[d] = padding_[d];
    p.dilation[d] = dilation_[d];
  }
  const kernels::ConvPacking packing = kernels::conv_packing(kFloat, p, bias() != nullptr);
  if (packing.count == 0) return {};
  const auto pack = [&](float* to) { kernels::conv_pack(p, bias() != nullptr, static_cast<const float*>(weight_.data_ptr()), to); };
  const float* weights = nullptr;
  if (packing.any_input) {
    weights = packed(packing.count, pack);
  } else {
    std::call_once(sized_once_, [&] {
      const Tensor room = empty({packing.count}, weight_.options());
      pack(static_cast<float*>(room.data_ptr()));
      sized_for_ = DimVector(input.sizes());
      sized_ = room;
    });
    if (input.sizes() != IntArrayRef(sized_for_)) return {};
    weights = static_cast<const float*>(sized_.data_ptr());
  }
  Tensor out = empty(spec.sizes, input.options());
  kernels::conv_forward_packed(p, static_cast<const float*>(input.data_ptr()), weights, bias(), static_cast<float*>(out.data_ptr()));
  return out;
}

Tensor PackedLinear::operator()(const Tensor& input) const {
  if (!is_plain() || !is_plain(input) || weight_.dim() != 2 || input.dim() < 1 || input.size(-1) != weight_.size(1) || input.numel() == 0) return {};
  const int64_t n = weight_.size(0), k = weight_.size(1), m = input.numel() / k;
  if ((bias_ && bias_->numel() != n) || !kernels::gemm_packs(true, m, n, k)) return {};
  DimVector shape(input.sizes());
  shape[shape.size() - 1] = n;
  Tensor out = empty(shape, input.options());
  auto* const c = static_cast<float*>(out.data_ptr());
  const auto* const a = static_cast<const float*>(input.data_ptr());
  const float* const b =
      packed(kernels::gemm_packed_count(n, k), [&](float* to) { kernels::gemm_pack(true, n, k, static_cast<const float*>(weight_.data_ptr()), k, to); });
  // Rows have sums of their own, so pieces of them give the same in any number of threads.
  parallel_for(0, m, std::max<int64_t>(48, 2000000 / (n * k)), [&](int64_t begin, int64_t end) {
    kernels::gemm_packed(end - begin, n, k, a + begin * k, k, b, {bias(), relu_}, c + begin * n, n);
  });
  return out;
}

}  // namespace cresset::ops
