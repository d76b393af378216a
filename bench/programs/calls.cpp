// Price of a call on one element. Under callgrind it dumps the instructions of every row; without, it prints nanoseconds.
// Usage: calls [callgrind]
#include <torch/torch.h>
#include <valgrind/callgrind.h>

#include <functional>
#include <utility>
#include <vector>

#include "timing.h"

namespace {

constexpr int kCalls = 200;

struct Row {
  const char* name;
  std::function<void()> call;
};

void repeat(const std::function<void()>& call) {
  for (int i = 0; i < kCalls; i++) call();
}

}  // namespace

int main(int argc, char**) {
  torch::set_num_threads(1);
  torch::manual_seed(0);
  const torch::Tensor x = torch::ones({1}), y = torch::ones({1}), matrix = torch::ones({4, 4}), row = torch::ones({1, 4});
  torch::Tensor out = torch::empty({1});
  const torch::Tensor leaf = torch::ones({1}, torch::requires_grad());
  torch::nn::Linear linear(4, 4);
  torch::nn::Sequential mlp(torch::nn::Linear(64, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64));
  const torch::Tensor batch = torch::randn({32, 64});
  torch::optim::AdamW optimizer(mlp->parameters(), torch::optim::AdamWOptions(1e-3));
  torch::Tensor plain_x, plain_y;
  {
    torch::InferenceMode guard;
    plain_x = torch::ones({1});
    plain_y = torch::ones({1});
  }
  const std::vector<Row> rows = {
      {"loop", [] {}},
      {"empty", [&] { torch::Tensor z = torch::empty({1}); }},
      {"add", [&] { torch::Tensor z = x + y; }},
      {"add_inference",
       [&] {
         torch::InferenceMode guard;
         torch::Tensor z = plain_x + plain_y;
       }},
      {"add_out", [&] { torch::add_out(out, x, y); }},
      {"add_", [&] { out.add_(y); }},
      {"mul_scalar", [&] { torch::Tensor z = x * 2; }},
      {"view", [&] { torch::Tensor z = x.view({1}); }},
      {"t", [&] { torch::Tensor z = matrix.t(); }},
      {"select", [&] { torch::Tensor z = matrix.select(0, 0); }},
      {"mm_4x4", [&] { torch::Tensor z = matrix.mm(matrix); }},
      {"sum", [&] { torch::Tensor z = x.sum(); }},
      {"relu", [&] { torch::Tensor z = x.relu(); }},
      {"softmax", [&] { torch::Tensor z = torch::softmax(x, 0); }},
      {"add_grad", [&] { torch::Tensor z = leaf + y; }},
      {"add_grad_backward", [&] { (leaf + y).backward(); }},
      {"linear4_no_grad",
       [&] {
         torch::NoGradGuard guard;
         torch::Tensor z = linear->forward(row);
       }},
      {"linear4_grad", [&] { torch::Tensor z = linear->forward(row); }},
      {"mlp64_b32_adamw_step",
       [&] {
         optimizer.zero_grad();
         mlp->forward(batch).square().mean().backward();
         optimizer.step();
       }},
  };
  if (argc == 1) {
    for (const Row& r : rows) bench::row(r.name, bench::best_seconds(r.call, 1, 0.1) * 1e9, "ns");
    return 0;
  }
  for (const Row& r : rows) repeat(r.call);  // what happens once, and the first dump
  CALLGRIND_DUMP_STATS_AT("warm-up");
  for (const Row& r : rows) {
    CALLGRIND_ZERO_STATS;
    repeat(r.call);
    CALLGRIND_DUMP_STATS_AT(r.name);
  }
}
