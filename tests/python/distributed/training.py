"""Program of each of several processes: training.py CHECK RANK SIZE STORE; the exit status tells whether all was well."""

import datetime
import sys

import cresset.distributed as dist

import cresset as torch
from cresset import nn


def value(rank, n=7):
    return torch.arange(n, dtype=torch.float64) * (rank + 1) + rank


def same(got, wanted):
    got = torch.as_tensor(got)
    assert torch.equal(got, torch.as_tensor(wanted, dtype=got.dtype)), (got, wanted)


def training(rank, size):
    torch.manual_seed(rank)  # other weights in each process, until the first one's are taken
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).double()
    wrapped = nn.parallel.DistributedDataParallel(net, bucket_cap_mb_list=[0.0001, 0.0002])
    assert list(wrapped.state_dict())[0] == "module.0.weight"
    for parameter in net.parameters():
        everybody = [torch.empty_like(parameter) for _ in range(size)]
        dist.all_gather(everybody, parameter.detach())
        assert all(torch.equal(everybody[0], one) for one in everybody)
    torch.manual_seed(100)
    data = torch.rand(3 * size, 4, dtype=torch.float64)
    mine = data[rank * 3 : rank * 3 + 3]
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        wrapped(mine).pow(2).sum().backward()
        optimizer.step()
    totals = [torch.empty(1, dtype=torch.float64) for _ in range(size)]
    dist.all_gather(totals, sum(p.detach().sum() for p in net.parameters()).view(1))
    assert all(torch.equal(totals[0], one) for one in totals), totals

    plain = nn.Linear(4, 2, bias=False).double()  # averages over processes are those over the whole batch
    dist.broadcast(plain.weight.detach(), 0)
    alone = nn.Linear(4, 2, bias=False).double()
    alone.weight.data.copy_(plain.weight)
    wrapped = nn.parallel.DistributedDataParallel(plain)
    wrapped(mine).pow(2).mean().backward()
    alone(data).pow(2).mean().backward()
    assert torch.allclose(plain.weight.grad, alone.weight.grad, rtol=1e-13), (plain.weight.grad, alone.weight.grad)
    with wrapped.no_sync():
        wrapped(mine).pow(2).mean().backward()
    wrapped(mine).pow(2).mean().backward()
    assert torch.allclose(plain.weight.grad, alone.weight.grad * 3, rtol=1e-12)


def mixed(rank, size):
    seen = []

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)
            self.last.bias.requires_grad_(False)

        def forward(self, x, number, scale=None):
            seen.append((x.dtype, number.dtype, scale.dtype, self.first.weight.dtype, self.last.bias.dtype, self.norm.running_mean.dtype))
            if number.item() < 0:
                raise ValueError("a number below 0")
            return self.last(torch.tanh(self.norm(self.first(x)))) * scale

    def made(**options):
        torch.manual_seed(5)
        return nn.parallel.DistributedDataParallel(Net(), mixed_precision=nn.parallel.distributed._MixedPrecision(**options))

    torch.manual_seed(rank)
    x, one, two = torch.randn(8, 4), torch.tensor(1), torch.tensor(2.0)
    low, single = torch.bfloat16, torch.float32
    rows = []

    def noting(state, bucket):
        rows.append(bucket.buffer().dtype)
        return dist.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook(state, bucket)

    cases = (({"param_dtype": low}, low, low, single), ({"param_dtype": low, "reduce_dtype": single, "buffer_dtype": low}, low, single, low),
             ({"reduce_dtype": torch.float16}, single, torch.float16, single))  # fmt: skip
    for options, dtype, reduced, buffers in cases:
        plain, net = made(), made(**options)
        net.register_comm_hook(None, noting)
        seen.clear(), rows.clear()
        for step in range(3):
            grads = []
            for wrapped in (plain, net):
                if step < 2:
                    wrapped.zero_grad()
                out = wrapped(x, one, scale=two)
                out.float().pow(2).sum().backward()
                for p in wrapped.parameters():
                    assert p.dtype == single and (p.grad is None or p.grad.dtype == single)
                grads.append([p.grad for p in wrapped.parameters() if p.requires_grad])
            assert out.dtype == dtype, out.dtype
            scale = max(g.abs().max().item() for g in grads[0])
            for got, wanted in zip(grads[1], grads[0]):
                assert torch.allclose(got, wanted, rtol=0.1, atol=0.05 * scale), (got, wanted)
                everybody = [torch.empty_like(got) for _ in range(size)]
                dist.all_gather(everybody, got)
                assert all(torch.equal(everybody[0], other) for other in everybody)
        assert seen[1] == (dtype, torch.int64, dtype, dtype, dtype, buffers), seen[1]
        assert set(rows) == {reduced}, rows
        with net.no_sync():
            net(x, one, scale=two).sum().backward()
        assert net.module.first.weight.dtype == single and net.module.first.weight.grad.dtype == single
        with torch.no_grad():
            assert net(x, one, scale=two).dtype == dtype
        assert net.module.first.weight.dtype == single
        try:
            net(x, torch.tensor(-1), scale=two)
        except ValueError:
            assert net.module.first.weight.dtype == single
        else:
            raise AssertionError("no error")
    try:
        nn.parallel.DistributedDataParallel(Net(), gradient_as_bucket_view=True, mixed_precision=nn.parallel.distributed._MixedPrecision(low))
    except ValueError as error:
        assert "cannot be a part of a bucket" in str(error), error
    else:
        raise AssertionError("no error")


