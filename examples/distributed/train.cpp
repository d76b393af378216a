// Data parallelism in C++: every process trains on its part of each batch, and all have the same weights.
//   cresset-run --standalone --nproc-per-node 2 build/release/examples/distributed_train

#include <cstdio>

#include "cresset/cresset.h"
#include "cresset/dist/distributed.h"

int main() {
  using namespace cresset;
  const auto group = distributed::init_process_group();
  const int64_t rank = group->getRank(), size = group->getSize(), batch = 64;

  manual_seed(0);
  nn::Sequential net;
  net->push_back(nn::Linear(8, 64));
  net->push_back(nn::Tanh());
  net->push_back(nn::Linear(64, 1));
  nn::DistributedDataParallel<nn::Sequential> model(net, group);
  optim::SGD optimizer(model.module()->parameters(), optim::SGDOptions(0.05).momentum(0.9));

  double last = 0;
  for (int step = 0; step < 200; step++) {
    manual_seed(static_cast<uint64_t>(step));
    const Tensor x = randn({batch, 8}), y = x.sum({1}, true).sin();
    const int64_t share = batch / size;
    const Tensor loss = nn::functional::mse_loss(model(x.narrow(0, rank * share, share)), y.narrow(0, rank * share, share));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    distributed::Tensors mean = {loss.detach()};
    distributed::AllreduceOptions average;
    average.reduceOp = distributed::ReduceOp::AVG;
    group->allreduce(mean, average)->wait();
    last = mean[0].item<double>();
    if (rank == 0 && step % 50 == 0) std::printf("step %d: loss %.4f\n", step, last);
  }
  if (rank == 0) std::printf("last loss %.4f on %lld processes\n", last, static_cast<long long>(size));
}
