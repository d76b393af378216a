"""One rank of the rows of `bench/dist_peer.py`: times collectives and DDP steps; rank 0 prints name<TAB>value<TAB>unit<TAB>result, the
result as JSON of results.py.

Run by the launcher with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set; the argument names the framework.
"""

import importlib
import json
import os
import statistics
import sys
import time

from results import digest

torch = importlib.import_module(sys.argv[1])
dist = importlib.import_module(sys.argv[1] + ".distributed")
nn = torch.nn
torch.set_num_threads(1)


def median_of(run, warm, turns, repeat=1):
    """The median time of a call in seconds, over turns of `repeat` calls, after `warm` ones."""
    for _ in range(warm):
        run()
    times = []
    for _ in range(turns):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(repeat):
            run()
        times.append((time.perf_counter() - begin) / repeat)
    return statistics.median(times)


def numbers(count):
    """Whole numbers that differ from rank to rank."""
    return torch.arange(count, dtype=torch.float) % 1000 + dist.get_rank()


def reduced(count):
    """The sum over all ranks of one call; the timed calls, each of the last one's result, would become infinite."""
    tensor = numbers(count)
    dist.all_reduce(tensor)
    return digest(tensor)


def collectives():
    """all_reduce of 4 bytes to 64 MB."""
    for bytes_, turns, repeat in ((4, 20, 200), (4096, 20, 100), (1 << 20, 20, 10), (64 << 20, 9, 1)):
        tensor = torch.ones(bytes_ // 4)
        result = reduced(bytes_ // 4)
        seconds = median_of(lambda t=tensor: dist.all_reduce(t), 5, turns, repeat)
        if bytes_ < 1 << 20:
            yield f"all_reduce {bytes_} B", seconds * 1e6, "us", result
        else:
            yield f"all_reduce {bytes_ >> 20} MB", bytes_ / seconds / 1e9, "GB/s", result
    yield "barrier", median_of(dist.barrier, 50, 20, 100) * 1e6, "us", []
    small, parts = numbers(256), [torch.empty(256) for _ in range(dist.get_world_size())]
    yield "all_gather 1 KB", median_of(lambda: dist.all_gather(parts, small), 20, 20, 100) * 1e6, "us", digest(parts)
    big = numbers(16 << 18)
    yield "broadcast 16 MB", (16 << 20) / median_of(lambda: dist.broadcast(big, dist.get_world_size() - 1), 3, 9) / 1e9, "GB/s", digest(big)


class Convnet(nn.Module):
    """The convnet of the MNIST example."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, 1), nn.Conv2d(32, 64, 3, 1)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        x = torch.flatten(nn.functional.max_pool2d(x, 2), 1)
        return self.fc2(torch.relu(self.fc1(x)))


class Gpt(nn.Module):
    """Four blocks of width 128 over 65 characters."""

    def __init__(self, width=128, layers=4, length=64, symbols=65):
        super().__init__()
        self.tokens, self.places = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, norm_first=True) for _ in range(layers)])
        self.head = nn.Linear(width, symbols)
        self.mask = nn.Transformer.generate_square_subsequent_mask(length)

    def forward(self, x):
        y = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y, src_mask=self.mask, is_causal=True)
        return self.head(y)


def steps():
    """Training steps under DistributedDataParallel."""
    torch.manual_seed(0)
    loss_of = nn.functional.cross_entropy
    images, labels = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    characters, following = torch.randint(0, 65, (8, 64)), torch.randint(0, 65, (8 * 64,))
    for name, net, run in (
        ("DDP step convnet", Convnet(), lambda m: loss_of(m(images), labels)),
        ("DDP step GPT d128", Gpt(), lambda m: loss_of(m(characters).view(-1, 65), following)),
    ):
        model = nn.parallel.DistributedDataParallel(net)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step(model=model, optimizer=optimizer, run=run):
            optimizer.zero_grad()
            run(model).backward()
            optimizer.step()

        for _ in range(3):
            step()
        result = digest(list(model.parameters()))
        yield name, median_of(step, 5, 15) * 1e3, "ms", result


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for rows in (collectives, steps) if len(sys.argv) < 3 else [globals()[name] for name in sys.argv[2:]]:
        for name, value, unit, result in rows():
            if os.environ["RANK"] == "0":
                print(f"{name}\t{value:.3f}\t{unit}\t{json.dumps(result)}", flush=True)
    dist.destroy_process_group()
