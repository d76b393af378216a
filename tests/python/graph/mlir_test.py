"""Programs as MLIR: Debian's tools verify the text, lower it to LLVM and make it a library, which gives the numbers of eager mode."""

import ctypes
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from cresset.graph.__main__ import main

import cresset as torch
from cresset import nn
from cresset.nn import functional as F

TOOLS = {name: shutil.which(f"{name}-16") for name in ("mlir-opt", "mlir-translate", "llc")}
COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_tools = pytest.mark.skipif(
    not all(TOOLS.values()) or COMPILER is None, reason="mlir-opt-16, mlir-translate-16 and llc-16 are not installed (Debian: mlir-16-tools)"
)

# To loops over memory, then to LLVM; results are written to arguments.
PASSES = [
    "--empty-tensor-to-alloc-tensor",
    "--one-shot-bufferize=allow-return-allocs bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map",
    "--buffer-results-to-out-params", "--buffer-deallocation", "--canonicalize", "--convert-linalg-to-loops", "--convert-bufferization-to-memref",
    "--arith-expand", "--convert-math-to-llvm", "--convert-math-to-funcs", "--convert-math-to-libm", "--expand-strided-metadata", "--lower-affine",
    "--convert-scf-to-cf", "--convert-cf-to-llvm", "--convert-arith-to-llvm", "--convert-memref-to-llvm", "--convert-func-to-llvm",
    "--reconcile-unrealized-casts",
]  # fmt: skip


# Copies between arrays that are not dense, which the lowered program calls; Debian does not package them.
RUNTIME = """
#include <stdint.h>
#include <string.h>
typedef struct { char *base, *data; int64_t offset, numbers[]; } Array;
typedef struct { int64_t rank; Array* array; } Unranked;
static void copy(int64_t size, int64_t rank, const int64_t* n, char* from, const int64_t* a, char* to, const int64_t* b) {
  if (rank == 0) { memcpy(to, from, size); return; }
  for (int64_t i = 0; i < n[0]; i++) copy(size, rank - 1, n + 1, from + i * a[0] * size, a + 1, to + i * b[0] * size, b + 1);
}
void memrefCopy(int64_t size, Unranked* from, Unranked* to) {
  Array *a = from->array, *b = to->array;
  copy(size, from->rank, a->numbers, a->data + a->offset * size, a->numbers + from->rank, b->data + b->offset * size, b->numbers + from->rank);
}
"""


def memref(tensor):
    """The descriptor of a dense array: two pointers, an offset, sizes, strides."""
    n = tensor.dim()

    class Descriptor(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64),
                    *([("sizes", ctypes.c_int64 * n), ("strides", ctypes.c_int64 * n)] if n else [])]  # fmt: skip

    numbers = ((ctypes.c_int64 * n)(*tensor.shape), (ctypes.c_int64 * n)(*tensor.stride())) if n else ()
    return Descriptor(tensor.data_ptr(), tensor.data_ptr(), 0, *numbers)


def run_as_library(text, folder, inputs, results):
    """Writes results of the function `main` of a text into `results`."""

    folder = pathlib.Path(tempfile.mkdtemp(dir=folder))  # a library at a path is opened once

    def step(tool, arguments):
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]

    source = folder / "program.mlir"
    source.write_text(text)
    step(TOOLS["mlir-opt"], [str(source), *PASSES, "-o", str(folder / "lowered.mlir")])
    step(TOOLS["mlir-translate"], ["--mlir-to-llvmir", str(folder / "lowered.mlir"), "-o", str(folder / "program.ll")])
    step(TOOLS["llc"], ["-O1", "-relocation-model=pic", "-filetype=obj", str(folder / "program.ll"), "-o", str(folder / "program.o")])
    (folder / "runtime.c").write_text(RUNTIME)
    step(COMPILER, ["-shared", "-fPIC", "-O1", str(folder / "program.o"), str(folder / "runtime.c"), "-lm", "-o", str(folder / "program.so")])
    descriptors = [memref(t) for t in (*inputs, *results)]
    ctypes.CDLL(str(folder / "program.so"))._mlir_ciface_main(*map(ctypes.byref, descriptors))


def check(model, args, folder, **tolerance):
    """Eager mode, the program and its MLIR agree."""
    model = model if isinstance(model, nn.Module) else Function(model)
    wanted = model(*args)
    wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    file = folder / "program.pt2"
    torch.export.save(torch.export.export(model, args), file)
    text = torch.graph.mlir(file)
    found = [torch.empty(t.shape, dtype=t.dtype) for t in wanted]
    run_as_library(text, folder, [a.contiguous() for a in args], found)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b.detach(), **tolerance)
    return text


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.norm = nn.Embedding(11, 8), nn.LayerNorm(8)
        self.qkv, self.out, self.up = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 16)

    def forward(self, i):
        x = self.tokens(i)
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, d // 2).permute(2, 0, 3, 1, 4).unbind(0)
        w = (q @ k.transpose(-1, -2) * 0.5 + torch.full((t, t), float("-inf")).triu(1)).softmax(-1)
        x = x + self.out((w @ v).transpose(1, 2).reshape(b, t, d))
        return F.gelu(self.up(x)).log_softmax(-1)


