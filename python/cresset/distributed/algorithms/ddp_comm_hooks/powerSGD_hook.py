"""PowerSGD (Vogels, Karimireddy, Jaggi 2019): gradients travel as products of two thin matrices, found by one step of the power method.

The difference from the product is added to the gradient of the next iteration (error feedback), and the power method begins where it ended (warm start).
"""

import cresset as torch
from cresset.distributed import _collectives, _groups

from . import default_hooks

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class _Seeds:
    """Numbers below a limit, those of `numpy.random.RandomState(seed).randint`."""

    def __init__(self, seed):
        self._generator, self._words = torch.Generator().manual_seed(seed), []

    def _word(self):
        """32 bits of the Mersenne twister, which the generator gives in pairs."""
        if not self._words:
            pair = int(torch.empty(1, dtype=torch.int64).random_(-(1 << 63), None, generator=self._generator)) & ((1 << 64) - 1)
            self._words = [pair & 0xFFFFFFFF, pair >> 32]
        return self._words.pop()

    def randint(self, limit):
        mask = (1 << (limit - 1).bit_length()) - 1
        while True:
            number = self._word() & mask
            if number < limit:
                return number


class PowerSGDState:
    """Options and memory of the hooks here.

    Args:
        process_group: None is that of all processes.
        matrix_approximation_rank: the columns of the thin matrices.
        start_powerSGD_iter: the iterations before it average the gradients as they are; at least 2 with error feedback or warm start.
        min_compression_rate: matrices that shrink less than so many times travel as they are.
        use_error_feedback, warm_start: see the module.
        orthogonalization_epsilon: added to norms; with 0 columns are made orthogonal by a QR decomposition.
        random_seed: of the first thin matrices, equal on all ranks.

    >>> from cresset.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> PowerSGDState(None).matrix_approximation_rank
    1
    """

    def __init__(self, process_group, matrix_approximation_rank=1, start_powerSGD_iter=1000, min_compression_rate=2, use_error_feedback=True, warm_start=True,
                 orthogonalization_epsilon=0, random_seed=0, compression_stats_logging_frequency=10000, batch_tensors_with_same_shape=False):  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(f"PowerSGDState: expected a start_powerSGD_iter above 1 with error feedback or warm start, got {start_powerSGD_iter}")
        self.process_group, self.matrix_approximation_rank, self.start_powerSGD_iter = process_group, matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate, self.use_error_feedback, self.warm_start = min_compression_rate, use_error_feedback, warm_start
        self.orthogonalization_epsilon, self.batch_tensors_with_same_shape = orthogonalization_epsilon, batch_tensors_with_same_shape
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.rng = _Seeds(random_seed)
        self.error_dict, self.p_memory_dict, self.q_memory_dict = {}, {}, {}
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = 0

    def maybe_increase_iter(self, bucket):
        """Counts an iteration after its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self):
        """(how many times smaller, elements before, elements after)."""
        after = self.total_numel_after_compression
        return (self.total_numel_before_compression / after if after else 0.0), self.total_numel_before_compression, after


def _orthogonal(matrices, epsilon):
    """Makes the columns of each matrix orthogonal and of length 1."""
    if epsilon == 0 and matrices.dtype in (torch.float32, torch.float64):
        matrices.copy_(torch.linalg.qr(matrices)[0])
        return
    for i in range(matrices.shape[2]):
        column = matrices[:, :, i : i + 1]
        column /= column.norm(dim=1, keepdim=True) + epsilon
        rest = matrices[:, :, i + 1 :]
        rest -= (column * rest).sum(1, keepdim=True) * column


def _feedback(state, bucket, row):
    """Adds the error of the last iteration; the sum, to compute the next error from."""
    if not state.use_error_feedback:
        return None
    index = bucket.index()
    if index in state.error_dict:
        row.add_(state.error_dict[index])
    else:
        state.error_dict[index] = torch.zeros_like(row)
    return row.clone()


class _Low:
    """Matrices of one bucket with their two thin factors, in memory that is kept for warm starts."""

    def __init__(self, state, index, matrices):
        self.state, self.matrices = state, matrices
        shapes = [(m.shape[0], m.shape[1], m.shape[2], min(m.shape[1], m.shape[2], state.matrix_approximation_rank)) for m in matrices]
        sizes = [[b * n * r for b, n, m, r in shapes], [b * m * r for b, n, m, r in shapes]]
        self.fresh = not state.warm_start or index not in state.p_memory_dict
        like = matrices[0] if matrices else None
        for memory, counts in zip((state.p_memory_dict, state.q_memory_dict), sizes):
            if self.fresh:
                memory[index] = torch.empty(sum(counts), dtype=like.dtype if like is not None else torch.float32)
        self.p, self.q = state.p_memory_dict[index], state.q_memory_dict[index]
        self.ps = [part.view(b, n, r) for part, (b, n, m, r) in zip(self.p.split(sizes[0]), shapes)] if matrices else []
        self.qs = [part.view(b, m, r) for part, (b, n, m, r) in zip(self.q.split(sizes[1]), shapes)] if matrices else []

    def begin(self):
        """The first factors: random ones, or those of the last iteration. Then P = M Q."""
        epsilon = self.state.orthogonalization_epsilon
        if self.fresh:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.state.rng.randint(1_000_000_000))
                for q in self.qs:
                    q.copy_(torch.randn(*q.shape, dtype=q.dtype))
        for q in self.qs:
            _orthogonal(q, epsilon)
        for matrix, q, p in zip(self.matrices, self.qs, self.ps):
            p.copy_(torch.bmm(matrix, q))

    def project(self):
        """Q = Mᵗ P for orthogonal P."""
        for matrix, q, p in zip(self.matrices, self.qs, self.ps):
            _orthogonal(p, self.state.orthogonalization_epsilon)
            q.copy_(torch.bmm(matrix.transpose(1, 2), p))

    def finish(self):
        """M = P Qᵗ."""
        for matrix, q, p in zip(self.matrices, self.qs, self.ps):
            matrix.copy_(torch.bmm(p, q.transpose(1, 2)))


def _sorted_out(state, bucket):
    """(matrices that are worth it, with a leading dimension; the other gradients)."""
    low, plain = [], []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() else gradient.view(1, 1)
        n, m = matrix.shape
        compressed = (n + m) * min(n, m, state.matrix_approximation_rank)
        worth = compressed * state.min_compression_rate < matrix.numel()
        state.total_numel_before_compression += matrix.numel()
        state.total_numel_after_compression += compressed if worth else matrix.numel()
        (low if worth else plain).append(matrix.unsqueeze(0) if worth else gradient)
    by_shape = {}
    for matrix in low:
        by_shape.setdefault(matrix.shape, []).append(matrix)
    return [matrix for same in by_shape.values() for matrix in same], plain


def _batched(matrices):
    """Matrices of one shape as one tensor, and a function that writes it back to them."""
    groups = {}
    for matrix in matrices:
        groups.setdefault(matrix.shape, []).append(matrix)
    stacked = [torch.cat(same) for same in groups.values()]

    def back():
        for whole, same in zip(stacked, groups.values()):
            for matrix, part in zip(same, whole.split(1)):
                matrix.copy_(part)

    return stacked, back


def powerSGD_hook(state, bucket):
    """The average of the ranks' buckets, of which each matrix travels as two thin ones.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
    >>> net.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=2), powerSGD_hook)
    >>> for _ in range(3): net(torch.ones(1, 8)).sum().backward()
    >>> net.module.bias.grad[0]
    tensor(3.)
    """
    group = _groups._world() if state.process_group is None else state.process_group
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(group, bucket)
    row = bucket.buffer()
    whole = _feedback(state, bucket, row)
    matrices, others = _sorted_out(state, bucket)
    plain = torch.cat([t.reshape(-1) for t in others]) if others else torch.empty(0, dtype=row.dtype)
    worked, back = _batched(matrices) if state.batch_tensors_with_same_shape else (matrices, lambda: None)
    factors = _Low(state, bucket.index(), worked)
    factors.begin()

    def run():
        _summed(group, plain).div_(group.size())
        at = 0
        for tensor in others:
            tensor.copy_(plain[at : at + tensor.numel()].view_as(tensor))
            at += tensor.numel()
        if matrices:
            _summed(group, factors.p)
            factors.project()
            _summed(group, factors.q).div_(group.size())
            factors.finish()
            back()
        if whole is not None:
            state.error_dict[bucket.index()] = whole - row
        return row

    state.maybe_increase_iter(bucket)
    return _Later(run)


def _summed(group, row):
    if row.numel():
        _collectives.all_reduce(row, group=group)
    return row


class _Later(torch.futures.Future):
    """A future whose value is computed by the thread that first waits: its steps are collectives, which run in the order of the buckets."""

    def __init__(self, run):
        super().__init__()
        self._run = run

    def wait(self):
        """The value."""
        if self._run is not None:
            run, self._run = self._run, None
            self.set_result(run())
        return super().wait()


def batched_powerSGD_hook(state, bucket):
    """As `powerSGD_hook`, with the whole bucket as one square matrix: cheaper, and less exact.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, batched_powerSGD_hook
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
    >>> net.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=2), batched_powerSGD_hook)
    >>> for _ in range(3): net(torch.ones(1, 8)).sum().backward()
    """
    group = _groups._world() if state.process_group is None else state.process_group
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(group, bucket)
    row = bucket.buffer()
    side = -int(-(row.numel() ** 0.5) // 1)
    square = torch.nn.functional.pad(row, (0, side * side - row.numel()))
    whole = _feedback(state, bucket, square)
    factors = _Low(state, bucket.index(), [square.view(1, side, side)])
    factors.begin()
    state.maybe_increase_iter(bucket)

    def run():
        _summed(group, factors.p)
        factors.project()
        _summed(group, factors.q).div_(group.size())
        factors.finish()
        if whole is not None:
            state.error_dict[bucket.index()] = whole - square
        return row.copy_(square[: row.numel()])

    return _Later(run)
