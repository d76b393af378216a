#pragma once
// Batch, instance, layer and group normalisation, local response normalisation.

#include <optional>
#include <vector>

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

struct CRESSET_API BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  CRESSET_ARG(int64_t, num_features);
  CRESSET_ARG(double, eps) = 1e-5;
  // Absent: the running statistics are plain averages over all batches.
  CRESSET_ARG(std::optional<double>, momentum) = 0.1;
  CRESSET_ARG(bool, affine) = true;
  CRESSET_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

struct CRESSET_API InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  CRESSET_ARG(int64_t, num_features);
  CRESSET_ARG(double, eps) = 1e-5;
  CRESSET_ARG(double, momentum) = 0.1;
  CRESSET_ARG(bool, affine) = false;
  CRESSET_ARG(bool, track_running_stats) = false;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;

struct CRESSET_API LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  CRESSET_ARG(std::vector<int64_t>, normalized_shape);
  CRESSET_ARG(double, eps) = 1e-5;
  CRESSET_ARG(bool, elementwise_affine) = true;
};
struct CRESSET_API GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  CRESSET_ARG(int64_t, num_groups);
  CRESSET_ARG(int64_t, num_channels);
  CRESSET_ARG(double, eps) = 1e-5;
  CRESSET_ARG(bool, affine) = true;
};
struct CRESSET_API LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  CRESSET_ARG(int64_t, size);
  CRESSET_ARG(double, alpha) = 1e-4;
  CRESSET_ARG(double, beta) = 0.75;
  CRESSET_ARG(double, k) = 1.0;
};

// Affine parameters and running statistics over channels.
template <size_t D, class Derived, class Options> class CRESSET_API NormImplBase : public Cloneable<Derived> {
 public:
  explicit NormImplBase(const Options& o) : options(o) { NormImplBase::reset(); }
  void reset() override;
  void reset_running_stats();
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  Options options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  virtual void check_input(const Tensor& input) const = 0;
  virtual const char* class_name() const = 0;
};

#define CRESSET_DECLARE_NORM(Kind, D)                                                                        \
  class CRESSET_API Kind##Norm##D##dImpl;                                                                    \
  extern template class CRESSET_API NormImplBase<D, Kind##Norm##D##dImpl, Kind##NormOptions>;                \
  class CRESSET_API Kind##Norm##D##dImpl : public NormImplBase<D, Kind##Norm##D##dImpl, Kind##NormOptions> { \
   public:                                                                                                   \
    explicit Kind##Norm##D##dImpl(const Kind##NormOptions& options);                                         \
                                                                                                             \
   protected:                                                                                                \
    void check_input(const Tensor& input) const override;                                                    \
    const char* class_name() const override;                                                                 \
  };                                                                                                         \
  CRESSET_MODULE(Kind##Norm##D##d);
CRESSET_DECLARE_NORM(Batch, 1)
CRESSET_DECLARE_NORM(Batch, 2)
CRESSET_DECLARE_NORM(Batch, 3)
CRESSET_DECLARE_NORM(Instance, 1)
CRESSET_DECLARE_NORM(Instance, 2)
CRESSET_DECLARE_NORM(Instance, 3)
#undef CRESSET_DECLARE_NORM

class CRESSET_API LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape);
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LayerNormOptions options;
  Tensor weight, bias;
};
CRESSET_MODULE(LayerNorm);
CRESSET_IN_LAYERS(LayerNormImpl::LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))){})

class CRESSET_API GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels);
  explicit GroupNormImpl(const GroupNormOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  GroupNormOptions options;
  Tensor weight, bias;
};
CRESSET_MODULE(GroupNorm);
CRESSET_IN_LAYERS(GroupNormImpl::GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)){})

class CRESSET_API LocalResponseNormImpl : public detail::OptionsLayer<LocalResponseNormImpl, LocalResponseNormOptions> {
 public:
  LocalResponseNormImpl(int64_t size);
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(LocalResponseNorm);
CRESSET_IN_LAYERS(LocalResponseNormImpl::LocalResponseNormImpl(int64_t size) : LocalResponseNormImpl(LocalResponseNormOptions(size)){})
CRESSET_IN_LAYERS(LocalResponseNormImpl::LocalResponseNormImpl(const LocalResponseNormOptions& options) : OptionsLayer(options){})

namespace functional {

struct CRESSET_API BatchNormFuncOptions {
  CRESSET_ARG(Tensor, weight) = Tensor();
  CRESSET_ARG(Tensor, bias) = Tensor();
  CRESSET_ARG(bool, training) = false;
  CRESSET_ARG(std::optional<double>, momentum) = 0.1;
  CRESSET_ARG(double, eps) = 1e-5;
};
struct CRESSET_API InstanceNormFuncOptions {
  CRESSET_ARG(Tensor, running_mean) = Tensor();
  CRESSET_ARG(Tensor, running_var) = Tensor();
  CRESSET_ARG(Tensor, weight) = Tensor();
  CRESSET_ARG(Tensor, bias) = Tensor();
  CRESSET_ARG(bool, use_input_stats) = true;
  CRESSET_ARG(double, momentum) = 0.1;
  CRESSET_ARG(double, eps) = 1e-5;
};
struct CRESSET_API LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  CRESSET_ARG(std::vector<int64_t>, normalized_shape);
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(Tensor, bias) = {};
  CRESSET_ARG(double, eps) = 1e-5;
};
struct CRESSET_API GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  CRESSET_ARG(int64_t, num_groups);
  CRESSET_ARG(Tensor, weight) = {};
  CRESSET_ARG(Tensor, bias) = {};
  CRESSET_ARG(double, eps) = 1e-5;
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
struct CRESSET_API NormalizeFuncOptions {
  CRESSET_ARG(double, p) = 2.0;
  CRESSET_ARG(int64_t, dim) = 1;
  CRESSET_ARG(double, eps) = 1e-12;
  CRESSET_ARG(std::optional<Tensor>, out) = std::nullopt;
};

CRESSET_API Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const BatchNormFuncOptions& options = {});
CRESSET_API Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
CRESSET_API Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
CRESSET_API Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
CRESSET_API Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options);
// input / max(|input|_p, eps) along dim.
CRESSET_API Tensor normalize(const Tensor& input, NormalizeFuncOptions options = {});

}  // namespace functional

}  // namespace cresset::nn
