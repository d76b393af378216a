#include "cresset/kernels/conv/conv_onednn.h"

#include <algorithm>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/common/scratch.h"
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

// The channels of one image, for few images in `count` pieces, each a convolution of its own: slices of the groups, or, where there is one
// group, slices of the result's channels, which all read the same image.
struct ChannelPieces {
  int64_t count = 1;
  bool shares_image = false;
  ConvParams params;  // of one piece

  ChannelPieces(ConvKind kind, const ConvParams& whole) : params(whole) {
    constexpr int64_t kFewImages = 4, kChannels = 64;  // narrower pieces are slower where there are several
    if (whole.batch > kFewImages) return;
    const bool forward = kind == ConvKind::forward, grouped = whole.groups > 1;
    const int64_t channels = grouped ? whole.groups : forward ? whole.out_channels : whole.in_channels;
    for (int64_t n = 8; n > 1 && count == 1; n /= 2)
      if (channels % (n * kChannels) == 0) count = n;
    if (count == 1 && channels % kChannels == 0) count = 2;
    shares_image = !grouped && count > 1;
    if (grouped) params.groups /= count;
    if (grouped || forward) params.out_channels /= count;
    if (grouped || !forward) params.in_channels /= count;
  }
};

// Forward and backward_input: a unit maps its images of `from`, or a piece of the channels of one, to those of `to`.
class Mapping {
 public:
  Mapping(const OnednnTable* table, ConvKind kind, ScalarType dtype, const ConvParams& params, bool bias)
      : table_(table),
        cut_(params.batch, kMostImages),
        pieces_(kind, params),
        whole_(table, kind, dtype, pieces_.params, cut_.images, bias),
        last_(table, kind, dtype, pieces_.params, cut_.last, bias),
        row_(params.in_channels / params.groups),
        size_(element_size(dtype)) {
    const ConvShape one(pieces_.params);
    const bool forward = kind == ConvKind::forward, slice = kind == ConvKind::backward_input && pieces_.shares_image;
    from_ = (forward ? one.input_count() : one.output_count()) / one.batch;
    to_ = (forward ? one.output_count() : one.input_count()) / one.batch;
    weights_ = slice ? one.in_per_group * one.kernel_size() : one.weight_count();
    channels_ = pieces_.params.out_channels;
  }
  bool available() const { return whole_.get() && last_.get(); }
  // Whether the last unit has fewer images, and so an order of the weights of its own.
  bool has_rest() const { return cut_.last != cut_.images; }
  int64_t packed_bytes(bool rest = false) const { return pieces_.count * piece_bytes(rest ? last_ : whole_); }
  void pack(const void* weight, void* packed, bool rest = false) const {
    const PlanRef& plan = rest ? last_ : whole_;
    parallel_for(0, pieces_.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) table_->pack_weights(plan.get(), at(weight, c * weights_, size_), row_, at(packed, c * piece_bytes(plan), 1));
    });
  }
  void run(const void* from, const void* packed, const void* packed_rest, const float* bias, void* to) const {
    const int64_t image_bytes = pieces_.shares_image ? static_cast<int64_t>(table_->first_size(whole_.get())) : 0;
    char* const images = image_bytes ? thread_scratch<char>(Scratch::conv, cut_.units * image_bytes) : nullptr;
    const int64_t image = pieces_.shares_image ? from_ : from_ * pieces_.count;
    if (images)
      parallel_for(0, cut_.units, 1, [&](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; u++) table_->pack_first(whole_.get(), at(from, u * image, size_), images + u * image_bytes);
      });
    parallel_for(0, cut_.units * pieces_.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const int64_t u = i / pieces_.count, c = i % pieces_.count;
        const bool rest = has_rest() && u == cut_.units - 1;
        const PlanRef& plan = rest ? last_ : whole_;
        const void* first = images ? images + u * image_bytes : at(from, u * cut_.images * image + (pieces_.shares_image ? 0 : c * from_), size_);
        table_->run(plan.get(), images != nullptr, first, at(rest ? packed_rest : packed, c * piece_bytes(plan), 1),
                    const_cast<float*>(bias ? bias + c * channels_ : nullptr), at(to, (u * cut_.images * pieces_.count + c) * to_, size_));
      }
    });
  }

 private:
  int64_t piece_bytes(const PlanRef& plan) const { return static_cast<int64_t>(table_->weights_size(plan.get())); }

  const OnednnTable* table_;
  Cut cut_;
  ChannelPieces pieces_;
  PlanRef whole_, last_;
  int64_t row_, from_, to_, weights_, channels_;  // `from_`, `to_`: elements of an image that a piece reads and writes
  size_t size_;
};

bool map_images(ConvKind kind, ScalarType dtype, const ConvParams& params, const void* from, const void* weight, const void* bias, void* to) {
  const OnednnTable* table = onednn();
  if (!table) return false;
  const Mapping mapping(table, kind, dtype, params, bias != nullptr);
  if (!mapping.available()) return false;
  const std::vector<float> wide_bias = as_floats(dtype, bias, params.out_channels);
  const AlignedBuffer<char> packed(mapping.packed_bytes()), packed_rest(mapping.has_rest() ? mapping.packed_bytes(true) : 0);
  mapping.pack(weight, packed.data);
  if (mapping.has_rest()) mapping.pack(weight, packed_rest.data, true);
  mapping.run(from, packed.data, packed_rest.data, bias ? wide_bias.data() : nullptr, to);
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
  return map_images(ConvKind::forward, dtype, params, input, weight, bias, output);
}

int64_t onednn_conv_packed_bytes(ScalarType dtype, const ConvParams& params, bool bias) {
  const OnednnTable* table = onednn();
  if (!table || dtype != ScalarType::Float || params.batch > kMostImages) return 0;
  const Mapping mapping(table, ConvKind::forward, dtype, params, bias);
  return mapping.available() ? mapping.packed_bytes() : 0;
}

void onednn_conv_pack(ScalarType dtype, const ConvParams& params, bool bias, const void* weight, void* packed) {
  Mapping(onednn(), ConvKind::forward, dtype, params, bias).pack(weight, packed);
}

void onednn_conv_forward_packed(ScalarType dtype, const ConvParams& params, const void* input, const void* packed, const void* bias, void* output) {
  Mapping(onednn(), ConvKind::forward, dtype, params, bias != nullptr).run(input, packed, nullptr, static_cast<const float*>(bias), output);
}

bool onednn_conv_backward_input(ScalarType dtype, const ConvParams& params, const void* grad_output, const void* weight, void* grad_input) {
  return map_images(ConvKind::backward_input, dtype, params, grad_output, weight, nullptr, grad_input);
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
      table->run(u == cut.units - 1 ? last.get() : whole.get(), false, at(input, item * (s.input_count() / s.batch), size),
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
