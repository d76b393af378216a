// A convolutional classifier on files in the layout of MNIST, which it writes itself: bars at ten heights.
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static const char* const kFiles[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static void write_idx(const std::string& path, const std::vector<uint32_t>& header, uint32_t count, bool images) {
  std::ofstream file(path, std::ios::binary);
  for (uint32_t word : header)
    for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(word >> shift));
  std::string row(28, '\0');
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t label = i * 7 % 10;
    if (!images) {
      file.put(static_cast<char>(label));
      continue;
    }
    for (uint32_t y = 0; y < 28; y++) {
      for (uint32_t x = 0; x < 28; x++) row[x] = static_cast<char>(y / 2 == label + 2 ? 255 : (x * y + i) % 16);
      file.write(row.data(), 28);
    }
  }
}

struct ClassifierImpl : public torch::nn::Module {
  ClassifierImpl() {
    features = register_module("features", torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 5).stride(2)), torch::nn::BatchNorm2d(8),
                                                                 torch::nn::ReLU(), torch::nn::MaxPool2d(2)));
    drop = register_module("drop", torch::nn::Dropout2d(torch::nn::Dropout2dOptions().p(0.1)));
    head = register_module("head", torch::nn::Linear(8 * 6 * 6, 10));
  }
  torch::Tensor forward(const torch::Tensor& images) {
    auto x = drop(features->forward(images));
    return torch::log_softmax(head(x.flatten(/*start_dim=*/1)), /*dim=*/-1);
  }
  torch::nn::Sequential features{nullptr};
  torch::nn::Dropout2d drop{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Classifier);

template <class Loader> static double evaluate(Classifier& model, Loader& loader, size_t total, torch::Device device) {
  torch::NoGradGuard guard;
  model->eval();
  int64_t hits = 0;
  double loss = 0;
  for (const auto& batch : loader) {
    const auto output = model->forward(batch.data.to(device));
    const auto target = batch.target.to(device);
    loss += torch::nll_loss(output, target, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
    hits += output.argmax(1).eq(target).sum().template item<int64_t>();
  }
  std::printf("test: loss %.4f, %ld of %zu right\n", loss / static_cast<double>(total), static_cast<long>(hits), total);
  return static_cast<double>(hits) / static_cast<double>(total);
}

int main(int argc, char** argv) {
  using torch::data::datasets::MNIST;
  const std::string folder = argc > 1 ? argv[1] : ".";
  write_idx(folder + "/" + kFiles[0], {2051, 60000, 28, 28}, 60000, true);
  write_idx(folder + "/" + kFiles[1], {2049, 60000}, 60000, false);
  write_idx(folder + "/" + kFiles[2], {2051, 10000, 28, 28}, 10000, true);
  write_idx(folder + "/" + kFiles[3], {2049, 10000}, 10000, false);

  torch::manual_seed(0);
  const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  auto train_set = MNIST(folder).map(torch::data::transforms::Normalize<>(0.13, 0.31)).map(torch::data::transforms::Stack<>());
  auto test_set = MNIST(folder, MNIST::Mode::kTest).map(torch::data::transforms::Normalize<>(0.13, 0.31)).map(torch::data::transforms::Stack<>());
  const size_t test_size = test_set.size().value();
  auto train_loader =
      torch::data::make_data_loader<torch::data::samplers::RandomSampler>(std::move(train_set), torch::data::DataLoaderOptions().batch_size(64).workers(1));
  auto test_loader = torch::data::make_data_loader(std::move(test_set), /*batch_size=*/1000);
  for (const char* name : kFiles) std::remove((folder + "/" + name).c_str());

  Classifier model;
  model->to(device);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  torch::optim::StepLR schedule(optimizer, /*step_size=*/40, /*gamma=*/0.5);
  model->train();
  int step = 0;
  for (auto& batch : *train_loader) {
    auto images = batch.data.to(device), labels = batch.target.to(device);
    optimizer.zero_grad();
    auto loss = torch::nll_loss(model->forward(images), labels);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();
    schedule.step();
    if (++step % 20 == 0) std::cout << "step " << step << ", loss " << loss.item<float>() << std::endl;
    if (step == 100) break;
  }
  return evaluate(model, *test_loader, test_size, device) > 0.95 ? 0 : 1;
}
