// Files: tensors, lists of them, modules, optimizers, archives by key; state moved between models; gradient clipping; printing.
#include <torch/torch.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "expect.h"

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  explicit NetImpl(int64_t width) : width_(width) { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(4, width_));
    norm = register_module("norm", torch::nn::BatchNorm1d(width_));
    last = register_module("last", torch::nn::Linear(torch::nn::LinearOptions(width_, 2).bias(false)));
    scale = register_parameter("scale", torch::ones({2}));
    calls = register_buffer("calls", torch::zeros({}, torch::kLong));
  }
  torch::Tensor forward(torch::Tensor x) {
    calls += 1;
    return last(torch::relu(norm(first(x)))) * scale;
  }
  void pretty_print(std::ostream& stream) const override { stream << "Net(width=" << width_ << ")"; }

  torch::nn::Linear first{nullptr}, last{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::Tensor scale, calls;

 private:
  int64_t width_;
};
TORCH_MODULE(Net);

static double train(Net& net, torch::optim::Optimizer& optimizer, int steps) {
  double loss_value = 0;
  for (int step = 0; step < steps; step++) {
    auto x = torch::randn({16, 4});
    auto y = torch::stack({x.sum(1), x.select(1, 0) - x.select(1, 2)}, 1);
    optimizer.zero_grad();
    auto loss = torch::nn::functional::mse_loss(net->forward(x), y);
    loss.backward();
    torch::nn::utils::clip_grad_norm_(net->parameters(), /*max_norm=*/5.0);
    optimizer.step();
    loss_value = loss.item<double>();
  }
  return loss_value;
}

static void tensors(const std::string& folder) {
  const std::string path = folder + "/tensors.pt";
  auto a = torch::randn({3, 2}, torch::kDouble), b = torch::arange(5);
  torch::save(std::vector<torch::Tensor>{a, b}, path);
  std::vector<torch::Tensor> read;
  torch::load(read, path);
  check(read.size() == 2 && torch::equal(read[0], a) && torch::equal(read[1], b), "a list of tensors in a file");
  std::remove(path.c_str());

  std::stringstream stream;
  torch::save(a, stream);
  torch::Tensor again;
  torch::load(again, stream);
  check(again.dtype() == torch::kDouble && torch::equal(a, again), "a tensor in a stream");

  torch::serialize::OutputArchive out;
  out.write("weights", a);
  out.write("note", torch::IValue("good"));
  out.save_to(path);
  torch::serialize::InputArchive in;
  in.load_from(path);
  torch::Tensor weights;
  check(in.try_read("weights", weights) && torch::equal(weights, a) && !in.try_read("bias", weights), "archives by key");
  std::remove(path.c_str());
}

static void modules(const std::string& folder) {
  const std::string net_path = folder + "/net.pt", optimizer_path = folder + "/optimizer.pt";
  Net net(8);
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(1e-2).weight_decay(1e-3));
  train(net, optimizer, 30);
  torch::save(net, net_path);
  torch::save(optimizer, optimizer_path);

  Net other(8);
  torch::load(other, net_path);
  torch::optim::AdamW other_optimizer(other->parameters(), torch::optim::AdamWOptions(1.0));
  torch::load(other_optimizer, optimizer_path);
  check(static_cast<torch::optim::AdamWOptions&>(other_optimizer.param_groups()[0].options()).lr() == 1e-2, "options of an optimizer");
  for (const auto& item : net->named_parameters()) check(torch::equal(item.value(), other->named_parameters()[item.key()]), item.key().c_str());
  check(other->calls.item<int64_t>() == 30, "buffers");

  // Both go on alike.
  torch::manual_seed(8);
  const double here = train(net, optimizer, 20);
  torch::manual_seed(8);
  const double there = train(other, other_optimizer, 20);
  check(here == there, "training goes on from a file");
  std::remove(net_path.c_str());
  std::remove(optimizer_path.c_str());

  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  {
    torch::NoGradGuard guard;
    copy->scale.fill_(7);
    check(net->scale.ne(7).all().item<bool>(), "clones share nothing");
    auto from = net->named_parameters(true);
    for (auto& item : copy->named_parameters(true)) item.value().copy_(from[item.key()]);
  }
  net->eval();
  copy->eval();
  auto x = torch::randn({3, 4});
  check(torch::equal(net(x), copy->forward(x)), "parameters copied by name");
  net->to(torch::kDouble);
  check(net(x.to(torch::kDouble)).scalar_type() == torch::kDouble, "to(dtype)");
  net->to(torch::Device("cpu"), torch::kFloat32);
}

static void printing() {
  std::ostringstream values, tree;
  values << torch::tensor({{1.0, 2.5}, {-3.0, 4.0}}) << "\n" << torch::arange(3) << "\n" << torch::IntArrayRef({2, 3});
  check(values.str() == " 1.0000  2.5000\n-3.0000  4.0000\n[ CPUFloatType{2,2} ]\n 0\n 1\n 2\n[ CPULongType{3} ]\n[2, 3]", values.str().c_str());
  tree << Net(3);
  // Layers print with the namespace of the library that they come from.
  for (const char* part : {"Net(width=3)(\n  (first): ", "::nn::Linear(in_features=4, out_features=3, bias=true)\n  (norm): ",
                           "::nn::BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)\n  (last): "})
    check(tree.str().find(part) != std::string::npos, tree.str().c_str());
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  torch::manual_seed(6);
  tensors(folder);
  modules(folder);
  printing();
  return failures;
}
