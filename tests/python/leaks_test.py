"""No references leak: each family of bindings runs in a loop while Python's blocks, the memory of the C library and watched reference counts stay flat."""

import contextlib
import copy
import ctypes
import gc
import io
import os
import pickle
import shutil
import sys
import tempfile
import unittest
import warnings
import weakref

import numpy as np

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

REPEATS = 100


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


_libc = ctypes.CDLL(None)
_mallinfo = getattr(_libc, "mallinfo2", None)
if _mallinfo:
    _mallinfo.restype = _Mallinfo
COUNTED = _mallinfo is not None and sys.getallocatedblocks() > 0

# Objects that live as long as the process: a reference too many or too few per call shows in nothing else.
WATCHED = {
    "None": None, "True": True, "False": False, "NotImplemented": NotImplemented, "0": 0, "1": 1, "()": (), "''": "", "Tensor": torch.Tensor,
    "Parameter": nn.Parameter, "Size": torch.Size, "float32": torch.float32, "float64": torch.float64, "int64": torch.int64, "bool": torch.bool,
    "strided": torch.strided, "preserve_format": torch.preserve_format, "contiguous_format": torch.contiguous_format, "ndarray": np.ndarray,
    "tuple": tuple, "list": list, "dict": dict, "float": float, "int": int, "TypeError": TypeError, "RuntimeError": RuntimeError,
    "Generator": torch.Generator, "device": torch.device,
}  # fmt: skip


def _state():
    gc.collect()
    memory = _mallinfo() if _mallinfo else None
    return (
        sys.getallocatedblocks(),
        memory.uordblks + memory.hblkhd if memory else 0,
        [sys.getrefcount(o) for o in WATCHED.values()],
    )


