#pragma once
// Layers whose first input tells how many features or channels they take. Until then their parameters have no shape: every op refuses
// them, and so do optimizers. Afterwards they are what the eager layers are, with the same random numbers. (Python: torch.nn.Lazy*.)

#include "cresset/nn/layers/conv.h"
#include "cresset/nn/layers/linear.h"
#include "cresset/nn/layers/normalization.h"

namespace cresset::nn {

// A parameter without a shape: of the dtype and on the device of `options`.
class CRESSET_API UninitializedParameter : public Tensor {
 public:
  explicit UninitializedParameter(const TensorOptions& options = {}, bool requires_grad = true);
  // An ordinary tensor of that shape from now on, without values. Errors: it has a shape already.
  void materialize(IntArrayRef shape, std::optional<Device> device = std::nullopt, std::optional<ScalarType> dtype = std::nullopt);
};
class CRESSET_API UninitializedBuffer : public UninitializedParameter {
 public:
  explicit UninitializedBuffer(const TensorOptions& options = {}) : UninitializedParameter(options, false) {}
};
// Whether a tensor still has no shape.
CRESSET_API bool is_lazy(const Tensor& tensor);
CRESSET_API bool has_uninitialized_params(const Module& module);

namespace detail {

// The parameters, and the buffers of floating point dtype, lose their shapes; the others are made anew.
CRESSET_API void forget_shapes(Module& module);
// Uninitialised tensors get the shapes of those of `like`.
CRESSET_API void adopt_shapes(Module& module, const Module& like);
// The size of the dimension before the `spatial` last ones, which all inputs have, and a batch perhaps. Errors: other numbers of dimensions.
CRESSET_API int64_t lazy_channels(const Module& module, const Tensor& input, int64_t spatial);
CRESSET_API void save_lazy(const Module& module, serialize::OutputArchive& archive);
CRESSET_API void load_lazy(Module& module, serialize::InputArchive& archive);
CRESSET_API void move_lazy(Module& module, std::optional<Device> device, std::optional<ScalarType> dtype, bool non_blocking);
CRESSET_API void copy_lazy(const Module& module, Module& copy, const std::optional<Device>& device);
CRESSET_API void print_lazy(const Module& module, std::ostream& stream, void (*print_eager)(const Module&, std::ostream&));

template <class Options> Options with_inputs(Options o, int64_t n) { return std::move(o.in_channels(n)); }
inline LinearOptions with_inputs(LinearOptions o, int64_t n) { return o.in_features(n); }
inline BatchNormOptions with_inputs(BatchNormOptions o, int64_t n) { return o.num_features(n); }
inline InstanceNormOptions with_inputs(InstanceNormOptions o, int64_t n) { return o.num_features(n); }

// `Base` with nothing known of its inputs, until initialize_parameters.
template <class Derived, class Base, class Options> class LazyLayer : public Base {
 public:
  bool has_uninitialized_params() const { return nn::has_uninitialized_params(*this); }
  // Shapes and values of the parameters, for inputs like this one. Nothing happens where they are there.
  void initialize_parameters(const Tensor& input) {
    if (CRESSET_LIKELY(inputs_ != 0)) return;
    const int64_t inputs = count(input);
    if (has_uninitialized_params()) {
      adopt_shapes(*this, *shapes(lazy_, inputs));
      this->reset_parameters();
    }
    take_inputs(inputs);
  }

  void save(serialize::OutputArchive& archive) const override { save_lazy(*this, archive); }
  void load(serialize::InputArchive& archive) override { load_lazy(*this, archive); }
  void to(Device device, ScalarType dtype, bool non_blocking = false) override { move_lazy(*this, device, dtype, non_blocking); }
  void to(ScalarType dtype, bool non_blocking = false) override { move_lazy(*this, std::nullopt, dtype, non_blocking); }
  void to(Device device, bool non_blocking = false) override { move_lazy(*this, device, std::nullopt, non_blocking); }
  void pretty_print(std::ostream& stream) const override {
    print_lazy(*this, stream, [](const Module& m, std::ostream& s) { static_cast<const LazyLayer&>(m).Base::pretty_print(s); });
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    const auto copy = std::make_shared<Derived>(lazy_);
    if (inputs_) copy->take_inputs(inputs_);
    copy_lazy(*this, *copy, device);
    return copy;
  }

 protected:
  // `example` is what the eager layer takes: the least number of inputs that the options allow.
  LazyLayer(const Options& options, int64_t example) : Base(*shapes(options, example)), lazy_(options) {
    this->options = with_inputs(this->options, 0);
    forget_shapes(*this);
  }
  virtual int64_t count(const Tensor& input) const = 0;

 private:
  static std::unique_ptr<Base> shapes(const Options& options, int64_t inputs) {
    // Neither memory nor numbers are needed for a shape.
    const NoDataScope scope(NoData::Meta);
    return std::make_unique<Base>(with_inputs(options, inputs));
  }
  void take_inputs(int64_t n) {
    inputs_ = n;
    this->options = with_inputs(this->options, n);
  }

  Options lazy_;
  int64_t inputs_ = 0;
};

}  // namespace detail

struct LazyLinearOptions : LinearOptions {
  LazyLinearOptions(int64_t out_features) : LinearOptions(0, out_features) {}
};
class LazyLinearImpl : public detail::LazyLayer<LazyLinearImpl, LinearImpl, LinearOptions> {
 public:
  explicit LazyLinearImpl(int64_t out_features) : LazyLinearImpl(LazyLinearOptions(out_features)) {}
  explicit LazyLinearImpl(const LinearOptions& options) : LazyLayer(options, 1) {}
  Tensor forward(const Tensor& input) {
    initialize_parameters(input);
    return LinearImpl::forward(input);
  }

