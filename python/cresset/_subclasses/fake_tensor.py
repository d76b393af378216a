"""Fake tensors: shape, strides, dtype and device without data, on devices that need not be there.

Operators compute what their results would be like, autograd records and runs, and nothing is allocated. `FakeTensorMode` makes every tensor
fake that is made in its scope.
"""

import contextlib
import weakref
from typing import NamedTuple

import _cresset
from _cresset import Tensor, _disabled_torch_function_impl

from ..overrides import TorchFunctionMode

__all__ = [
    "FakeCopyMode",
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class UnsupportedFakeTensorException(RuntimeError):
    """Operation that a fake tensor cannot do."""


class _OfOperator(UnsupportedFakeTensorException):
    def __init__(self, func):
        super().__init__(str(func))
        self._func = func

    @property
    def func(self):
        """The operator: `torch.ops.aten.nonzero.default`; its name where there is no such object."""
        found = _find(self._func)
        return self._func if found is None else found


def _find(name):
    from cresset import ops

    found = ops
    for part in str(name).split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


class DataDependentOutputException(_OfOperator):
    """The result is a number that depends on data, as that of `item`. `func` is the operator.

    >>> fake = torch._subclasses.fake_tensor
    >>> with fake.FakeTensorMode():
    ...     x = torch.ones(3)
    >>> try:
    ...     x.sum().item()
    ... except fake.DataDependentOutputException as error:
    ...     print(error)
    aten._local_scalar_dense.default
    """


class DynamicOutputShapeException(_OfOperator):
    """The shape of the result depends on data, as that of `nonzero`. `func` is the operator.

    >>> fake = torch._subclasses.fake_tensor
    >>> with fake.FakeTensorMode():
    ...     x = torch.ones(3)
    >>> try:
    ...     x.nonzero()
    ... except fake.DynamicOutputShapeException as error:
    ...     print(error)
    aten.nonzero.default
    """


class UnsupportedOperatorException(_OfOperator):
    """An operator that knows no shapes without data."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors of one call are on several devices."""


class _FakeMeta(type(Tensor)):
    def __instancecheck__(cls, instance):
        # Parameters and other subclasses over fake tensors count too.
        return type.__instancecheck__(cls, instance) or (cls is FakeTensor and isinstance(instance, Tensor) and is_fake(instance))


class FakeTensor(Tensor, metaclass=_FakeMeta):
    """A tensor of a `FakeTensorMode`: made in its scope, by `from_tensor`, or from a meta tensor and the device that it claims to be on.

    AssertionError where real tensors, or those of another mode, stand beside fake ones; `DataDependentOutputException` and
    `DynamicOutputShapeException` for what depends on data.

    >>> fake = torch._subclasses.fake_tensor
    >>> x = fake.FakeTensor(fake.FakeTensorMode(), torch.empty(2, 3, device="meta"), "cuda")
    >>> x.t() @ x
    FakeTensor(..., device='cuda:0', size=(3, 3))
    """

    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, fake_mode_or_elem=None, elem=None, device=None):
        if not isinstance(fake_mode_or_elem, FakeTensorMode):
            raise TypeError(f"FakeTensor: expected a FakeTensorMode, got {type(fake_mode_or_elem).__name__}")
        if not isinstance(elem, Tensor) or elem.device.type != "meta":
            raise AssertionError(f"FakeTensor: expected a meta tensor, got device {elem.device.type if isinstance(elem, Tensor) else type(elem).__name__}")
        out = _cresset._fake_from_meta(fake_mode_or_elem._handle, elem, device if device is not None else "cpu")
        return out.requires_grad_(True) if elem.requires_grad else out

    @staticmethod
    def from_tensor(t, fake_mode):
        """`fake_mode.from_tensor(t)`."""
        return fake_mode.from_tensor(t)

    @property
    def fake_mode(self):
        """The mode that the tensor belongs to."""
        return maybe_get_fake_mode(self)

    @property
    def fake_device(self):
        """The device that it claims to be on."""
        return self.device

    @property
    def constant(self):
        """The values of a small tensor that was made of numbers alone, as a tensor with data; None where they are not known.

        >>> with torch._subclasses.fake_tensor.FakeTensorMode():
        ...     x = torch.tensor(3.0)
        >>> (x * 2).constant
        tensor(6.)
        """
        return _cresset._fake_known(self)

    def __repr__(self, *, tensor_contents=None):
        from cresset import _tensor_str

        inner = self
        while parts := _cresset.batched_parts(inner):  # of vmap, one for each level
            inner = parts[2]
        mode = maybe_get_fake_mode(inner)
        if mode is not None and mode._before_text is not None:
            mode._before_text()
        return _tensor_str.fake_str(self)

    def __copy__(self):
        return self.detach().requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol):
        raise RuntimeError("a FakeTensor has no data to be saved")


