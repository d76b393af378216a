// Idioms of small programs: tensors over foreign memory, accessors, lists in braces, indices of what is true.
#include <torch/torch.h>

#include <array>
#include <sstream>

#include "expect.h"

namespace {

void foreign_memory() {
  float numbers[] = {1, 2, 3, 4, 5, 6};
  CHECK_THAT(at::for_blob(numbers, {2, 3}).options(at::kFloat).make_tensor().data_ptr<float>() == numbers);
  CHECK_THAT(torch::for_blob(numbers, {2, 2}).strides(at::IntArrayRef({1, 2})).make_tensor()[1][1].item<float>() == 4);
  int freed = 0;
  at::for_blob(numbers, {6}).deleter([&](void*) { freed++; }).make_tensor();
  at::for_blob(numbers, {6}).context(&freed, [](void* count) { ++*static_cast<int*>(count); }).target_device(torch::kCPU).make_tensor();
  CHECK_THAT(freed == 2);
}

void accessors() {
  const auto x = torch::arange(24, torch::kInt).reshape({2, 3, 4});
  const auto a = x.accessor<int, 3>();
  CHECK_THAT(a.sizes() == x.sizes() && a.strides() == x.strides() && a[1].sizes() == at::IntArrayRef({3, 4}));
  const auto packed = x.packed_accessor32<int, 3, torch::RestrictPtrTraits>();
  CHECK_THAT(packed[1][2][3] == 23);
  CHECK_THAT(c10::is_complex<c10::complex<float>>::value && !c10::is_complex<float>::value);
}

void lists() {
  const std::array<int64_t, 2> sizes = {3, 2};
  CHECK_THAT(torch::zeros(sizes).size(0) == 3);
  std::ostringstream out;
  out << c10::ArrayRef<double>({1.5, 2.0}) << torch::Scalar(c10::complex<double>(2, 3.1));
  CHECK_THAT(out.str() == "[1.5, 2](2,3.1)");
  const auto a = torch::ones(2), b = torch::zeros({1, 3});
  std::stringstream file;
  torch::save({a, b}, file);
  std::vector<torch::Tensor> read;
  torch::load(read, file);
  CHECK_THAT(read.size() == 2 && read[0].equal(a) && read[1].equal(b));
}

void indices_of_what_is_true() {
  const auto x = torch::tensor({{0, 5}, {7, 0}});
  const std::vector<torch::Tensor> found = torch::where(x > 0);
  CHECK_THAT(found.size() == 2 && found[0].equal(torch::tensor({0, 1})) && found[1].equal(torch::tensor({1, 0})));
  CHECK_THAT(at::where(torch::tensor(true)).size() == 1 && at::nonzero_numpy(x).size() == 2);
  CHECK_THAT(torch::where(x > 0, x, -1).min().item<int64_t>() == -1);
}

}  // namespace

int main() {
  foreign_memory();
  accessors();
  lists();
  indices_of_what_is_true();
  return failures;
}
