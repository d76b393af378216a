"""The reducer of `DistributedDataParallel`, thin over C++."""

import enum

import _cresset_dist


class BuiltinCommHookType(enum.IntEnum):
    """Communication hooks in C++.

    >>> dist.BuiltinCommHookType.ALLREDUCE.name
    'ALLREDUCE'
    """

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class Reducer:
    """Averages the gradients of parameters over a group while backward runs. `DistributedDataParallel` makes one.

    >>> from cresset.distributed import Reducer
    >>> net = nn.Linear(2, 1)
    >>> r = Reducer(list(net.parameters()), ["weight", "bias"], dist.group.WORLD, [1 << 20], False, False, False)
    >>> r.prepare_for_backward([]); net(torch.ones(1, 2)).sum().backward(); net.weight.grad
    tensor([[1., 1.]])
    """

    def __init__(self, parameters, names, group, bucket_bytes, find_unused_parameters, static_graph, gradient_as_bucket_view, dtypes=(None, None), frozen=()):
        self._impl = _cresset_dist.reducer(
            parameters, names, _native(group), bucket_bytes, find_unused_parameters, static_graph, gradient_as_bucket_view, *dtypes, list(frozen)
        )

    def prepare_for_forward(self):
        """Before a forward: where precision is mixed, parameters have the low one till the backward has ended."""
        self._impl.prepare_for_forward()

    def restore_parameters(self):
        """Gives parameters their own precision back, after a forward that failed."""
        self._impl.restore_parameters()

    def prepare_for_backward(self, outputs):
        """At the end of a forward. Errors: RuntimeError where a parameter got no gradient in the last backward."""
        self._impl.prepare_for_backward(outputs)

    def skip_next_backward(self):
        """Averages nothing in the backward that follows."""
        self._impl.skip_next_backward()

    def set_divisor(self, ranks):
        """Sums are divided by it."""
        self._impl.set_divisor(ranks)

    def shadow_backward(self):
        """The calls that other ranks make in a backward, with zeros."""
        self._impl.shadow_backward()

    def register_comm_hook(self, state, hook):
        """`hook(state, bucket)` does the averaging."""
        from cresset.nn.parallel.distributed import GradBucket

        self._impl.register_comm_hook(lambda *parts: hook(state, GradBucket(*parts)))

    def register_builtin_comm_hook(self, kind):
        """One of the hooks in C++ does the averaging."""
        self._impl.register_builtin_comm_hook(int(kind))


class Logger:
    """Facts about a reducer.

    >>> dist.Logger(None).reducer is None
    True
    """

    def __init__(self, reducer):
        self.reducer = reducer


def _native(group):
    if group._impl is None:
        raise NotImplementedError(f"DistributedDataParallel: expected a group of this build's backends, got {group!r}")
    return group._impl


def check(group, parameters):
    """Raises RuntimeError where the processes' parameters differ in number, shape or dtype."""
    _cresset_dist.verify_parameters(_native(group), parameters)


def cast_in_place(tensors, dtype):
    """Floating-point tensors take on a dtype (None: they stay as they are)."""
    _cresset_dist.cast_in_place(tensors, dtype)


def send_all(group, tensors, source=0):
    """Gives all processes the tensors of rank `source` of the group."""
    if tensors:
        _cresset_dist.broadcast_coalesced(_native(group), tensors, source)


def __getattr__(name):
    if name == "GradBucket":
        from cresset.nn.parallel.distributed import GradBucket

        return GradBucket
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