def growth(body, repeats=REPEATS):
    """Leftovers of each call, as text; empty where a round of calls leaves nothing. Rounds grow, since the interpreter's own caches fill up once."""
    for _ in range(8):
        body()
    found = []
    for repeats in (repeats, 2 * repeats, 4 * repeats, 8 * repeats):
        before = _state()
        for _ in range(repeats):
            body()
        after = _state()
        found = []
        if (blocks := after[0] - before[0]) >= repeats // 4:
            found.append(f"{blocks / repeats:.2f} blocks of Python's")
        if (memory := after[1] - before[1]) >= 16 * repeats:
            found.append(f"{memory / repeats:.1f} bytes")
        references = {name: b - a for name, a, b in zip(WATCHED, before[2], after[2], strict=True) if abs(b - a) >= repeats // 2}
        if references:
            found.append(f"references to {references}")
        if not found:
            break
    return ", ".join(found)


def raises(body):
    """The body, which must raise; the exception and its traceback are dropped."""

    def run():
        try:
            body()
        except Exception:
            return
        raise AssertionError("no error was raised")

    return run


x, y, i8 = torch.arange(12.0).view(3, 4), torch.ones(3, 4), torch.arange(3)
mask = x > 4
array = np.arange(12.0, dtype=np.float32).reshape(3, 4)


class Doubled(torch.Tensor):
    pass


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Foreign:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented if func is torch.sub else 7


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2, x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.kept = inputs

    @staticmethod
    def backward(ctx, grad, _):
        return grad * 2


def leaf(*shape):
    return torch.ones(*shape or (3,), requires_grad=True)


FACTORIES = {
    "tensor": lambda: torch.tensor([[1, 2.5], [3, 4]]),
    "tensor of bools": lambda: torch.tensor([True, [False][0]]),
    "tensor of complex": lambda: torch.tensor([1j, 2], dtype=torch.complex128),
    "tensor of tensors": lambda: torch.tensor([x[0, 0], x[1, 1]]),
    "tensor, leaf": lambda: torch.tensor(1.0, requires_grad=True),
    "as_tensor": lambda: torch.as_tensor([1, 2], dtype=torch.float64),
    "asarray": lambda: torch.asarray(array, copy=True),
    "zeros": lambda: torch.zeros(2, 3, dtype=torch.int8, device="cpu"),
    "zeros, a tuple": lambda: torch.zeros((2, 3), layout=torch.strided),
    "full": lambda: torch.full((2,), 3),
    "arange": lambda: torch.arange(0, 1, 0.25),
    "linspace": lambda: torch.linspace(0, 1, 5),
    "rand": lambda: torch.rand(3, generator=torch.Generator().manual_seed(1)),
    "randn_like": lambda: torch.randn_like(x, dtype=torch.float64),
    "empty_strided": lambda: torch.empty_strided((2, 3), (1, 2)),
    "Tensor": lambda: torch.Tensor([1, 2]),
    "Tensor of a size": lambda: torch.Tensor(2, 3),
    "FloatTensor": lambda: torch.FloatTensor([1]),
    "new_tensor": lambda: x.new_tensor([1]),
    "new_zeros": lambda: x.new_zeros(2, 2),
    "Size": lambda: torch.Size([1, 2])[:1] + (3,),
    "device": lambda: (torch.device("cpu"), torch.device("meta").type, torch.device("cpu", 0).index),
    "finfo": lambda: (torch.finfo(torch.float32).max, torch.iinfo(torch.int8).min),
    "Generator": lambda: torch.Generator().set_state(torch.Generator().get_state()),
}

CALLS = {
    "function": lambda: torch.add(x, y, alpha=2),
    "function by name": lambda: torch.sum(input=x, dim=(0, 1), keepdim=True, dtype=torch.float64),
    "numpy's names": lambda: torch.sum(x, axis=0, keepdims=True),
    "method": lambda: x.add(y).mul_(2).clamp(min=0).sum(-1),
    "unbound method": lambda: torch.Tensor.mul(x, y),
    "kept method": lambda: [x.add][0](y),
    "named results": lambda: x.max(0).values + torch.sort(x).values[0],
    "lists": lambda: torch.cat([torch.stack((x, y))[0], y], dim=0).split([1, 5]),
    "varargs": lambda: x.view(4, 3).permute(1, 0).reshape((2, 6)).size(),
    "einsum": lambda: torch.einsum("ij,kj->ik", x, y),
    "where": lambda: torch.where(mask, x, 0.0),
    "unique": lambda: torch.unique(x.round(), return_counts=True),
    "nn.functional": lambda: F.cross_entropy(F.linear(x, y), i8),
    "special": lambda: torch.special.erf(x),
    "linalg": lambda: torch.linalg.vector_norm(x, 2, (0, 1)),
    "operators": lambda: (x + 1, 1 - x, x * y, x @ y.T, -x, abs(x), x**2, 2**x, x // 2, x % 3, x / y, divmod(4, 3)),
    "comparisons": lambda: (x < y, x == 1, x != y, 3 >= x, ~mask, mask & mask, mask | True, mask ^ mask),
    "operators with others": lambda: (x + array, np.float32(2) * x, x.__add__("a"), x == "a"),
    "in place": lambda: x.clone().add_(1).__iadd__(y).__imul__(2).copy_(y).zero_().fill_(1).clamp_(0, 1).t_(),
    "out": lambda: torch.add(x, y, out=torch.empty(3, 4)),
    "two outs": lambda: torch.max(x, 0, out=(torch.empty(4), torch.empty(4, dtype=torch.int64))),
    "properties": lambda: (x.shape, x.dtype, x.device, x.layout, x.T, x.mT, x.grad, x.is_leaf, x.data, x.real, x.ndim, x._base, x._version, x.itemsize),
    "asked": lambda: (x.size(), x.size(0), x.stride(), x.numel(), x.dim(), x.data_ptr(), x.is_contiguous(), x.type(), x.element_size()),
    "values": lambda: (x.tolist(), x[0, 0].item(), float(x[0, 0]), int(x[1, 1]), bool(x[0, 1]), complex(x[0, 1]), len(x), list(x), 2.0 in x, [1, 2][i8[0]]),
    "iteration": lambda: [row.sum() for row in x],
    "unpacking": lambda: [a + b for a, b in [x[:2]]],
    "attributes": lambda: (setattr(t := x.clone(), "note", t), delattr(t, "note")),
    "circles": lambda: setattr(t := x.clone(), "me", [t]),
    "weak references": lambda: weakref.ref(x.clone(), lambda _: None),
    "conversions": lambda: (x.to(torch.float64), x.to("cpu", torch.int32), x.to(y), x.half(), x.type(torch.int8), x.long(), x.contiguous()),
    "copies": lambda: (copy.copy(x), copy.deepcopy(x), copy.deepcopy([leaf(), nn.Parameter(y)])),
    "pickles": lambda: pickle.loads(pickle.dumps([x, torch.float32, torch.Size([1]), torch.device("cpu"), torch.add])),
    "storages": lambda: (x.untyped_storage().nbytes(), bytes(x.clone().untyped_storage())[:4]),
    "set_": lambda: torch.empty(0).set_(x.untyped_storage(), 0, (2,), (1,)),
    "lazy values": lambda: torch.ones(2, dtype=torch.complex64).conj().imag.resolve_neg(),
    "meta": lambda: torch.empty(2, device="meta") + 1,
    "printing": lambda: (repr(x), str(x * 1j), repr(leaf()), f"{x[0, 0]:.3f}", repr(x.shape), repr(torch.ones(2000)), repr(x.dtype), repr(torch.device("cpu"))),
    "inspecting": lambda: (repr(torch.add), torch.add.__name__, torch.add.__doc__, torch.Tensor.add.__name__, dir(x)[:2], hash(x)),
}  # fmt: skip

SUBSCRIPTS = {
    "numbers": lambda: x[1, -1],
    "slices": lambda: x[1:, ::2][..., None],
    "a tensor": lambda: x[i8],
    "a mask": lambda: x[mask],
    "a mixture": lambda: x[[0, 1], None, i8[:2]],
    "arrays": lambda: x[np.array([0, 2])],
    "a list of bools": lambda: x[[True, False, True]],
    "0-d": lambda: x[torch.tensor(1), torch.tensor(True)],
    "set a number": lambda: x.clone().__setitem__((slice(None), 0), 5),
    "set a tensor": lambda: x.clone().__setitem__(mask, y[0, 0]),
    "set by indices": lambda: x.clone().__setitem__((i8, 0), torch.ones(3)),
    "set a list": lambda: x.clone().__setitem__(0, torch.tensor([1.0, 2, 3, 4])),
    "gradient": lambda: leaf(3, 4)[[0, 1], 1:].sum().backward(),
}


def hooked():
    t, seen = leaf(), []
    handles = [t.register_hook(seen.append), t.register_post_accumulate_grad_hook(seen.append)]
    out = t * 2
    out.register_hook(lambda g: g * 2)
    out.retain_grad()
    out.grad_fn.register_hook(lambda i, o: None)
    out.grad_fn.register_prehook(lambda o: None)
    out.sum().backward()
    for handle in handles:
        handle.remove()


def hooked_and_kept():
    t = leaf()
    out = t.exp()
    out.register_hook(lambda g, out=out: out)  # a circle through the graph


def saved_hooks():
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t, [t]), lambda p: p[0]):
        out = leaf().exp().sin()
    out.sum().backward()