def normalisation(rank, size):
    torch.manual_seed(1)
    data = torch.rand(2 * size + 1, 3, 2, dtype=torch.float64)  # the last process has one more
    mine = data[2 * rank : 2 * rank + 2 + (rank == size - 1)].clone().requires_grad_()
    for options in ({}, {"momentum": None}, {"affine": False}):
        alone, synced = nn.BatchNorm1d(3, **options).double(), nn.SyncBatchNorm(3, **options).double()
        whole = data.clone().requires_grad_()
        scale = torch.arange(1.0, data.numel() + 1, dtype=torch.float64).view_as(data)
        mine.grad = None
        for _ in range(2):
            wanted, got = alone(whole), synced(mine)
        rows = slice(2 * rank, 2 * rank + len(mine))
        assert torch.allclose(got, wanted[rows], rtol=1e-12)
        for name, buffer in alone.named_buffers():
            assert torch.allclose(buffer, dict(synced.named_buffers())[name], rtol=1e-12), name
        (wanted * scale).sum().backward()
        (got * scale[rows]).sum().backward()
        assert torch.allclose(mine.grad, whole.grad[rows], rtol=1e-9, atol=1e-12)
    synced.eval()
    assert synced(mine).shape == mine.shape
    pair = dist.new_group([0, 1])
    layer = nn.SyncBatchNorm(3, process_group=pair).double()
    if rank < 2:
        same(torch.allclose(layer(mine), nn.BatchNorm1d(3).double()(data[: 4 + (size == 2)])[rows], rtol=1e-12), True)
    from cresset.utils.data import DistributedSampler

    assert list(DistributedSampler(range(2 * size), shuffle=False)) == [rank, rank + size]


def unused(rank, size):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, x, which):
            return getattr(self, which)(x)

    net = nn.parallel.DistributedDataParallel(Two(), find_unused_parameters=True)
    for _ in range(2):
        net.zero_grad()
        net(torch.ones(1, 2), "a" if rank == 0 else "b").sum().backward()
        same(net.module.a.weight.grad, torch.full((1, 2), 1 / size))
        same(net.module.b.weight.grad, torch.full((1, 2), (size - 1) / size))
    strict = nn.parallel.DistributedDataParallel(Two())
    strict(torch.ones(1, 2), "a").sum().backward()
    try:
        strict(torch.ones(1, 2), "a")
    except RuntimeError as error:
        assert "brought no gradient to" in str(error) and "b.weight" in str(error)
    else:
        raise AssertionError("no error for parameters that are not used")
    calls = []

    def hook(state, bucket):
        calls.append((state, bucket.index(), bucket.is_last(), len(bucket.gradients())))
        dist.all_reduce(bucket.buffer())
        done = torch.futures.Future()
        done.set_result(bucket.buffer() * 10)
        return done

    hooked = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    hooked.register_comm_hook("state", hook)
    hooked(torch.ones(1, 1)).backward()
    same(hooked.module.weight.grad, torch.full((1, 1), 10.0 * size))
    assert calls == [("state", 0, True, 2)]


