"""ZeRO, stage 1 (Rajbhandari et al. 2020): each process keeps the states of its share of the parameters, steps those, and sends them to the others."""

import copy

import cresset as torch
from cresset.distributed import _groups, _objects, _reducer
from cresset.distributed.algorithms.join import Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]


class _ClassError(TypeError, AssertionError):
    """Something else than a class; an AssertionError for programs that know PyTorch's."""


class _Shadow(JoinHook):
    """The steps of a process that has no data: its share changes as the others' do."""

    def __init__(self, zero):
        self.zero = zero

    def main_hook(self):
        self.zero.step()


class ZeroRedundancyOptimizer(torch.optim.Optimizer, Joinable):
    """An optimizer of any class, the states of whose parameters are shared out over the processes of a group.

    The largest parameters go first, each to the process that has least so far; all processes compute the same shares. A step is that of the plain
    optimizer, to the bit.

    Args:
        params: parameters or groups of them, the same in every process.
        optimizer_class: of `torch.optim`, or of one's own with its interface.
        process_group: by default all processes.
        parameters_as_bucket_view: whether the parameters of a share become views of one tensor, so that they are sent as one.
        overlap_with_ddp: whether steps run in the communication hook (`ddp_zero_hook.hook_with_zero_step`) while backward does; `step` does nothing then.
        **defaults: options of the optimizer.

    Errors: ValueError for no parameters, TypeError for other things than tensors.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> p = nn.Parameter(torch.ones(1)); p.grad = torch.ones(1)
    >>> dist.optim.ZeroRedundancyOptimizer([p], torch.optim.SGD, lr=0.5).step(); p.item()
    0.5
    """

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False, **defaults):
        if not isinstance(optimizer_class, type):
            raise _ClassError(f"ZeroRedundancyOptimizer: expected a class of optimizers, got {optimizer_class!r}")
        params = list(params)
        tensors = [p for entry in params for p in (entry["params"] if isinstance(entry, dict) else [entry])]
        if not params:
            raise ValueError("ZeroRedundancyOptimizer: expected parameters, got none")
        if not all(isinstance(p, torch.Tensor) for p in tensors):
            raise TypeError("ZeroRedundancyOptimizer: expected tensors or groups of them")
        Joinable.__init__(self)
        self.process_group = _groups._world() if process_group is None else process_group
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.global_rank = _groups.get_rank()
        self.parameters_as_bucket_view, self._overlap_with_ddp = parameters_as_bucket_view, overlap_with_ddp
        self._optim_defaults, self._optim_constructor = defaults, optimizer_class
        self._buckets, self._all_state_dicts, self.initialized = None, [], False
        torch.optim.Optimizer.__init__(self, params, defaults)
        self._begin()

    def _begin(self):
        self._shares = self._partition()
        local = self._optim_constructor(self._shares[self.rank], **self._optim_defaults) if self._own() else _Nothing(self._shares[self.rank])
        self.optim = local
        for group, own in zip(self.param_groups, local.param_groups):
            for key, value in own.items():
                if key != "params":
                    group.setdefault(key, value)
        if self.parameters_as_bucket_view:
            self._gather_into_buckets()
        self.initialized = True

    def _own(self):
        return any(group["params"] for group in self._shares[self.rank])

    def _partition(self):
        """For each rank the groups with its share of their parameters."""
        sizes, shares = [0] * self.world_size, [[] for _ in range(self.world_size)]
        self._owner = {}
        for group in self.param_groups:
            parts = [[] for _ in range(self.world_size)]
            for p in sorted(group["params"], key=lambda t: t.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                sizes[rank] += p.numel()
                parts[rank].append(p)
                self._owner[id(p)] = rank
            for rank, part in enumerate(parts):
                shares[rank].append({**{key: value for key, value in group.items() if key != "params"}, "params": part})
        return shares

    def _gather_into_buckets(self):
        """Makes the parameters of each share and dtype views of one tensor."""
        self._buckets = []
        for share in self._shares:
            by_dtype = {}
            for p in (p for group in share for p in group["params"]):
                by_dtype.setdefault(p.dtype, []).append(p)
            rows = []
            for params in by_dtype.values():
                row = torch.cat([p.detach().reshape(-1) for p in params])
                at = 0
                for p in params:
                    p.data = row[at : at + p.numel()].view_as(p)
                    at += p.numel()
                rows.append(row)
            self._buckets.append(rows)

    @property
    def join_device(self):
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self):
        """The group of processes."""
        return self.process_group

    def join_hook(self, **kwargs):
        """Part of a process without data: it steps its share as long as others step theirs."""
        return _Shadow(self)

    def add_param_group(self, param_group):
        """Adds parameters; shares are made anew, and states that a process keeps stay with it."""
        super().add_param_group(param_group)
        if not getattr(self, "initialized", False):
            return
        kept = {id(p): self.optim.state[p] for group in self.optim.param_groups for p in group["params"] if p in self.optim.state}
        self._begin()
        for group in self.optim.param_groups:
            for p in group["params"]:
                if id(p) in kept:
                    self.optim.state[p] = kept[id(p)]

    def _copy_options(self, source, target):
        for ours, theirs in zip(source, target):
            for key, value in ours.items():
                if key != "params":
                    theirs[key] = value

    def _send_shares(self):
        for rank, share in enumerate(self._shares):
            if self._buckets is not None:
                _reducer.send_all(self.process_group, self._buckets[rank], rank)
            else:
                _reducer.send_all(self.process_group, [p.detach() for group in share for p in group["params"]], rank)

    @torch.no_grad()
    def step(self, closure=None, **kwargs):
        """A step of this process's share; then all have the parameters of all shares. The loss of the closure, if there is one."""
        from cresset.distributed.algorithms.join import Join

        if self._overlap_with_ddp:
            if kwargs or closure is not None:
                raise RuntimeError("ZeroRedundancyOptimizer: step: with overlap_with_ddp=True the communication hook steps; a closure is of no use")
            return None
        Join.notify_join_context(self)
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.optim.step(**kwargs)
        self._send_shares()
        self._copy_options(self.optim.param_groups, self.param_groups)
        return loss

    def _step_some(self, params):
        """A step of some parameters, with the gradients that they have, and their values to all processes."""
        chosen = {id(p) for p in params}
        others = [p for group in self.optim.param_groups for p in group["params"] if id(p) not in chosen]
        grads = [p.grad for p in others]
        for p in others:
            p.grad = None
        try:
            with torch.no_grad():
                self._copy_options(self.param_groups, self.optim.param_groups)
                self.optim.step()
        finally:
            for p, grad in zip(others, grads):
                p.grad = grad
        for rank in range(self.world_size):
            _reducer.send_all(self.process_group, [p.detach() for p in params if self._owner[id(p)] == rank], rank)

    def consolidate_state_dict(self, to=0):
        """Brings the states of all shares to process `to`, whose `state_dict` then is that of the plain optimizer. All processes call this."""
        self._copy_options(self.param_groups, self.optim.param_groups)
        own = self.optim.state_dict()
        gathered = [None] * self.world_size if self.rank == to else None
        _objects.gather_object(own, gathered, group=self.process_group, group_dst=to)
        self._all_state_dicts = gathered or []

    def state_dict(self):
        """The last consolidated state. Errors: RuntimeError where `consolidate_state_dict` has not brought it to this process."""
        if not self._all_state_dicts:
            raise RuntimeError(
                f"ZeroRedundancyOptimizer: state_dict: the state is not on rank {self.rank}; call consolidate_state_dict(to={self.rank}) on all ranks"
            )
        whole = super().state_dict()
        number = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        states = {}
        for share, local in zip(self._shares, self._all_state_dicts):
            params = [p for group in share for p in group["params"]]
            for i, state in local["state"].items():
                states[number[id(params[i])]] = state
        whole["state"] = dict(sorted(states.items()))
        return whole

    def load_state_dict(self, state_dict):
        """Takes the states of this process's share from the state of the plain optimizer."""
        every = [p for group in self.param_groups for p in group["params"]]
        own = [p for group in self.optim.param_groups for p in group["params"]]
        number = {id(p): i for i, p in enumerate(every)}
        local = self.optim.state_dict()
        wanted = {i: state_dict["state"][number[id(p)]] for i, p in enumerate(own) if number[id(p)] in state_dict["state"]}
        self._copy_options(state_dict["param_groups"], self.param_groups)
        self._copy_options(state_dict["param_groups"], local["param_groups"])
        self.optim.load_state_dict({"state": copy.deepcopy(wanted), "param_groups": local["param_groups"]})


class _Nothing:
    """The optimizer of a process whose share has no parameters."""

    def __init__(self, groups):
        self.param_groups, self.state = groups, {}

    def step(self, **kwargs):
        return None

    def state_dict(self):
        return {"state": {}, "param_groups": [{**group, "params": []} for group in self.param_groups]}

    def load_state_dict(self, state_dict):
        return None
