// A kernel of a program's own over at::vec: a fused bias and activation, a row-wise softmax, in float and bfloat16.
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/native/cpu/Loops.h>
#include <torch/torch.h>

#include "expect.h"

namespace {

template <class scalar_t> at::Tensor bias_relu(const at::Tensor& x, const at::Tensor& bias) {
  using Vec = at::vec::Vectorized<at::opmath_type<scalar_t>>;
  at::Tensor out = at::empty_like(x);
  const int64_t columns = x.size(1);
  at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row++)
      at::vec::map2<scalar_t>([](Vec a, Vec b) { return at::vec::maximum(a + b, Vec(0)); }, out.data_ptr<scalar_t>() + row * columns,
                              x.data_ptr<scalar_t>() + row * columns, bias.data_ptr<scalar_t>(), columns);
  });
  return out;
}

at::Tensor softmax_of_rows(const at::Tensor& x) {
  using Vec = at::vec::Vectorized<float>;
  at::Tensor out = at::empty_like(x);
  const int64_t n = x.size(1);
  for (int64_t row = 0; row < x.size(0); row++) {
    const float* in = x.data_ptr<float>() + row * n;
    float* to = out.data_ptr<float>() + row * n;
    const float most = at::vec::reduce_all<float>([](Vec& a, Vec& b) { return at::vec::maximum(a, b); }, in, n);
    at::vec::map<float>([most](Vec a) { return (a - Vec(most)).exp(); }, to, in, n);
    const float sum = at::vec::reduce_all<float>([](Vec& a, Vec& b) { return a + b; }, to, n);
    at::vec::map<float>([sum](Vec a) { return a / Vec(sum); }, to, to, n);
  }
  return out;
}

// Whole vectors, then the rest.
void scale_in_place(at::Tensor& x, float by) {
  using Vec = at::vec::Vectorized<float>;
  float* data = x.data_ptr<float>();
  int64_t i = 0;
  for (; i <= x.numel() - Vec::size(); i += Vec::size()) (Vec::loadu(data + i) * Vec(by)).store(data + i);
  const auto rest = static_cast<int>(x.numel() - i);
  if (rest > 0) (Vec::loadu(data + i, rest) * Vec(by)).store(data + i, rest);
}

}  // namespace

int main() {
  torch::manual_seed(0);
  const auto x = torch::randn({5, 37}), bias = torch::randn({37});
  CHECK_THAT(bias_relu<float>(x, bias).allclose(torch::relu(x + bias)));
  const auto low = x.to(torch::kBFloat16), low_bias = bias.to(torch::kBFloat16);
  CHECK_THAT(bias_relu<c10::BFloat16>(low, low_bias).equal(torch::relu(low + low_bias)));
  CHECK_THAT(softmax_of_rows(x).allclose(torch::softmax(x, 1)));
  auto scaled = x.clone();
  scale_in_place(scaled, 3);
  CHECK_THAT(scaled.equal(x * 3));

  at::Tensor made;
  auto iter = at::TensorIterator::unary_op(made, x);
  at::native::cpu_kernel_vec(
      iter, [](float a) -> float { return a * a; }, [](at::vec::Vectorized<float> a) { return a * a; });
  CHECK_THAT(iter.output().equal(x * x));

  const at::vec::Vectorized<c10::qint8> q(c10::qint8(3));
  CHECK_THAT(q[0] == 3 && at::vec::Vectorized<float>::size() * 4 == VECTOR_WIDTH);
  return failures;
}
