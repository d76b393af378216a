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


_OF_DEVICES = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "meta": "Meta",
    "xpu": "XPU",
    "mps": "MPS",
    "hpu": "HPU",
    "mtia": "MTIA",
    "xla": "XLA",
    "ipu": "IPU",
    "lazy": "Lazy",
}
OF_GRADIENTS = frozenset(name for name in _NAMES if name.startswith("Autograd"))
LAYERS = (*OF_GRADIENTS, "ADInplaceOrView", "AutocastCPU", "AutocastCUDA", "FuncTorchBatched")  # which calls of operators of programs may leave out
AFTER_AUTOGRAD = DispatchKeySet(*(key for key in DispatchKey if key.name not in (*OF_GRADIENTS, "AutocastCPU", "AutocastCUDA", "FuncTorchBatched")))


def key_of_device(kind):
    """The name of the key of a kind of device, as "cpu"."""
    return _OF_DEVICES.get(kind, "PrivateUse1")


class _Excluded(threading.local):
    names = frozenset()


_excluded = _Excluded()


def is_excluded(name):
    """Whether calls of operators that programs define go past a key, in this thread."""
    return name in _excluded.names


@contextlib.contextmanager
def excluding(names):
    """A scope whose calls go past these keys. Without those of gradients nothing is recorded, without those of autocast nothing is cast."""
    from .. import autocast, no_grad

    before, names = _excluded.names, frozenset(names)
    _excluded.names = before | (names | {"Autograd"} if names & OF_GRADIENTS else names)
    try:
        with contextlib.ExitStack() as scopes:
            if names & OF_GRADIENTS:
                scopes.enter_context(no_grad())
            for kind in ("cpu", "cuda"):
                if f"Autocast{kind.upper()}" in names:
                    scopes.enter_context(autocast(kind, enabled=False))
            yield
    finally:
        _excluded.names = before


def below_autograd():
    """A scope whose calls go past functions for gradients, and record none."""
    return excluding(OF_GRADIENTS)


def excluding_set(keys):
    """A scope whose calls go past the keys of a set."""
    return excluding(key.name for key in keys._keys)


def keys_of(tensors):
    """The keys of a call with these tensors."""
    keys = set()
    for tensor in tensors:
        name = key_of_device(tensor.device.type)
        keys |= {DispatchKey[name], DispatchKey.ADInplaceOrView}
        if f"Autograd{name}" in DispatchKey.__members__:
            keys.add(DispatchKey[f"Autograd{name}"])
    return DispatchKeySet(*(keys or {DispatchKey.CPU}))


def parsed(name):
    """The key of a name. RuntimeError for a name that none has."""
    if name not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return DispatchKey[name]
