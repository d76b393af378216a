// torch::distributions under LibTorch's names, in C++17.
#include <torch/distributions.h>

#include <cstdio>

namespace D = torch::distributions;

int main() {
  torch::manual_seed(0);
  const D::Normal p(torch::zeros({3}), 1.0), q(0.5, 2.0);
  const torch::Tensor kl = D::kl_divergence(p, q);
  const D::Distribution any = D::Independent(p, 1);
  const bool good = kl.size(0) == 3 && any.event_shape().size() == 1 && any.log_prob(any.sample({4})).size(0) == 4 &&
                    D::biject_to(D::constraints::simplex())(torch::zeros({2})).size(0) == 3;
  std::printf("%s\n", any.str().c_str());
  return good ? 0 : 1;
}