@needs_tools
def test_a_transformer_block(tmp_path):
    torch.manual_seed(0)
    text = check(Attention().eval(), (torch.randint(0, 11, (2, 5)),), tmp_path, atol=1e-5, rtol=1e-4)
    assert "linalg.matmul" in text or "linalg.batch_matmul" in text


@needs_tools
def test_a_convolutional_network(tmp_path):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4),
        nn.SiLU(), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    ).eval()  # fmt: skip
    check(net, (torch.randn(2, 3, 16, 16),), tmp_path, atol=1e-5, rtol=1e-4)


@needs_tools
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pointwise_operators(tmp_path, dtype):
    x, y = torch.linspace(-2, 2, 12, dtype=dtype).view(3, 4), torch.linspace(0.1, 3, 4, dtype=dtype)

    def every(x, y):
        a = x.exp() + y.log() * x.sin() - x.cos() / y.sqrt() + torch.tanh(x) * x.sigmoid() + torch.erf(x)
        b = torch.where(x > 0, x.abs().pow(1.5), x * x) + x.clamp(-1, 0.5) + torch.maximum(x, y) - x.floor() + x.neg().relu()
        return a, b, F.leaky_relu(x) + F.elu(x) + F.gelu(x, approximate="tanh"), x.remainder(0.7) + x.fmod(0.7) + torch.rsqrt(y)

    check(every, (x, y), tmp_path)


@needs_tools
def test_integers_and_comparisons(tmp_path):
    a, b = torch.tensor([-7, -3, 0, 4, 9]), torch.tensor([2, -2, 3, 3, -4])
    m = torch.tensor([True, False, True, True, False])

    def every(a, b, m):
        return (a + 2 * b, a // b, a % b, a.true_divide(b), (a > b) & m, (a == b) | ~m, a.to(torch.float32), a.to(torch.int32).to(torch.uint8), m.to(torch.int64) - a,
                torch.bitwise_xor(a, b))  # fmt: skip

    check(every, (a, b, m), tmp_path)


@needs_tools
def test_reductions(tmp_path):
    torch.manual_seed(0)
    x = torch.randn(3, 4, 5)

    def every(x):
        return (x.sum(), x.mean(1), x.amax((0, 2)), x.amin(-1, keepdim=True), x.var(0), x.argmax(1), *x.max(2), (x > 0).any(1), (x > -9).all(), x.prod(-1),
                x.cumsum(1), x.std())  # fmt: skip

    check(every, (x,), tmp_path, atol=1e-5, rtol=1e-4)


@needs_tools
def test_shapes_and_lookups(tmp_path):
    x, i = torch.arange(24.0).view(2, 3, 4), torch.tensor([2, 0, -1])

    def every(x, i):
        return (x[:, 1:, ::2], x.select(1, -1), torch.cat([x, x + 1], 2), torch.stack([x, -x], 1), x.permute(2, 0, 1).reshape(4, 6), x.flip(0, 2), F.pad(x, (1, -1, 0, 2)),
                x[:, i], x[:, :, i.clamp(0, 1)], x.index_select(1, i.clamp(0, 2)), x.expand(3, 2, 3, 4).sum(0), x.repeat(2, 1, 1), *x.split([1, 3], 2),
                torch.full((2, 2), float("inf")), torch.arange(3, 9, 2), x.gather(2, torch.ones(2, 3, 1, dtype=torch.int64)))  # fmt: skip

    check(every, (x, i), tmp_path)


@needs_tools
def test_control_flow_is_scf(tmp_path):
    def branch(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))

    for sign in (1, -1):
        assert "scf.if" in check(branch, (sign * torch.ones(3),), tmp_path)

    def loop(n, x):
        return torch._higher_order_ops.while_loop(lambda n, x: n < 5, lambda n, x: (n + 1, x * 2), (n, x))

    assert "scf.while" in check(loop, (torch.tensor(2), torch.ones(3)), tmp_path)


def test_operators_without_a_rule_are_named_together():
    def f(x):
        return x.sort()[0] + torch.fft.fft(x).real

    with pytest.raises(NotImplementedError, match="no rule for .*sort"):
        torch.graph.mlir(torch.export.export(Function(f), (torch.ones(4),)))


def test_open_sizes_are_refused():
    program = torch.export.export(nn.ReLU(), (torch.ones(4),), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=8)},))
    with pytest.raises(NotImplementedError, match="fixed sizes"):
        torch.graph.mlir(program)


def test_the_command_line(tmp_path, capsys):
    file = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(nn.Linear(2, 1), (torch.zeros(3, 2),)), file)
    assert main(["mlir", str(file)]) == 0
    assert capsys.readouterr().out.startswith("module {\n  func.func @main(%input: tensor<3x2xf32>) -> (tensor<3x1xf32>)")
    assert main(["mlir", str(pathlib.Path(tmp_path) / "absent.pt2")]) == 1
    assert "absent" in capsys.readouterr().err