def gradients(rank, size):
    import cresset.distributed.nn.functional as fn

    def leaf(shift=0.0):
        return (value(rank, 3) + shift).requires_grad_()

    scale = float(rank + 1)
    totals = sum(range(1, size + 1))
    x = leaf()
    (fn.all_reduce(x).sum() * scale).backward()
    same(x.grad, torch.full((3,), float(totals), dtype=torch.float64))
    x = leaf()
    out = fn.broadcast(x, 1)
    same(out.detach(), value(1, 3))
    (out.sum() * scale).backward()
    same(x.grad, torch.full((3,), float(totals) if rank == 1 else 0.0, dtype=torch.float64))
    x = leaf()
    out = fn.all_gather(x)
    same(torch.stack(out).detach(), torch.stack([value(r, 3) for r in range(size)]))
    (sum((i + 1) * t.sum() for i, t in enumerate(out)) * scale).backward()
    same(x.grad, torch.full((3,), (rank + 1.0) * totals, dtype=torch.float64))
    x = leaf()
    out = fn.gather(x, 1)
    sum((i + 1) * t.sum() for i, t in enumerate(out)).backward()
    same(x.grad, torch.full((3,), rank + 1.0, dtype=torch.float64))
    xs = [leaf(r) for r in range(size)]
    out = fn.scatter(xs, 0)
    same(out.detach(), value(0, 3) + rank)
    (out.sum() * scale).backward()
    if rank == 0:
        same(torch.stack([t.grad[0] for t in xs]), [float(r + 1) for r in range(size)])
    xs = [leaf(r) for r in range(size)]
    out = fn.reduce_scatter(torch.empty(3, dtype=torch.float64), xs)
    same(out.detach(), sum(value(r, 3) + rank for r in range(size)))
    (out.sum() * scale).backward()
    same(torch.stack([t.grad[0] for t in xs]), [float(r + 1) for r in range(size)])
    x = leaf()
    (fn.reduce(x, 0).sum() * (scale if rank == 0 else 5.0)).backward()
    same(x.grad, torch.ones(3, dtype=torch.float64))
    x = torch.arange(float(size)).requires_grad_()
    out = fn.all_to_all_single(torch.empty(size), x)
    same(out.detach(), torch.full((size,), float(rank)))
    (out.sum() * scale).backward()
    same(x.grad, [float(r + 1) for r in range(size)])


def uneven(rank, size):
    def steps(**options):
        net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1, affine=False)).double()
        wrapped = nn.parallel.DistributedDataParallel(net)
        seen = []
        with wrapped.join(**options):
            for _ in range(rank + 1):  # the first process has one step, the last one has most
                wrapped.zero_grad()
                out = wrapped(torch.ones(2, 1, dtype=torch.float64))
                (out.sum() * 0 + net[0].weight.sum() * (rank + 1)).backward()
                seen.append(net[0].weight.grad.item())
        return net, seen

    def close(got, wanted):
        assert all(abs(a - b) < 1e-12 for a, b in zip(got, wanted)), (got, wanted)

    sums = [sum(r + 1.0 for r in range(size) if r >= i) for i in range(rank + 1)]  # of those that still have data
    net, seen = steps()
    close(seen, [total / size for total in sums])
    everybody = [torch.empty(1, dtype=torch.float64) for _ in range(size)]
    dist.all_gather(everybody, net[1].running_mean)
    assert all(torch.equal(one, everybody[0]) for one in everybody)  # those of the last one with data
    _, seen = steps(divide_by_initial_world_size=False)
    close(seen, [total / (size - i) for i, total in enumerate(sums)])
    try:
        steps(throw_on_early_termination=True)
    except RuntimeError as error:
        assert "exhausted its inputs" in str(error)
    else:
        raise AssertionError("no error for a process without data")


def main():
    check, rank, size, method = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
    globals()[check](rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
