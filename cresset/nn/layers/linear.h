#pragma once
// Identity, Linear, Bilinear, Flatten, Unflatten.

#include <string>
#include <utility>
#include <vector>

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

class CRESSET_API IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  IdentityImpl() = default;
  // Any arguments, all ignored.
  template <class Head, class... Tail, class = std::enable_if_t<!std::is_base_of<IdentityImpl, std::decay_t<Head>>::value>>
  explicit IdentityImpl(Head&&, Tail&&...) {}
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(Identity);

struct CRESSET_API LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  CRESSET_ARG(int64_t, in_features);
  CRESSET_ARG(int64_t, out_features);
  CRESSET_ARG(bool, bias) = true;
};

// input (*, in_features) -> (*, out_features): input * weight^T + bias.
class CRESSET_API LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features);
  explicit LinearImpl(const LinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LinearOptions options;
  Tensor weight, bias;
};
CRESSET_MODULE(Linear);
CRESSET_IN_LAYERS(LinearImpl::LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)){})

struct CRESSET_API BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  CRESSET_ARG(int64_t, in1_features);
  CRESSET_ARG(int64_t, in2_features);
  CRESSET_ARG(int64_t, out_features);
  CRESSET_ARG(bool, bias) = true;
};

// (*, in1_features), (*, in2_features) -> (*, out_features): input1^T * weight[k] * input2 + bias[k].
class CRESSET_API BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features);
  explicit BilinearImpl(const BilinearOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);

  BilinearOptions options;
  Tensor weight, bias;
};
CRESSET_MODULE(Bilinear);
CRESSET_IN_LAYERS(BilinearImpl::BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features)
                  : BilinearImpl(BilinearOptions(in1_features, in2_features, out_features)){})

struct CRESSET_API FlattenOptions {
  CRESSET_ARG(int64_t, start_dim) = 1;
  CRESSET_ARG(int64_t, end_dim) = -1;
};

class CRESSET_API FlattenImpl : public detail::OptionsLayer<FlattenImpl, FlattenOptions> {
 public:
  explicit FlattenImpl(const FlattenOptions& options = {});
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(Flatten);
CRESSET_IN_LAYERS(FlattenImpl::FlattenImpl(const FlattenOptions& options) : OptionsLayer(options){})

struct CRESSET_API UnflattenOptions {
  using namedshape_t = std::vector<std::pair<std::string, int64_t>>;
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  // A named dimension, which prints; tensors have no names, so that forward is an error.
  UnflattenOptions(std::string dimname, namedshape_t namedshape) : dim_(0), dimname_(std::move(dimname)), namedshape_(std::move(namedshape)) {}
  UnflattenOptions(const char* dimname, namedshape_t namedshape) : UnflattenOptions(std::string(dimname), std::move(namedshape)) {}
  CRESSET_ARG(int64_t, dim);
  CRESSET_ARG(std::vector<int64_t>, sizes);
  CRESSET_ARG(std::string, dimname);
  CRESSET_ARG(namedshape_t, namedshape);
};

class CRESSET_API UnflattenImpl : public detail::OptionsLayer<UnflattenImpl, UnflattenOptions> {
 public:
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes);
  UnflattenImpl(std::string dimname, UnflattenOptions::namedshape_t namedshape);
  explicit UnflattenImpl(const UnflattenOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
CRESSET_MODULE(Unflatten);
CRESSET_IN_LAYERS(UnflattenImpl::UnflattenImpl(int64_t dim, std::vector<int64_t> sizes) : UnflattenImpl(UnflattenOptions(dim, std::move(sizes))){})
CRESSET_IN_LAYERS(UnflattenImpl::UnflattenImpl(std::string dimname, UnflattenOptions::namedshape_t namedshape)
                  : UnflattenImpl(UnflattenOptions(std::move(dimname), std::move(namedshape))){})
CRESSET_IN_LAYERS(UnflattenImpl::UnflattenImpl(const UnflattenOptions& options) : OptionsLayer(options){})

namespace functional {
CRESSET_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
CRESSET_API Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
}  // namespace functional

}  // namespace cresset::nn