class FakeCopyMode(TorchFunctionMode):
    """In its scope copies of tensors, as `copy.deepcopy` of a module makes them, are fake tensors of a mode.

    >>> import copy
    >>> fake = torch._subclasses.fake_tensor
    >>> with fake.FakeCopyMode(fake.FakeTensorMode()):
    ...     layer = copy.deepcopy(nn.Linear(2, 3))
    >>> layer.bias
    Parameter(FakeTensor(..., size=(3,), requires_grad=True))
    """

    def __init__(self, fake_mode):
        super().__init__()
        self.fake_mode = fake_mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is not Tensor.__deepcopy__:
            return func(*args, **kwargs)
        tensor, memo = args
        if id(tensor) not in memo:
            memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
        return memo[id(tensor)]


class DispatchCacheInfo(NamedTuple):
    """How often results of operators on fake tensors came from a cache.

    >>> torch._subclasses.fake_tensor.DispatchCacheInfo(1, 2, {}, 2).misses
    2
    """

    hits: int
    misses: int
    bypasses: dict
    size: int


class FakeTensorMode:
    """Makes the tensors fake that are made in its scope, on any device.

    With `allow_non_fake_inputs` real tensors may stand beside fake ones, and count as fake: what writes to them leaves their data. Without it that is an
    AssertionError.
    `from_tensor` makes fake ones of real tensors, and `memory_stats` tells what the tensors of the mode would take.

    >>> fake = torch._subclasses.fake_tensor
    >>> with fake.FakeTensorMode() as mode:
    ...     layer = nn.Linear(10**6, 10**6, device="cuda")
    ...     y = layer(torch.randn(8, 10**6, device="cuda"))
    >>> y
    FakeTensor(..., device='cuda:0', size=(8, 1000000), grad_fn=<AddmmBackward0>)
    >>> mode.memory_stats("cuda")["allocated_bytes"] // 10**9
    4000
    """

    _known = weakref.WeakValueDictionary()
    _before_text = None  # called before the text of one of its tensors is made: a capture of a program, which wants another, ends there

    @classmethod
    def cache_info(cls):
        """The use of the cache of results: none, for there is no cache. A rule takes less than a microsecond, less than to look a call up.

        >>> torch._subclasses.FakeTensorMode.cache_info()
        DispatchCacheInfo(hits=0, misses=0, bypasses={}, size=0)
        """
        return DispatchCacheInfo(0, 0, {}, 0)

    @classmethod
    def cache_clear(cls):
        """Forgets results, of which none are kept."""

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, static_shapes=None, export=False):
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.export = shape_env, export
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self._bind(_cresset._fake_mode(allow_non_fake_inputs))
        if shape_env is not None:
            _cresset._fake_set_shapes(self._handle, shape_env._env.capsule(), shape_env)

    @classmethod
    def _of_capture(cls, shape_env=None):
        """A mode for programs that are captured: numbers of elements of sparse tensors that only data tells are errors, not 0."""
        mode = cls(allow_non_fake_inputs=True, shape_env=shape_env, static_shapes=True)
        _cresset._fake_refuse_unknown_counts(mode._handle)
        return mode

    def _bind(self, handle):
        self._handle, self._before, self._symbolic = handle, [], {}
        FakeTensorMode._known[_cresset._fake_address(handle)] = self

    @classmethod
    def _of(cls, handle):
        known = cls._known.get(_cresset._fake_address(handle))
        if known is None:
            known = cls.__new__(cls)
            known.allow_fallback_kernels, known.allow_non_fake_inputs = True, False
            known.shape_env, known.export = _cresset._fake_shape_env(handle), False
            known.static_shapes = known.shape_env is None
            known._bind(handle)
        return known

    def __enter__(self):
        self._before.append(_cresset._fake_swap(self._handle))
        return self

    def __exit__(self, *error):
        _cresset._fake_swap(self._before.pop())

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """A fake tensor like `tensor`; the same one for the same tensor. Parameters stay parameters, and shared memory is shared.

        A sparse one stores nothing: how many elements there are only data tells. A fake tensor of another mode keeps its sizes. In a mode with a `shape_env` those of others are symbols, unless `static_shapes`; `source` names it in guards, and `symbolic_context` says which
        dimensions are.

        >>> fake = torch._subclasses.fake_tensor
        >>> fake.FakeTensorMode().from_tensor(nn.Parameter(torch.ones(2)))
        Parameter(FakeTensor(..., size=(2,), requires_grad=True))
        """
        static = self.static_shapes if static_shapes is None else static_shapes
        symbolic = self.shape_env is not None and (not static or symbolic_context is not None)
        known = symbolic and self._symbolic.get(id(tensor))
        if known and known[0]() is tensor and known[1]() is not None:
            return known[1]()
        if symbolic and is_fake(tensor) and tensor.dim() == 0:  # what it is known to hold is not known of an input
            import cresset

            with unset_fake_temporarily():
                return FakeTensor(self, cresset.empty((), dtype=tensor.dtype, device="meta", requires_grad=tensor.requires_grad), tensor.device)
        out = _cresset._fake_from_tensor(self._handle, tensor)
        if out is not tensor and symbolic and tensor.layout is _cresset.strided and not is_fake(tensor):
            self.shape_env.make_symbolic(out, tensor, source, symbolic_context)
            self._symbolic[id(tensor)] = weakref.ref(tensor), weakref.ref(out)
        elif self.shape_env is not None and not is_fake(tensor):
            for size in (*out.shape, out.numel()):
                if isinstance(size, int):
                    self.shape_env._env.note_constant(size)
        if out is not tensor:
            from cresset import nn

            if isinstance(tensor, nn.Parameter):
                out._is_param = True
            if isinstance(tensor, nn.Buffer):
                out._is_buffer, out.persistent = True, tensor.persistent
        return out

    def _adopted(self, tensor, source=None, symbolic_context=None):
        """A fake tensor like one of another mode, whose symbolic sizes are those of its example."""
        import cresset

        from ..fx.experimental.symbolic_shapes import hint_int

        numbers = [[hint_int(n) for n in counts] for counts in (tensor.shape, tensor.stride())]
        with unset_fake_temporarily():
            meta = cresset.empty_strided(*numbers, dtype=tensor.dtype, device="meta", requires_grad=tensor.requires_grad)
            out = FakeTensor(self, meta, tensor.device)
        if symbolic_context is not None:
            self.shape_env.make_symbolic(out, meta, source, symbolic_context)
        return out

    def memory_stats(self, device="cpu"):
        """The bytes that the tensors of the mode would take on `device`, now and at most so far: `allocated_bytes`, `peak_allocated_bytes`.

        >>> fake = torch._subclasses.fake_tensor
        >>> with fake.FakeTensorMode() as mode:
        ...     x = torch.ones(1024) * 2 + 1
        >>> mode.memory_stats()
        {'allocated_bytes': 4096, 'peak_allocated_bytes': 8192}
        """
        allocated, peak = _cresset._fake_memory(self._handle, device)
        return {"allocated_bytes": allocated, "peak_allocated_bytes": peak}

    def reset_peak_memory_stats(self, device="cpu"):
        """Starts `peak_allocated_bytes` from what is allocated now.

        >>> fake = torch._subclasses.fake_tensor
        >>> mode = fake.FakeTensorMode()
        >>> mode.reset_peak_memory_stats()
        >>> mode.memory_stats()["peak_allocated_bytes"]
        0
        """
        _cresset._fake_reset_peak(self._handle, device)


