// Run by mpirun: every rank prints "ok" when its groups have done as they should.
#include <cstdio>

#include "cresset/cresset.h"
#include "cresset/dist/distributed.h"

using namespace cresset;
using namespace cresset::distributed;

#define EXPECT(condition)                                   \
  if (!(condition)) {                                       \
    std::printf("rank %d: not so: %s\n", rank, #condition); \
    return 1;                                               \
  }

int main() {
  EngineGroupOptions options;
  options.engine = "mpi";
  options.timeout = std::chrono::seconds(20);
  const auto group = init_process_group(options);
  const int rank = group->getRank(), size = group->getSize();
  EXPECT(group->getBackendName() == "mpi");
  Tensors sum = {full({100000}, rank + 1.0)};
  group->allreduce(sum)->wait();
  EXPECT(equal(sum[0], full({100000}, size * (size + 1) / 2.0)));
  Tensor mine = full({3}, static_cast<double>(rank)), all = empty({3 * size});
  group->_allgather_base(all, mine)->wait();
  EXPECT(all.max().item<int>() == size - 1);

  const auto pair = ProcessGroupMPI::createProcessGroupMPI({1, 0});
  EXPECT((rank < 2) == static_cast<bool>(pair));
  if (pair) {
    Tensors one = {full({1}, static_cast<double>(rank))};
    pair->broadcast(one)->wait();  // of its rank 0, the world's rank 1
    EXPECT(one[0].item<int>() == 1);
  }
  nn::Linear net(4, 1);
  nn::DistributedDataParallel<nn::Linear> ddp(net, group);
  ddp(full({2, 4}, rank + 1.0)).sum().backward();
  EXPECT(net->weight.grad().allclose(full({1, 4}, 2 * (size + 1) / 2.0)));
  group->barrier()->wait();
  std::puts("ok");
  return 0;
}
