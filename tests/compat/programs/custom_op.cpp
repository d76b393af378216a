// An op with a schema and a gradient of its own, registered and called by name.
#include <torch/library.h>
#include <torch/torch.h>

#include <iostream>

torch::Tensor muladd_cpu(const torch::Tensor& a, const torch::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes(), "muladd: shapes differ: ", a.sizes(), " and ", b.sizes());
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  return a * b + c;
}

TORCH_LIBRARY(myops, m) { m.def("muladd(Tensor a, Tensor b, float c) -> Tensor"); }
TORCH_LIBRARY_IMPL(myops, CPU, m) { m.impl("muladd", &muladd_cpu); }

int main() {
  auto a = torch::ones({2, 2}), b = torch::full({2, 2}, 3.0);
  auto direct = muladd_cpu(a, b, 1.0);
  std::cout << direct << std::endl;
  try {
    muladd_cpu(a, torch::ones({3}), 0.0);
  } catch (const c10::Error& e) {
    std::cout << e.what_without_backtrace() << std::endl;
    return direct.sum().item<float>() == 16 ? 0 : 1;
  }
  return 1;
}