def circle_in_context():
    out = Cube.apply(leaf(), 3)
    out.grad_fn.mine = out


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise KeyError("x")


def failing_backward():
    Fails.apply(leaf()).sum().backward()


def walk():
    seen, todo = set(), [(leaf() * 2).exp().sum().grad_fn]
    while todo:
        node = todo.pop()
        seen.add(node)
        todo += [n for n, _ in node.next_functions if n is not None]
        (node.name(), node.metadata, repr(node))


AUTOGRAD = {
    "backward": lambda: (leaf() * 2).sum().backward(),
    "unused graphs": lambda: (leaf() * 2).exp().sum(),
    "kept graphs": lambda: [t := leaf(), s := t.exp().sum(), s.backward(retain_graph=True), s.backward()],
    "grad": lambda: torch.autograd.grad((t := leaf()).exp().sum(), [t]),
    "second": lambda: torch.autograd.grad(torch.autograd.grad((t := leaf()).exp().sum(), t, create_graph=True)[0].sum(), t),
    "create_graph": lambda: [t := leaf(), t.exp().sum().backward(create_graph=True), setattr(t, "grad", None)],  # t.grad refers to t
    "batched": lambda: torch.autograd.grad((t := leaf()) * 2, t, torch.ones(3), allow_unused=True),
    "hooks": hooked,
    "a circle of hooks": hooked_and_kept,
    "saved hooks": saved_hooks,
    "Function": lambda: Cube.apply(leaf(), 3).sum().backward(),
    "Function, unused": lambda: Cube.apply(leaf(), 3),
    "Function, both": lambda: Pair.apply(leaf())[0].sum().backward(),
    "a circle in a context": circle_in_context,
    "error in backward": raises(failing_backward),
    "error of backward": raises(lambda: torch.ones(3).sum().backward()),
    "views": lambda: [t := leaf(4).clone(), t[1:].mul_(2), t.view(2, 2).add_(1), t.sum().backward()],
    "detach": lambda: leaf().detach().requires_grad_().mul(2).detach_(),
    "modes": lambda: [torch.no_grad().__enter__(), torch.set_grad_enabled(True), torch.inference_mode().__call__(lambda: leaf().sum())()],
    "anomaly": lambda: torch.autograd.detect_anomaly(False),
    "checkpoint": lambda: torch.utils.checkpoint.checkpoint(lambda a: a.sin().exp(), leaf(), use_reentrant=False).sum().backward(),
    "graph walk": walk,
    "functional": lambda: torch.autograd.functional.jacobian(lambda a: a.exp(), torch.ones(2)),
    "gradcheck": lambda: torch.autograd.gradcheck(lambda a: a * 2, (torch.ones(2, dtype=torch.float64, requires_grad=True),)),
    "grad of a leaf": lambda: setattr(leaf(), "grad", torch.ones(3)),
}


