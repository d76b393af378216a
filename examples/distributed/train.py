"""Data parallelism: every process trains on its part of each batch, and all have the same weights. The twin of train.cpp.

python -m cresset.distributed.run --standalone --nproc-per-node 2 examples/distributed/train.py
"""

import torch
import torch.distributed as dist
from torch import nn


def main():
    dist.init_process_group("gloo")
    rank, size, batch = dist.get_rank(), dist.get_world_size(), 64
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(200):
        torch.manual_seed(step)
        x = torch.randn(batch, 8)
        y = x.sum(1, keepdim=True).sin()
        share = slice(rank * (batch // size), (rank + 1) * (batch // size))
        loss = nn.functional.mse_loss(model(x[share]), y[share])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        if rank == 0 and step % 50 == 0:
            print(f"step {step}: loss {mean:.4f}")
    if rank == 0:
        print(f"last loss {mean:.4f} on {size} processes")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
