// A dataset of one's own, indexing, a custom module tree, dispatch over dtypes.
#include <ATen/Dispatch.h>
#include <c10/util/irange.h>
#include <torch/torch.h>

#include <iostream>
#include <memory>
#include <vector>

#include "expect.h"

using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;

class CustomDataset : public torch::data::datasets::Dataset<CustomDataset> {
 public:
  explicit CustomDataset(int64_t n) {
    for (const auto i : c10::irange(n)) data_.emplace_back(i, i % 3);
  }
  torch::data::Example<> get(size_t index) override {
    auto x = torch::zeros({3, 4, 4}, torch::TensorOptions().dtype(torch::kFloat32));
    x[data_[index].second] = 1;
    x += 0.05 * torch::rand({3, 4, 4});
    return {x, torch::tensor(data_[index].second, torch::kInt64)};
  }
  torch::optional<size_t> size() const override { return data_.size(); }

 private:
  std::vector<std::pair<int64_t, int64_t>> data_;
};

struct NetworkImpl : torch::nn::SequentialImpl {
  NetworkImpl() {
    using namespace torch::nn;
    auto stride = torch::ExpandingArray<2>({2, 2});
    torch::ExpandingArray<2> shape({-1, 16});
    push_back(Conv2d(Conv2dOptions(3, 8, 3).padding(1)));
    push_back(Functional(torch::relu));
    push_back(Functional(torch::max_pool2d, 2, stride, 0, 1, false));
    push_back(Flatten());
    push_back(Linear(32, 3));
    push_back(Functional(torch::log_softmax, 1, torch::nullopt));
  }
};
TORCH_MODULE(Network);

template <typename scalar_t> void scale_kernel(torch::Tensor& t, double factor) {
  auto* p = t.data_ptr<scalar_t>();
  for (int64_t i = 0; i < t.numel(); i++) p[i] = static_cast<scalar_t>(p[i] * factor);
}
void scale(torch::Tensor& t, double factor) {
  TORCH_CHECK(t.is_contiguous(), "scale expects a contiguous tensor, got strides ", t.strides());
  AT_DISPATCH_FLOATING_TYPES(t.scalar_type(), "scale", [&] { scale_kernel<scalar_t>(t, factor); });
}

int main() {
  torch::manual_seed(2);
  auto dataset = CustomDataset(120).map(torch::data::transforms::Stack<>());
  const auto count = dataset.size().value();
  auto loader =
      torch::data::make_data_loader<torch::data::samplers::RandomSampler>(std::move(dataset), torch::data::DataLoaderOptions().batch_size(16).workers(2));
  Network network;
  std::cout << network << std::endl;
  torch::optim::Adam optimizer(network->parameters(), torch::optim::AdamOptions(0.02));
  double accuracy = 0;
  for (int epoch = 0; epoch < 5; epoch++) {
    double correct = 0;
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      auto output = network->forward(batch.data);
      auto loss = torch::nll_loss(output, batch.target);
      loss.backward();
      optimizer.step();
      correct += output.argmax(1).eq(batch.target).sum().item().toDouble();
    }
    accuracy = correct / count;
  }
  check(accuracy > 0.95, "the network learns");

  auto t = torch::arange(24, torch::kFloat).view({2, 3, 4});
  check(t.index({0, Slice(1, None), Ellipsis}).sizes() == torch::IntArrayRef({2, 4}), "slices");
  check(t.index({"...", Slice(None, None, 2)}).size(2) == 2, "steps");
  check(t.index({None}).dim() == 4, "None");
  t.index_put_({Slice(), 0}, -1.0);
  check(t.index({1, 0, 3}).item<float>() == -1, "index_put_");
  check(t.index({t > 20}).numel() == 3, "masks");
  auto accessor = t.accessor<float, 3>();
  check(accessor[1][2][3] == 23, "accessors");

  auto d = torch::ones({2, 2}, torch::dtype(torch::kFloat64).requires_grad(false).device(torch::kCPU));
  scale(d, 3);
  check(d.sum().item<double>() == 12, "dispatch by dtype");
  try {
    auto wrong = d.t();
    wrong = torch::ones({2, 3}).t();
    scale(wrong, 2);
    check(false, "TORCH_CHECK raises");
  } catch (const c10::Error& e) { std::cout << e.what_without_backtrace() << std::endl; }
  try {
    auto integers = torch::ones({2}, torch::kInt);
    scale(integers, 2);
    check(false, "dispatch refuses other dtypes");
  } catch (const std::exception& e) { std::cout << e.what() << std::endl; }
  std::vector<float> values = {1, 2, 3, 4};
  auto blob = torch::from_blob(values.data(), {2, 2}, torch::TensorOptions().dtype(torch::kFloat32)).clone();
  check(blob[1][0].item<float>() == 3, "from_blob");
  at::IntArrayRef sizes = blob.sizes();
  c10::optional<int64_t> first = sizes[0];
  check(first.has_value() && *first == 2, "optional");
  auto clone = std::dynamic_pointer_cast<torch::nn::Module>(network.ptr());
  for (const auto& pair : network->named_parameters()) std::cout << pair.key() << ": " << pair.value().sizes() << std::endl;
  return failures;
}

namespace torch {
namespace nn {
// Users add to LibTorch's namespaces.
struct DoublerImpl : Module {
  Tensor forward(const Tensor& x) { return x * 2; }
};
TORCH_MODULE(Doubler);
}  // namespace nn
}  // namespace torch
torch::nn::Doubler make_doubler() { return torch::nn::Doubler(); }