class Exporter:
    """Memory of another library, by DLPack."""

    def __init__(self, t):
        self.t = t

    def __dlpack__(self, **options):
        return self.t.__dlpack__()

    def __dlpack_device__(self):
        return self.t.__dlpack_device__()


EXCHANGE = {
    "from_numpy": lambda: torch.from_numpy(np.ones(3)),
    "numpy": lambda: torch.ones(3).numpy(),
    "both ways": lambda: torch.from_numpy(torch.ones(3).numpy()).numpy(),
    "numpy of a view": lambda: torch.ones(3, 4).t()[1:].numpy(),
    "__array__": lambda: np.asarray(torch.ones(3), dtype=np.float64),
    "ufunc": lambda: np.add(torch.ones(3), 1),
    "frombuffer": lambda: torch.frombuffer(bytearray(16), dtype=torch.float32, offset=4),
    "buffer": lambda: memoryview(torch.ones(3).numpy()).tobytes(),
    "memoryview": lambda: torch.tensor(memoryview(bytearray(8))),
    "lent": lambda: memoryview(torch.ones(3)).tolist(),
    "DLPack": lambda: torch.from_dlpack(torch.ones(3)),
    "a capsule": lambda: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(3))),
    "an unused capsule": lambda: torch.ones(3).__dlpack__(),
    "to NumPy by DLPack": lambda: np.from_dlpack(torch.ones(3)),
    "from NumPy by DLPack": lambda: torch.from_dlpack(np.ones(3)),
    "another's DLPack": lambda: torch.from_dlpack(Exporter(torch.ones(3))),
    "tensor of an array": lambda: torch.tensor(np.ones((2, 3)), dtype=torch.float32),
    "an array's scalar": lambda: torch.tensor([np.float32(1), np.int64(2)]),
}


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def with_mode():
    with Mode(), Mode():
        x.add(y).sum().item()


OVERRIDES = {
    "a subclass": lambda: (x.as_subclass(Doubled) + 1).sum(),
    "a subclass that logs": lambda: torch.stack([x.as_subclass(Logged), x])[0].max(0),
    "a property": lambda: x.as_subclass(Logged).T.shape,
    "another class": lambda: torch.add(Foreign(), 1),
    "nobody": raises(lambda: torch.sub(Foreign(), 1)),
    "modes": with_mode,
    "an error in a mode": raises(lambda: _fails_in_mode()),
    "redispatch": lambda: torch.overrides.redispatch_function(F.relu, (), (x.as_subclass(Logged),), {}),
    "testing": lambda: torch.overrides.has_torch_function([x, Foreign()]),
}


def _fails_in_mode():
    with Mode():
        x @ torch.ones(7)


