#pragma once
// Cosine similarity and pairwise distance.

#include "cresset/nn/module/layer.h"

namespace cresset::nn {

struct CRESSET_API CosineSimilarityOptions {
  CRESSET_ARG(int64_t, dim) = 1;
  CRESSET_ARG(double, eps) = 1e-8;
};
struct CRESSET_API PairwiseDistanceOptions {
  CRESSET_ARG(double, p) = 2.0;
  CRESSET_ARG(double, eps) = 1e-6;
  CRESSET_ARG(bool, keepdim) = false;
};

class CRESSET_API CosineSimilarityImpl : public detail::OptionsLayer<CosineSimilarityImpl, CosineSimilarityOptions> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& options = {});
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);
};
CRESSET_MODULE(CosineSimilarity);
CRESSET_IN_LAYERS(CosineSimilarityImpl::CosineSimilarityImpl(const CosineSimilarityOptions& options) : OptionsLayer(options){})

class CRESSET_API PairwiseDistanceImpl : public detail::OptionsLayer<PairwiseDistanceImpl, PairwiseDistanceOptions> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& options = {});
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);
};
CRESSET_MODULE(PairwiseDistance);
CRESSET_IN_LAYERS(PairwiseDistanceImpl::PairwiseDistanceImpl(const PairwiseDistanceOptions& options) : OptionsLayer(options){})

namespace functional {

using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;

CRESSET_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options = {});
// |x1 - x2 + eps|_p along the last dimension.
CRESSET_API Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options = {});
// The p-norm distance of every pair of rows, upper triangle row by row.
CRESSET_API Tensor pdist(const Tensor& input, double p = 2.0);

}  // namespace functional

}  // namespace cresset::nn
