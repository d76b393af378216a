// torch::linalg, torch::fft and torch::special under their names, with gradients and errors.
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <tuple>

#include "expect.h"

static bool near(const torch::Tensor& a, const torch::Tensor& b) { return torch::allclose(a, b, 1e-8, 1e-10); }

int main() {
  torch::manual_seed(1);
  const auto options = torch::dtype(torch::kDouble);
  const torch::Tensor x = torch::randn({2, 5, 5}, options), one = torch::eye(5, options);
  const torch::Tensor a = x.matmul(x.transpose(-2, -1)) + one, b = torch::randn({2, 5, 3}, options);

  check(near(a.matmul(torch::linalg::inv(a)), one.expand_as(a)), "inv");
  check(near(a.matmul(torch::linalg::solve(a, b, /*left=*/true)), b), "solve");
  const torch::Tensor factor = torch::linalg::cholesky(a);
  check(near(factor.matmul(factor.transpose(-2, -1)), a), "cholesky");
  check(near(torch::linalg::solve_triangular(factor, b, /*upper=*/false), torch::linalg::solve(factor, b)), "solve_triangular");
  check(near(torch::linalg::det(a).log(), torch::logdet(a)), "det");

  const auto [u, s, vh] = torch::linalg::svd(x, /*full_matrices=*/false);
  check(near((u * s.unsqueeze(-2)).matmul(vh), x), "svd");
  const auto [values, vectors] = torch::linalg::eigh(a, "L");
  check(near(vectors.matmul(values.unsqueeze(-1) * vectors.transpose(-2, -1)), a), "eigh");
  const auto [q, r] = torch::linalg::qr(x);
  check(near(q.matmul(r), x), "qr");
  const auto [ld, pivots] = torch::linalg::ldl_factor(a);
  check(near(torch::linalg::ldl_solve(ld, pivots, b), torch::linalg::solve(a, b)), "ldl_solve");
  check(near(torch::linalg::norm(x[0]), x[0].square().sum().sqrt()), "norm");
  check(near(torch::linalg::matrix_norm(x, 1), x.abs().sum(-2).amax(-1)), "matrix_norm");
  check(near(torch::linalg::matrix_power(x, 3), x.matmul(x).matmul(x)), "matrix_power");
  check(near(torch::linalg::pinv(x), torch::linalg::inv(x)), "pinv");
  check(torch::linalg::matrix_rank(torch::ones({3, 3})).item<int64_t>() == 1, "matrix_rank");

  // d log det A = A^-T
  torch::Tensor leaf = a[0].clone().requires_grad_();
  torch::logdet(leaf).backward();
  check(near(leaf.grad(), torch::linalg::inv(a[0]).transpose(-2, -1)), "the gradient of logdet");

  bool thrown = false;
  try {
    torch::linalg::inv(torch::zeros({2, 2}));
  } catch (const c10::Error& error) { thrown = std::string(error.what()).find("singular") != std::string::npos; }
  check(thrown, "a singular matrix is an error that says so");

  check(near(torch::fft::irfft(torch::fft::rfft(x), 5), x), "fft");
  check(near(torch::special::expit(x), torch::sigmoid(x)), "special");
  return failures;
}
