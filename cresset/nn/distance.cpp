#include "cresset/nn/distance.h"

#include <ostream>

namespace cresset::nn {

void CosineSimilarityImpl::pretty_print(std::ostream& stream) const {
  stream << "torch::nn::CosineSimilarity(dim=" << options.dim() << ", eps=" << options.eps() << ")";
}
Tensor CosineSimilarityImpl::forward(const Tensor& input1, const Tensor& input2) {
  return functional::cosine_similarity(input1, input2, options);
}

void PairwiseDistanceImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "torch::nn::PairwiseDistance(p=" << options.p() << ", eps=" << options.eps() << ", keepdim=" << options.keepdim()
         << ")";
}
Tensor PairwiseDistanceImpl::forward(const Tensor& input1, const Tensor& input2) {
  return functional::pairwise_distance(input1, input2, options);
}

namespace functional {

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& o) {
  return cresset::cosine_similarity(x1, x2, o.dim(), o.eps());
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& o) {
  return (x1 - x2 + o.eps()).norm(o.p(), -1, o.keepdim());
}

Tensor pdist(const Tensor& input, double p) {
  CRESSET_CHECK(input.dim() == 2, "pdist: input must have 2 dimensions, got shape ", input.sizes());
  const int64_t n = input.size(0);
  if (n < 2) return input.new_zeros({0});
  std::vector<Tensor> rows;
  for (int64_t i = 0; i + 1 < n; i++) rows.push_back((input.narrow(0, i + 1, n - i - 1) - input.narrow(0, i, 1)).norm(p, 1, false));
  return cresset::cat(rows);
}

}  // namespace functional
}  // namespace cresset::nn
