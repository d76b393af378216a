#include "cresset/kernels/conv/conv_onednn.h"

#include <algorithm>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/providers/onednn.h"

namespace cresset::kernels {

namespace {

// One plan of the provider, given back at the end of the scope.
class PlanRef {
 public:
  PlanRef(const OnednnTable* table, ConvKind kind, ScalarType dtype, ConvParams params, int64_t images, bool bias) : table_(table) {
    params.batch = images;
    if (images > 0) plan_ = table->plan(kind, dtype, &params, bias);
  }
  ~PlanRef() {
    if (plan_) table_->release(plan_);
  }
  PlanRef(const PlanRef&) = delete;
  PlanRef& operator=(const PlanRef&) = delete;
  const void* get() const { return plan_; }

 private:
  const OnednnTable* table_;
  const void* plan_ = nullptr;
};

// The batch in `units` pieces of `images` images, the last one smaller.
struct Cut {
  int64_t images, units, last;
  Cut(int64_t batch, int64_t most) : images((batch + most - 1) / most), units((batch + images - 1) / images), last(batch - (units - 1) * images) {}
};

const char* at(const void* data, int64_t elements, size_t size) { return static_cast<const char*>(data) + elements * static_cast<int64_t>(size); }
char* at(void* data, int64_t elements, size_t size) { return static_cast<char*>(data) + elements * static_cast<int64_t>(size); }

std::vector<float> as_floats(ScalarType dtype, const void* data, int64_t count) {
  std::vector<float> values(data ? count : 0);
  for (size_t i = 0; i < values.size(); i++)
    values[i] = dtype == ScalarType::Float ? static_cast<const float*>(data)[i] : static_cast<float>(static_cast<const BFloat16*>(data)[i]);
  return values;
}

constexpr int64_t kMostImages = 16;

// Forward and backward_input: a unit maps its images of `from` to its images of `to`.
bool map_images(ConvKind kind, ScalarType dtype, const ConvParams& params, const void* from, int64_t from_image, const void* weight, const void* bias, void* to,
                int64_t to_image) {
  const OnednnTable* table = onednn();
  if (!table) return false;
  const size_t size = element_size(dtype);
  const Cut cut(params.batch, kMostImages);
  const PlanRef whole(table, kind, dtype, params, cut.images, bias != nullptr), last(table, kind, dtype, params, cut.last, bias != nullptr);
  if (!whole.get() || !last.get()) return false;
  std::vector<float> wide_bias = as_floats(dtype, bias, params.out_channels);
  const auto room = [&](const PlanRef& plan) { return static_cast<int64_t>(table->weights_size(plan.get())); };
  const bool has_rest = cut.last != cut.images;
  const AlignedBuffer<char> packed(room(whole)), packed_last(has_rest ? room(last) : 0);
  table->pack_weights(whole.get(), weight, packed.data);
  if (has_rest) table->pack_weights(last.get(), weight, packed_last.data);
  parallel_for(0, cut.units, 1, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; u++) {
      const bool rest = u == cut.units - 1 && has_rest;
      const int64_t item = u * cut.images;
      table->run(rest ? last.get() : whole.get(), at(from, item * from_image, size), rest ? packed_last.data : packed.data, bias ? wide_bias.data() : nullptr,
                 at(to, item * to_image, size));
    }
  });
  return true;
}

template <class T> void store_sums(const float* partial, int64_t units, int64_t count, T* to) {
  for (int64_t i = 0; i < count; i++) {
    float sum = partial[i];
    for (int64_t u = 1; u < units; u++) sum += partial[u * count + i];
    to[i] = static_cast<T>(sum);
  }
}

}  // namespace

bool onednn_conv_forward(ScalarType dtype, const ConvParams& params, const void* input, const void* weight, const void* bias, void* output) {
  const ConvShape s(params);
  return map_images(ConvKind::forward, dtype, params, input, s.input_count() / s.batch, weight, bias, output, s.output_count() / s.batch);
}

int64_t onednn_conv_packed_bytes(ScalarType dtype, const ConvParams& params, bool bias) {
  const OnednnTable* table = onednn();
  if (!table || dtype != ScalarType::Float || params.batch > kMostImages) return 0;
  const PlanRef plan(table, ConvKind::forward, dtype, params, params.batch, bias);
  return plan.get() ? static_cast<int64_t>(table->weights_size(plan.get())) : 0;
}

void onednn_conv_pack(ScalarType dtype, const ConvParams& params, bool bias, const void* weight, void* packed) {
  const OnednnTable* table = onednn();
  const PlanRef plan(table, ConvKind::forward, dtype, params, params.batch, bias);
  table->pack_weights(plan.get(), weight, packed);
}

void onednn_conv_forward_packed(ScalarType dtype, const ConvParams& params, const void* input, const void* packed, const void* bias, void* output) {
  const OnednnTable* table = onednn();
  const PlanRef plan(table, ConvKind::forward, dtype, params, params.batch, bias != nullptr);
  table->run(plan.get(), input, packed, const_cast<void*>(bias), output);
}

bool onednn_conv_backward_input(ScalarType dtype, const ConvParams& params, const void* grad_output, const void* weight, void* grad_input) {
  const ConvShape s(params);
  return map_images(ConvKind::backward_input, dtype, params, grad_output, s.output_count() / s.batch, weight, nullptr, grad_input, s.input_count() / s.batch);
}

bool onednn_conv_backward_weight(ScalarType dtype, const ConvParams& params, const void* input, const void* grad_output, void* grad_weight, void* grad_bias) {
  const OnednnTable* table = onednn();
  if (!table) return false;
  const ConvShape s(params);
  const size_t size = element_size(dtype);
  const int64_t weights = s.weight_count(), channels = params.out_channels;
  // Partial sums of fixed pieces of the batch, added in order; one piece where the weights outweigh the images.
  const Cut cut(s.batch, weights > s.input_count() + s.output_count() ? 1 : 4);
  const bool bias = grad_bias != nullptr;
  const PlanRef whole(table, ConvKind::backward_weight, dtype, params, cut.images, bias), last(table, ConvKind::backward_weight, dtype, params, cut.last, bias);
  if (!whole.get() || !last.get()) return false;
  const bool direct = cut.units == 1 && dtype == ScalarType::Float;
  const AlignedBuffer<float> partial(direct ? 0 : cut.units * (weights + channels));
  float* const weight_sums = direct ? static_cast<float*>(grad_weight) : partial.data;
  float* const bias_sums = direct ? static_cast<float*>(grad_bias) : weight_sums + cut.units * weights;
  parallel_for(0, cut.units, 1, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; u++) {
      const int64_t item = u * cut.images;
      table->run(u == cut.units - 1 ? last.get() : whole.get(), at(input, item * (s.input_count() / s.batch), size),
                 at(grad_output, item * (s.output_count() / s.batch), size), bias ? bias_sums + u * channels : nullptr, weight_sums + u * weights);
    }
  });
  if (direct) return true;
  const auto store = [&](const float* from, int64_t count, void* to) {
    if (dtype == ScalarType::Float) return store_sums(from, cut.units, count, static_cast<float*>(to));
    store_sums(from, cut.units, count, static_cast<BFloat16*>(to));
  };
  store(weight_sums, weights, grad_weight);
  if (bias) store(bias_sums, channels, grad_bias);
  return true;
}

}  // namespace cresset::kernels