def step_of(name, **options):
    def run():
        model = nn.Linear(3, 2)
        optimizer = getattr(torch.optim, name)(model.parameters(), **options)

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(1, 3)).sum()
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)
        optimizer.load_state_dict(optimizer.state_dict())

    return run


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.1))
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("count", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.body(x) * self.scale


def module_hooks():
    net = Net()
    handles = [net.register_forward_hook(lambda *_: None), net.register_forward_pre_hook(lambda *_: None), net.register_full_backward_hook(lambda *_: None)]
    net(x).sum().backward()
    for handle in handles:
        handle.remove()


MODULES = {
    "made": Net,
    "called": lambda: Net()(x).sum().backward(),
    "hooks": module_hooks,
    "state_dict": lambda: Net().load_state_dict(Net().state_dict()),
    "a refused state_dict": raises(lambda: Net().load_state_dict({"scale": torch.ones(3)})),
    "copied": lambda: copy.deepcopy(Net()),
    "pickled": lambda: pickle.loads(pickle.dumps(Net())),
    "moved": lambda: Net().double().to(torch.float32).eval().requires_grad_(False),
    "repr": lambda: repr(Net()),
    "Conv2d": lambda: nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 5, 5)).sum().backward(),
    "LSTM": lambda: nn.LSTM(2, 3)(torch.ones(4, 1, 2))[0].sum().backward(),
    "Embedding": lambda: nn.Embedding(4, 2)(i8).sum().backward(),
    "attention": lambda: nn.MultiheadAttention(4, 2)(x, x, x)[0].sum().backward(),
    "functional_call": lambda: torch.nn.utils.stateless.functional_call(nn.Linear(4, 2), {"bias": torch.zeros(2)}, (x,)),
    "parametrized": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))(x).sum().backward(),
    "clipped": lambda: (net := nn.Linear(4, 2), net(x).sum().backward(), nn.utils.clip_grad_norm_(net.parameters(), 1.0)),
    "init": lambda: nn.init.kaiming_uniform_(torch.empty(3, 4)),
    **{f"optim.{name}": step_of(name, **options) for name, options in {
        "SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "RMSprop": {}, "Adagrad": {}, "LBFGS": {"lr": 0.1}, "NAdam": {},
    }.items()},
    "scheduler": lambda: torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([leaf()], 0.1), 10).step(),
    "loader": lambda: list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, i8), batch_size=2, shuffle=True)),
}  # fmt: skip

_folder = tempfile.mkdtemp()
_path = os.path.join(_folder, "file.pt")
_state_dict = {"a": x, "b": [y, {"c": (1, 2.5, "text", None, b"bytes", 1j)}], "p": nn.Parameter(y), "o": torch.float16, "v": x[1:]}


def file_of(data):
    torch.save(data, buffer := io.BytesIO())
    buffer.seek(0)
    return buffer


def mapped():
    torch.save(_state_dict, _path)
    torch.load(_path, mmap=True)


class Unknown:
    pass


FILES = {
    "save and load": lambda: torch.load(file_of(_state_dict)),
    "with classes": lambda: torch.load(file_of(Net()), weights_only=False),
    "a path": mapped,
    "map_location": lambda: torch.load(file_of(_state_dict), map_location="meta"),
    "map_location by function": lambda: torch.load(file_of(x), map_location=lambda storage, where: storage),
    "a class that is refused": raises(lambda: torch.load(file_of(Unknown()))),
    "a lambda": raises(lambda: torch.save(lambda: 0, io.BytesIO())),
    "no file": raises(lambda: torch.load(_path + ".none")),
    "a damaged file": raises(lambda: torch.load(io.BytesIO(file_of(x).getvalue()[:-9]))),
    "a writer that fails": raises(lambda: torch.save(x, open(os.devnull, "rb"))),
    "npy": lambda: [torch.io.npy.save_npy(x, _path), torch.io.npy.load_npy(_path)],
    "safetensors": lambda: torch.io.safetensors.load(torch.io.safetensors.save({"a": x})),
}

MISTAKES = {
    "a wrong type": lambda: torch.add(x, "a"),
    "a missing argument": lambda: torch.add(x),
    "too many": lambda: x.relu(1, 2, 3),
    "an unknown name": lambda: torch.add(x, y, beta=1),
    "twice": lambda: torch.add(x, y, other=y),
    "shapes": lambda: x @ x,
    "a range": lambda: x.sum(5),
    "an index": lambda: x[7],
    "too many indices": lambda: x[0, 0, 0],
    "an index of a wrong type": lambda: x["a"],
    "a mask of a wrong shape": lambda: x[torch.ones(7, dtype=torch.bool)],
    "a value of a wrong shape": lambda: x.clone().__setitem__(0, torch.ones(3)),
    "ragged": lambda: torch.tensor([[1, 2], [3]]),
    "no number": lambda: torch.tensor([object()]),
    "nested text": lambda: torch.tensor([["a"]]),
    "objects": lambda: torch.from_numpy(np.array([None])),
    "an overflow": lambda: torch.tensor([2**70]),
    "a sequence that fails": lambda: torch.tensor(_Fails()),
    "no attribute": lambda: x.nothing,
    "no name": lambda: torch.nothing,
    "not one element": lambda: bool(x),
    "no item": lambda: x.item(),
    "no dtype": lambda: torch.zeros(2, dtype="float32"),
    "no device": lambda: torch.zeros(2, device="nowhere"),
    "no data": lambda: torch.ones(2, device="meta").tolist(),
    "a leaf in place": lambda: leaf().add_(1),
    "no gradient": lambda: torch.autograd.grad(x.sum(), x),
    "backward twice": lambda: [s := (leaf() * leaf()).sum(), s.backward(), s.backward()],
    "a wrong gradient": lambda: (leaf() * 2).backward(torch.ones(2)),
    "a property that is fixed": lambda: setattr(x, "shape", 3),
    "numpy of a leaf": lambda: leaf().numpy(),
    "a foreign device": lambda: torch.from_dlpack(_Elsewhere()),
    "no buffer": lambda: torch.frombuffer(3, dtype=torch.float32),
    "an odd buffer": lambda: torch.frombuffer(bytearray(3), dtype=torch.float32),
    "out of another dtype": lambda: torch.add(x, y, out=torch.ones(3, 4, dtype=torch.int32)),
    "a size that is none": lambda: torch.zeros(-1),
    "a size of text": lambda: torch.zeros("a"),
    "a seed": lambda: torch.manual_seed("a"),
}


