// Operators by the names of their overloads and on the meta device, and what streams print.
#include <ATen/ATen.h>
#include <ATen/MetaFunctions.h>
#include <ATen/Operators.h>
#include <torch/torch.h>

#include <map>
#include <sstream>

#include "expect.h"

template <class F, F function, class Result, class... Args> Result through(Args... args) { return function(std::forward<Args>(args)...); }

void overloads() {
  at::Tensor a = at::full({2}, 3.0), b = at::full({2}, 2.0);
  const auto product = through<decltype(&ATEN_FN2(mul, Tensor)), &ATEN_FN2(mul, Tensor), at::Tensor, const at::Tensor&, const at::Tensor&>(a, b);
  same(product.equal(at::full({2}, 6.0)), true, "mul");
  auto& changed = through<decltype(&ATEN_FN2(mul_, Tensor)), &ATEN_FN2(mul_, Tensor), at::Tensor&, at::Tensor&, const at::Tensor&>(a, b);
  same(changed.is_same(a) && a.equal(product), true, "mul_");
  at::Tensor out = at::empty({2});
  through<decltype(&ATEN_FN2(sin, out)), &ATEN_FN2(sin, out), at::Tensor&, const at::Tensor&, at::Tensor&>(a, out);
  same(out.equal(at::_ops::sin::call(a)), true, "sin");
  same(std::get<0>(at::_ops::std_mean_dim::call(a, std::vector<int64_t>{0}, true, false)).item<double>(), 0.0, "an operator that is called std_mean");
}

void without_values() {
  const auto sum = at::meta::add(at::ones({4}), at::ones({3, 4}, at::kDouble));
  same(sum.device(), at::Device(at::kMeta), "device");
  same(sum.sizes() == at::IntArrayRef({3, 4}) && sum.scalar_type() == at::kDouble, true, "shape and dtype");
  same(at::meta::mm(at::ones({2, 3}), at::ones({3, 5})).sizes() == at::IntArrayRef({2, 5}), true, "mm");
}

template <class T> std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void streams() {
  same(text(std::vector<int>{1, 2, 3}), "1 2 3", "vector");
  same(text(std::map<std::string, double>{{"a", 0.5}, {"b", 2}}), "(a, 0.5) (b, 2)", "map");
  same(text(std::vector<int>(102, 7)).substr(195), " 7 7 ...", "the first hundred");
  same(text(torch::tensor(2.1972246170043945)), "2.1972246170043945\n[ CPUFloatType{} ]", "all digits of one number");
  same(text(torch::tensor(1e10, torch::kDouble)) + text(torch::tensor(1e16, torch::kDouble)), "10000000000\n[ CPUDoubleType{} ]1e+16\n[ CPUDoubleType{} ]",
       "large");
  same(text(torch::tensor(1e-4, torch::kDouble)) + text(torch::tensor(1e-5, torch::kDouble)), "0.0001\n[ CPUDoubleType{} ]1e-05\n[ CPUDoubleType{} ]", "small");
  same(text(torch::tensor(true)) + text(torch::tensor(INFINITY)), "1\n[ CPUBoolType{} ]inf\n[ CPUFloatType{} ]", "bool and infinity");
  const auto sparse = torch::sparse_coo_tensor(torch::tensor({{0, 1}, {1, 0}}), torch::tensor({3., 4.}), {2, 2});
  same(text(sparse), "[ SparseCPUFloatType{}\nindices:\n 0  1\n 1  0\n[ CPULongType{2,2} ]\nvalues:\n 3\n 4\n[ CPUFloatType{2} ]\nsize:\n[2, 2]\n]", "sparse");
  std::ostringstream out;
  out << torch::dtype(torch::kLong) << true;
  same(out.str(),
       "TensorOptions(dtype=long int, device=cpu (default), layout=Strided (default), requires_grad=false (default), "
       "pinned_memory=false (default), memory_format=(nullopt))true",
       "options");
}

void exponents() {
  const auto bytes = at::tensor({2}, at::kChar);
  same(throws<std::exception>([&] { at::pow(bytes, 300); }) && throws<std::exception>([&] { bytes.clone().pow_(1000); }), true, "an exponent beyond the dtype");
  same(at::pow(bytes, 127).item<int>(), 0, "the last one within");
  same(at::pow(at::tensor({2.0f}), 1e300).item<float>() == INFINITY, true, "wide floating point takes all");
  same(throws<std::exception>([] { at::pow(at::tensor({2.0f}).to(at::kHalf), 100000); }), true, "half precision does not");
}

// A row of at::tensor keeps the type of the C++ numbers, torch::tensor has LibTorch's defaults.
void rows() {
  same(at::tensor({1, 2}).scalar_type() == at::kInt && at::tensor(1.5).scalar_type() == at::kDouble && at::tensor(7).dim() == 1, true, "at::tensor");
  same(at::tensor(std::vector<bool>{true, false}).scalar_type() == at::kBool && at::tensor({1.5, 2.5}, at::kInt).equal(at::tensor({1, 2})), true,
       "at::tensor of a vector, and with a dtype");
  same(torch::tensor({1, 2}).scalar_type() == at::kLong && torch::tensor(1.5).scalar_type() == at::kFloat && torch::tensor(7).dim() == 0, true,
       "torch::tensor");
  const auto x = torch::arange(10);
  same(x[torch::tensor(3)].item<int>() == 3, true, "an index of no dimensions");
  same(throws<std::exception>([&] { x[torch::ones({2}, torch::kLong)]; }) && throws<std::exception>([&] { x[torch::tensor(1.0)]; }) &&
           throws<std::exception>([&] { x[torch::Tensor()]; }),
       true, "other tensors between brackets");
  torch::set_default_dtype(caffe2::TypeMeta::Make<int>());
  same(torch::ones(2).scalar_type() == torch::kInt, true, "a default dtype of integers");
  torch::set_default_dtype(caffe2::TypeMeta::Make<float>());
}

int main() {
  rows();
  overloads();
  exponents();
  without_values();
  streams();
  torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
  same(torch::get_default_complex_dtype() == caffe2::TypeMeta::Make<c10::complex<double>>(), true, "default complex dtype");
  return failures;
}
