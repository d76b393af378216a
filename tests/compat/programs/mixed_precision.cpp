// Training in mixed precision: a region, the scaling of losses, a schedule and averaged weights.
#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <iostream>

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(4, 16));
    second = register_module("second", torch::nn::Linear(16, 1));
  }
  torch::Tensor forward(const torch::Tensor& x) { return second(torch::relu(first(x))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
};
TORCH_MODULE(Net);

// A function of one's own that wants float32.
torch::Tensor squared_norm(const torch::Tensor& x) {
  const auto full = at::autocast::is_autocast_enabled(at::kCPU) ? at::autocast::cached_cast(at::kFloat, x, at::kCPU) : x;
  return full.square().sum();
}

int main() {
  torch::manual_seed(0);
  Net net;
  torch::optim::NAdam optimizer(net->parameters(), torch::optim::NAdamOptions(0.02));
  torch::optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, 40);
  torch::optim::swa_utils::AveragedModel averaged(net.ptr());
  torch::amp::GradScaler scaler(128.0);
  const auto x = torch::randn({32, 4});
  const auto y = x.sum(1, true);
  float first = 0, last = 0;
  for (int step = 0; step < 40; step++) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      torch::autocast region(torch::kCPU, torch::kBFloat16);
      const auto out = net(x);
      if (out.scalar_type() != torch::kBFloat16) return 1;
      loss = torch::mse_loss(out, y) + 1e-6 * squared_norm(out);
      if (loss.scalar_type() != torch::kFloat) return 2;
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    schedule.step();
    averaged.update_parameters(*net);
    (step == 0 ? first : last) = loss.item<float>();
  }
  at::autocast::set_autocast_cpu_dtype(torch::kHalf);
  at::autocast::set_cpu_enabled(true);
  const bool half = net(x).scalar_type() == torch::kHalf && at::autocast::promote_type(at::kHalf, at::kCPU, x, y) == torch::kFloat;
  at::autocast::set_cpu_enabled(false);
  at::autocast::clear_cache();
  const float mean = torch::mse_loss(averaged.model_as<NetImpl>().forward(x), y).item<float>();
  std::cout << "loss from " << first << " to " << last << ", of the average " << mean << std::endl;
  return half && last < first / 5 && mean < first && averaged.n_averaged() == 40 && !at::autocast::is_cpu_enabled() ? 0 : 3;
}