class _Fails:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        raise ValueError("not here")


class _Elsewhere(Exporter):
    def __init__(self):
        super().__init__(torch.ones(1))

    def __dlpack_device__(self):
        return (2, 0)


@unittest.skipUnless(COUNTED, "memory is counted by an allocator of another kind")
class Leaks(unittest.TestCase):
    def flat(self, family):
        with warnings.catch_warnings(), torch.random.fork_rng():
            warnings.simplefilter("ignore")
            for name, body in family.items():
                with self.subTest(name):
                    self.assertEqual(growth(body), "", name)

    @classmethod
    def setUpClass(cls):
        gc.collect()
        gc.freeze()  # what is there by now need not be looked at in every round

    @classmethod
    def tearDownClass(cls):
        gc.unfreeze()
        shutil.rmtree(_folder)

    def tearDown(self):
        torch.set_grad_enabled(True)

    def test_a_leak_is_found(self):
        kept = []
        self.assertIn("blocks", growth(lambda: kept.append([x.clone()])))
        forever = ctypes.pythonapi.Py_IncRef
        self.assertIn("float32", growth(lambda: forever(ctypes.py_object(torch.float32))))

    def test_factories(self):
        self.flat(FACTORIES)

    def test_calls(self):
        self.flat(CALLS)

    def test_subscripts(self):
        self.flat(SUBSCRIPTS)

    def test_autograd(self):
        self.flat(AUTOGRAD)

    def test_exchange(self):
        self.flat(EXCHANGE)

    def test_overrides(self):
        self.flat(OVERRIDES)

    def test_modules(self):
        self.flat(MODULES)

    def test_files(self):
        self.flat(FILES)

    def test_mistakes(self):
        self.flat({name: raises(body) for name, body in MISTAKES.items()})

    def test_every_operator(self):
        """One call of each row, its derivative where there is one, and a call that is refused."""
        from rows import leaves, table, tree

        def track(value):
            inexact = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
            return value.detach().requires_grad_() if inexact else value

        derived = []
        for row in table()[0]:
            case = next(iter(row.cases("float32", 1) if "float32" in row.dtypes else row.cases(row.dtypes[0], 1)), None)
            if case is None:
                continue
            args, kwargs = case.tensors()

            def call(row=row, args=args, kwargs=kwargs):
                with contextlib.suppress(Exception):
                    row.function(*args, **kwargs)
                with contextlib.suppress(Exception):
                    row.function(*args, nothing=1)

            def derive(row=row, args=args, kwargs=kwargs):
                tracked = tree(track, args)
                results = [t for t in leaves(row.function(*tracked, **kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
                sources = [t for t in leaves(tracked) if isinstance(t, torch.Tensor) and t.requires_grad]
                torch.autograd.grad(results, sources, [torch.ones_like(t) for t in results], allow_unused=True)

            with self.subTest(row.name):
                self.assertEqual(growth(call, 20), "", row.name)
                try:
                    derive()
                except Exception:  # in place on a leaf, without a derivative, ...
                    continue
                derived.append(row.name)
                self.assertEqual(growth(derive, 20), "", row.name)
        self.assertGreater(len(derived), 250)


if __name__ == "__main__":
    unittest.main()
