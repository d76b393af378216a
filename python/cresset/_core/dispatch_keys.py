"""`torch._C.DispatchKey` and sets of keys: the names by which programs register functions and ask for them."""

import contextlib
import enum
import threading

_NAMES = """
Undefined CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta Dense FPGA Vulkan Metal Quantized CustomRNGKeyId
MkldnnCPU Sparse SparseCsr NestedTensor BackendSelect Python Fake FuncTorchDynamicLayerBackMode Functionalize Named Conjugate Negative ZeroTensor
ADInplaceOrView AutogradOther AutogradFunctionality AutogradNestedTensor Tracer AutocastCPU AutocastXPU AutocastIPU AutocastHPU AutocastXLA AutocastMPS
AutocastCUDA AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper DeferredInit
PythonTLSSnapshot FuncTorchDynamicLayerFrontMode PreDispatch PythonDispatcher SparseCPU SparseCUDA SparseCsrCPU SparseCsrCUDA QuantizedCPU
AutogradCPU AutogradCUDA AutogradXLA AutogradMPS AutogradXPU AutogradHPU AutogradLazy AutogradMTIA AutogradMAIA AutogradMeta AutogradPrivateUse1
Autograd CompositeImplicitAutograd FuncTorchBatchedDecomposition CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd
CompositeExplicitAutogradNonFunctional
""".split()

DispatchKey = enum.Enum("DispatchKey", _NAMES, start=0, module=__name__)


class DispatchKeySet:
    """A set of keys: of the tensors of a call, say."""

    def __init__(self, *keys):
        self._keys = frozenset(key for given in keys for key in (given._keys if isinstance(given, DispatchKeySet) else (given,)))

    def has(self, key):
        """Whether it holds a key."""
        return key in self._keys

    def add(self, key):
        """The set with a key more."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key):
        """The set without a key."""
        return DispatchKeySet(*(self._keys - {key}))

    def highestPriorityTypeId(self):
        """The key that a call goes to first."""
        return max(self._keys, key=lambda key: key.value, default=DispatchKey.Undefined)

    def __or__(self, other):
        return DispatchKeySet(self, other)

    def __and__(self, other):
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other):
        return DispatchKeySet(*(self._keys - other._keys))

    def __contains__(self, key):
        return key in self._keys

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"


class _Below(threading.local):
    depth = 0


_below = _Below()


def is_below_autograd():
    """Whether calls of operators that programs define go past their functions for gradients, in this thread."""
    return _below.depth > 0


@contextlib.contextmanager
def below_autograd():
    """A scope whose calls go past functions for gradients, and record none."""
    from .. import no_grad

    _below.depth += 1
    try:
        with no_grad():
            yield
    finally:
        _below.depth -= 1


def keys_of(tensors):
    """The keys of a call with these tensors."""
    keys = set()
    for tensor in tensors:
        name = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS"}.get(tensor.device.type, "PrivateUse1")
        keys |= {DispatchKey[name], DispatchKey.ADInplaceOrView}
        if f"Autograd{name}" in DispatchKey.__members__:
            keys.add(DispatchKey[f"Autograd{name}"])
    return DispatchKeySet(*(keys or {DispatchKey.CPU}))
