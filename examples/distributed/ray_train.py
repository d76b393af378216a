"""Ray Train starts the workers of a job on a cluster, and Cresset trains in them: a backend of Ray's that gives each worker its place in a group of processes.

pip install "ray[train]"; python examples/distributed/ray_train.py --workers 2
"""

import argparse
import dataclasses
import os
import secrets
import socket

from ray.train import ScalingConfig
from ray.train.backend import Backend, BackendConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer


@dataclasses.dataclass
class CressetConfig(BackendConfig):
    """How the workers meet: the group's backend, and the seconds that a collective may take."""

    backend: str = "gloo"
    timeout: float = 1800

    @property
    def backend_cls(self):
        """The class that Ray calls around the training function."""
        return CressetBackend


class CressetBackend(Backend):
    """Makes the default group of processes before training begins, and ends it afterwards."""

    def on_start(self, worker_group, backend_config):
        """Calls `init_process_group` in all workers at once; the first has the store."""
        size = len(worker_group)
        address, port = worker_group.execute_single(0, _address)
        secret = secrets.token_hex(16)
        joined = [worker_group.execute_single_async(rank, _join, rank, size, address, port, secret, backend_config) for rank in range(size)]
        import ray

        ray.get(joined)

    def on_shutdown(self, worker_group, backend_config):
        """Leaves the group."""
        worker_group.execute(_leave)


def _address():
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    import ray

    return ray.util.get_node_ip_address(), port


def _join(rank, size, address, port, secret, config):
    import datetime

    import cresset.distributed as dist

    os.environ["CRESSET_DIST_SECRET"] = secret
    where = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": address, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in where.items()})
    dist.init_process_group(config.backend, init_method="env://", timeout=datetime.timedelta(seconds=config.timeout))


def _leave():
    import cresset.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


def train(config):
    """Data parallelism, as in train.py: all workers have the same weights afterwards."""
    import cresset.distributed as dist

    import cresset as torch
    from cresset import nn

    rank, size, batch = dist.get_rank(), dist.get_world_size(), 64
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(config["steps"]):
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
    if rank == 0:
        with open(config["report"], "w") as report:
            report.write(f"loss {mean:.4f} on {size} workers\n")


def main():
    """Trains on a cluster of this machine, or on the one that RAY_ADDRESS names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--report", default="loss.txt", help="file for the last loss, which all machines reach")
    given = parser.parse_args()
    trainer = DataParallelTrainer(
        train, train_loop_config={"steps": given.steps, "report": os.path.abspath(given.report)}, backend_config=CressetConfig(),
        scaling_config=ScalingConfig(num_workers=given.workers, resources_per_worker={"CPU": 0.5}),
    )  # fmt: skip
    trainer.fit()
    with open(given.report) as report:
        print(report.read(), end="")


if __name__ == "__main__":
    main()