 protected:
  int64_t count(const Tensor& input) const override { return input.size(-1); }
};
CRESSET_MODULE(LazyLinear);

template <size_t D> struct LazyConvOptions : ConvOptions<D> {
  LazyConvOptions(int64_t out_channels, ExpandingArray<D> kernel_size) : ConvOptions<D>(0, out_channels, kernel_size) {}
};
template <size_t D> struct LazyConvTransposeOptions : ConvTransposeOptions<D> {
  LazyConvTransposeOptions(int64_t out_channels, ExpandingArray<D> kernel_size) : ConvTransposeOptions<D>(0, out_channels, kernel_size) {}
};
struct LazyBatchNormOptions : BatchNormOptions {
  LazyBatchNormOptions() : BatchNormOptions(0) {}
};
struct LazyInstanceNormOptions : InstanceNormOptions {
  LazyInstanceNormOptions() : InstanceNormOptions(0) {}
};

#define CRESSET_LAZY_CONV(Kind, D)                                                                                                    \
  using LazyConv##Kind##D##dOptions = LazyConv##Kind##Options<D>;                                                                     \
  class LazyConv##Kind##D##dImpl : public detail::LazyLayer<LazyConv##Kind##D##dImpl, Conv##Kind##D##dImpl, Conv##Kind##Options<D>> { \
   public:                                                                                                                            \
    LazyConv##Kind##D##dImpl(int64_t out_channels, ExpandingArray<D> kernel_size)                                                     \
        : LazyConv##Kind##D##dImpl(LazyConv##Kind##Options<D>(out_channels, kernel_size)) {}                                          \
    explicit LazyConv##Kind##D##dImpl(const Conv##Kind##Options<D>& options) : LazyLayer(options, options.groups()) {}                \
    CRESSET_LAZY_FORWARD##Kind(Conv##Kind##D##dImpl)                                                                                  \
                                                                                                                                      \
        protected : int64_t count(const Tensor& input) const override {                                                               \
      return detail::lazy_channels(*this, input, D);                                                                                  \
    }                                                                                                                                 \
  };                                                                                                                                  \
  CRESSET_MODULE(LazyConv##Kind##D##d);
#define CRESSET_LAZY_FORWARD(Base)      \
  Tensor forward(const Tensor& input) { \
    initialize_parameters(input);       \
    return Base::forward(input);        \
  }
#define CRESSET_LAZY_FORWARDTranspose(Base)                                                           \
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt) { \
    initialize_parameters(input);                                                                     \
    return Base::forward(input, output_size);                                                         \
  }
#define CRESSET_LAZY_NORM(Kind, D, channels)                                                                                         \
  using Lazy##Kind##Norm##D##dOptions = Lazy##Kind##NormOptions;                                                                     \
  class Lazy##Kind##Norm##D##dImpl : public detail::LazyLayer<Lazy##Kind##Norm##D##dImpl, Kind##Norm##D##dImpl, Kind##NormOptions> { \
   public:                                                                                                                           \
    explicit Lazy##Kind##Norm##D##dImpl(const Kind##NormOptions& options = Lazy##Kind##NormOptions()) : LazyLayer(options, 1) {}     \
    CRESSET_LAZY_FORWARD(Kind##Norm##D##dImpl)                                                                                       \
                                                                                                                                     \
   protected:                                                                                                                        \
    int64_t count(const Tensor& input) const override {                                                                              \
      check_input(input);                                                                                                            \
      return input.size(channels);                                                                                                   \
    }                                                                                                                                \
  };                                                                                                                                 \
  CRESSET_MODULE(Lazy##Kind##Norm##D##d);
#define CRESSET_LAZY_LAYERS(D)    \
  CRESSET_LAZY_CONV(, D)          \
  CRESSET_LAZY_CONV(Transpose, D) \
  CRESSET_LAZY_NORM(Batch, D, 1)  \
  CRESSET_LAZY_NORM(Instance, D, -D - 1)
CRESSET_LAZY_LAYERS(1)
CRESSET_LAZY_LAYERS(2)
CRESSET_LAZY_LAYERS(3)
#undef CRESSET_LAZY_LAYERS
#undef CRESSET_LAZY_NORM
#undef CRESSET_LAZY_CONV
#undef CRESSET_LAZY_FORWARD
#undef CRESSET_LAZY_FORWARDTranspose

}  // namespace cresset::nn