def is_fake(x):
    """Whether `x` is a fake tensor.

    >>> fake = torch._subclasses.fake_tensor
    >>> fake.is_fake(torch.ones(1))
    False
    """
    return isinstance(x, Tensor) and _cresset._fake_mode_of(x) is not None


def maybe_get_fake_mode(t):
    """The mode of a fake tensor; None for anything else.

    >>> fake = torch._subclasses.fake_tensor
    >>> with fake.FakeTensorMode() as mode:
    ...     fake.maybe_get_fake_mode(torch.ones(1)) is mode
    True
    """
    handle = _cresset._fake_mode_of(t) if isinstance(t, Tensor) else None
    return None if handle is None else FakeTensorMode._of(handle)


def active_mode():
    """The mode in whose scope the thread is; None outside of one."""
    handle = _cresset._fake_swap(None)
    _cresset._fake_swap(handle)
    return None if handle is None else FakeTensorMode._of(handle)


def detect_fake_mode(inputs=None):
    """The one mode of the fake tensors among the inputs and of the scope; None where there is none. AssertionError for several.

    >>> with torch._subclasses.FakeTensorMode() as mode:
    ...     x = torch.ones(1)
    >>> torch._guards.detect_fake_mode({"x": x, "n": 1}) is mode
    True
    """
    from ..utils._pytree import tree_leaves

    found = [mode for mode in (active_mode(), *map(maybe_get_fake_mode, tree_leaves(inputs))) if mode is not None]
    if any(mode is not found[0] for mode in found):
        raise AssertionError(f"detect_fake_mode: expected fake tensors of one mode, got those of {len(set(map(id, found)))} modes")
    return found[0] if found else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """In its scope tensors are made with data, whatever mode is active; yields that mode.

    >>> fake = torch._subclasses.fake_tensor
    >>> with fake.FakeTensorMode(), fake.unset_fake_temporarily():
    ...     torch.ones(2)
    tensor([1., 1.])
    """
    before = _cresset._fake_swap(None)
    try:
        yield None if before is None else FakeTensorMode._of(before)
    finally:
        _cresset._fake_swap(before)


_cresset._set_fake_names(FakeTensor, DataDependentOutputException, DynamicOutputShapeException, FakeTensorDeviceMismatchError)
