"""Machine code gives the bits of eager mode, is kept on disk, and is left out where it cannot be had."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import _cresset_compile
import pytest

import cresset as torch
from cresset.nn import functional as F

AVAILABLE = _cresset_compile.machine_code()[0]
HERE = pathlib.Path(_cresset_compile.__file__).parent
HAS_PROVIDER = any((folder / "libcresset_llvm.so").exists() for folder in (HERE, HERE.parent))
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-40, 3e38, -3e38, 88.7, -87.5, 20.5, 1e-5, 3.0, -6.0)

UNARY = (
    *(getattr(torch, name) for name in "abs floor ceil trunc round sqrt rsqrt exp expm1 exp2 log log1p log2 log10 sigmoid tanh erf neg square".split()),
    *(getattr(torch, name) for name in "reciprocal relu sign sin".split()),
    *(getattr(F, name) for name in "gelu silu mish hardsigmoid hardswish hardshrink softshrink softplus logsigmoid elu leaky_relu relu6".split()),
    lambda x: F.gelu(x, approximate="tanh"),
    lambda x: x.clamp(-0.5, 0.5),
    lambda x: x.clamp_min(0.1),
    lambda x: x**3,
    lambda x: F.threshold(x, 0.3, 7.0),
    lambda x: x.masked_fill(x > 0.3, 0.1),
    lambda x: torch.where(x <= 0, x, x * 2),
)
BINARY = (
    lambda x, y: torch.add(x, y, alpha=0.3),
    lambda x, y: torch.sub(x, y, alpha=0.3),
    torch.mul,
    torch.div,
    torch.maximum,
    torch.minimum,
    torch.fmax,
    torch.fmin,
    lambda x, y: torch.addcmul(x, y, x, value=0.7),
    lambda x, y: torch.addcdiv(x, y, x, value=0.7),
    lambda x, y: torch.lerp(x, y, 0.3),
    lambda x, y: torch.where(x < y, x, torch.where(x == y, y, x + 1)),
)
REDUCTIONS = (lambda x: x.sum(-1, keepdim=True), lambda x: x.mean(-1, keepdim=True), lambda x: x.amax(-1, keepdim=True))


def rows_of_all_reductions(x, bias):
    """Results of whole rows and of one number a row, which depend on each other through reductions of every kind."""
    y = (x * 0.5 + bias).tanh()
    total, mean, top, low = y.sum(-1, keepdim=True), y.mean(-1, keepdim=True), x.amax(-1, keepdim=True), y.amin(-1, keepdim=True)
    spread = ((y - mean) * (x - top)).sum(-1, keepdim=True)
    product = (y * 0.01 + 1).prod(-1, keepdim=True)
    return (x - top) * total + low, (y - mean) / (spread.abs() + 1) * product, total * 2 - low, product.sigmoid() + top


def values(generator, shape, dtype, numbers=NUMBERS):
    count = 1
    for size in shape:
        count *= size
    listed = [
        generator.choice(numbers) if numbers and generator.random() < 0.1 else generator.gauss(0, 1) * 10 ** generator.uniform(-3, 2)
        for _ in range(min(count, 997))
    ]
    return torch.tensor(listed or [0.0], dtype=torch.float64).repeat(count // max(len(listed), 1) + 1)[:count].reshape(shape).to(dtype)


def program(generator, rows):
    """A random program of pointwise operators, and of reductions of rows between them."""
    plan = []
    for _ in range(generator.randint(2, 9)):
        if rows and generator.random() < 0.25:
            plan.append((generator.choice(REDUCTIONS), None))
        elif generator.random() < 0.5:
            plan.append((generator.choice(UNARY), None))
        else:
            plan.append((generator.choice(BINARY), generator.random()))

    def run(*tensors):
        wide = list(tensors)
        for function, other in plan:
            last = wide[-1]
            wide.append(function(last) if other is None else function(last, wide[int(other * len(wide))]))
        return wide[-1] + tensors[0], wide[len(wide) // 2] * 1.5

    return run


def same_bits(got, expected):
    ints = {2: torch.int16, 4: torch.int32, 8: torch.int64}[got.element_size()]
    return bool(((got.view(ints) == expected.view(ints)) | (got.isnan() & expected.isnan())).all())


class MachineCode(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def compare(self, seed, rows):
        generator = random.Random(seed)
        dtype = generator.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16])
        shape = (generator.randint(5, 40), generator.randint(100, 300))
        others = [shape, (1, shape[1]), (shape[1],), (1, 1), (), (shape[0], 1)]
        tensors = [values(generator, shape, dtype), values(generator, generator.choice(others), dtype)]
        if generator.random() < 0.2:
            tensors[0] = values(generator, (shape[1], shape[0]), dtype).t()
        function = program(generator, rows)
        for got, expected in zip(torch.compile(function)(*tensors), function(*tensors), strict=True):
            self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
            self.assertTrue(same_bits(got.contiguous(), expected.contiguous()), f"seed {seed}, {dtype}, {shape}")

    def test_random_chains_have_the_bits_of_eager_mode(self):
        before = _cresset_compile.machine_code()
        for seed in range(60):
            torch._dynamo.reset()
            self.compare(seed, rows=False)
        after = _cresset_compile.machine_code()
        if AVAILABLE:
            self.assertGreater(sum(after[1:]) - sum(before[1:]), 30)

    def test_random_programs_with_reductions_have_the_bits_of_eager_mode(self):
        for seed in range(1000, 1040):
            torch._dynamo.reset()
            self.compare(seed, rows=True)

    def compare_rows(self, columns, rows, dtype, generator, numbers=NUMBERS):
        x, bias = values(generator, (rows, columns), dtype, numbers), values(generator, (columns,), dtype, numbers)
        got, expected = torch.compile(rows_of_all_reductions)(x, bias), rows_of_all_reductions(x, bias)
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            self.assertTrue(same_bits(a, b), f"result {i}, {rows} x {columns}, {dtype}")

    def test_every_reduction_of_rows_of_many_lengths(self):
        """Code is for rows of 64 to 32,768 columns; sums begin anew in places that depend on the length."""
        generator = random.Random(11)
        lengths = [*range(1, 8), *range(60, 72), *range(120, 136), 200, 255, 256, 257, 300, 511, 513, 767, 1000, 1023, 1024, 1025, 2047, 2048, 2051, 4095, 4097]
        lengths += [4160, 5000, 8191, 8193, 10007, 16385, 32767, 32768, 32769, 40000]
        before = _cresset_compile.machine_code()
        for i, columns in enumerate(lengths):
            torch._dynamo.reset()
            numbers = NUMBERS if i % 3 == 2 else ()
            self.compare_rows(columns, 1 + i % 5, (torch.float32, torch.float64, torch.bfloat16, torch.float16)[i % 4], generator, numbers)
        if AVAILABLE:
            self.assertGreater(sum(_cresset_compile.machine_code()[1:]) - sum(before[1:]), len(lengths) // 2)

    def test_rows_of_each_dtype_long_and_short(self):
        generator = random.Random(12)
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            for columns in (66, 1029, 4100):
                torch._dynamo.reset()
                self.compare_rows(columns, 7, dtype, generator, ())

    def test_no_rows_and_other_rows_later(self):
        generator = random.Random(13)
        for rows in (0, 1, 2, 3, 64):  # of one program
            self.compare_rows(100, rows, torch.float32, generator)

    def test_rows_do_not_depend_on_the_number_of_threads(self):
        threads = torch.get_num_threads()
        x, bias = torch.randn(301, 1003), torch.randn(1003)
        compiled = torch.compile(rows_of_all_reductions)
        try:
            for number in (1, 2, 5):
                torch.set_num_threads(number)
                for a, b in zip(compiled(x, bias), rows_of_all_reductions(x, bias), strict=True):
                    self.assertTrue(same_bits(a, b), f"{number} threads")
        finally:
            torch.set_num_threads(threads)

    def test_rows_that_are_not_dense(self):
        whole, bias = torch.randn(40, 300), torch.randn(600)[::2]
        for x in (whole[:, :200], whole[::3], whole.t(), whole[:, ::2], whole[0].expand(5, 300)):
            torch._dynamo.reset()
            b = bias[: x.shape[1]]
            for got, expected in zip(torch.compile(rows_of_all_reductions)(x, b), rows_of_all_reductions(x, b), strict=True):
                self.assertTrue(same_bits(got.contiguous(), expected.contiguous()), f"strides {x.stride()}")

    def test_layers_of_plain_operators(self):
        def plain_layer_norm(x, weight, bias):
            mean = x.mean(-1, keepdim=True)
            centred = x - mean
            return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5) * weight + bias

        def plain_rms_norm(x, weight, bias):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight + bias

        def plain_softmax(x, weight, bias):
            e = torch.exp(x * weight - (x * weight + bias).amax(-1, keepdim=True))
            return e / e.sum(-1, keepdim=True)

        def plain_log_softmax(x, weight, bias):
            shifted = x * weight + bias
            shifted = shifted - shifted.amax(-1, keepdim=True)
            return shifted - shifted.exp().sum(-1, keepdim=True).log()

        for function in (plain_layer_norm, plain_rms_norm, plain_softmax, plain_log_softmax):
            for dtype in (torch.float32, torch.float64, torch.bfloat16):
                torch._dynamo.reset()
                x, weight, bias = (torch.randn(*shape).to(dtype) for shape in ((6, 50, 768), (768,), (768,)))
                self.assertTrue(same_bits(torch.compile(function)(x, weight, bias), function(x, weight, bias)), f"{function.__name__}, {dtype}")

    def test_every_operator_alone(self):
        generator = random.Random(7)
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            x, y = values(generator, (4099,), dtype), values(generator, (4099,), dtype)
            for i, function in enumerate((*UNARY, *BINARY)):
                torch._dynamo.reset()
                args = (x,) if i < len(UNARY) else (x, y)
                got = torch.compile(lambda *a, function=function: (function(*a), function(*a) + a[0]))(*args)
                for one, expected in zip(got, (function(*args), function(*args) + args[0]), strict=True):
                    self.assertTrue(same_bits(one, expected), f"operator {i}, {dtype}")


BITS = """
import _cresset_compile, cresset as torch
x = torch.cat([torch.linspace(-120, 120, 20001), torch.logspace(-44, 38, 5001), torch.tensor([0.0, -0.0, 1e-40, -1e-40, float("inf"), -float("inf"), float("nan")])])
for name in "exp expm1 exp2 log log1p log2 log10 sigmoid tanh erf".split():
    for dtype, ints in ((torch.float32, torch.int32), (torch.float64, torch.int64), (torch.bfloat16, torch.int16)):
        y, f = x.to(dtype), lambda y: getattr(torch, name)(y * 1.25) + 1
        got, expected = torch.compile(f)(y).view(ints), f(y).view(ints)
        assert bool(((got == expected) | f(y).isnan()).all()), (name, dtype)
        torch._dynamo.reset()
print(torch.backends.cpu.get_cpu_capability(), *_cresset_compile.machine_code())
"""


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_each_instruction_set_has_code_with_its_bits(isa):
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "CRESSET_CODE_CACHE": folder, "CRESSET_ISA": isa}
        found = subprocess.run([sys.executable, "-c", BITS], stdout=subprocess.PIPE, env=variables, text=True, check=True, timeout=300).stdout.split()
    if found[0].lower() == isa and HAS_PROVIDER:
        assert found[1] == "True" and int(found[2]) > 20


PROGRAM = """
import _cresset_compile, cresset as torch
x = torch.linspace(-2, 2, 1000)
f = lambda x: (x * 3 + 1).tanh() * x
assert torch.equal(torch.compile(f)(x), f(x))
print(*_cresset_compile.machine_code()[1:3])
"""


@unittest.skipUnless(AVAILABLE, "no machine code: LLVM 16 to 19 was not found, or the CPU is not one with AVX2 loops")
class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, **environment):
        variables = {**os.environ, "CRESSET_CODE_CACHE": self.folder, **environment}
        return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, env=variables, text=True)

    def finish(self, process):
        output = process.communicate(timeout=120)[0]
        self.assertEqual(process.returncode, 0)
        return tuple(map(int, output.split()))

    def run_program(self, **environment):
        return self.finish(self.start(**environment))

    def files(self):
        return [os.path.join(self.folder, name) for name in os.listdir(self.folder)]

    def test_code_is_read_by_the_next_process(self):
        self.assertEqual(self.run_program(), (1, 0))
        self.assertEqual(self.run_program(), (0, 1))
        self.assertEqual(self.run_program(CRESSET_CODE_CACHE="0"), (1, 0))

    def test_damaged_and_foreign_files_are_ignored(self):
        self.run_program()
        (path,) = self.files()
        with open(path, "rb") as file:
            whole = file.read()
        for damaged in (b"", whole[:20], whole[:-1], whole + b"x", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], b"\0" * len(whole)):
            with open(path, "wb") as file:
                file.write(damaged)
            self.assertEqual(self.run_program(), (1, 0))
            with open(path, "rb") as file:
                self.assertEqual(file.read(), whole)
        os.chmod(path, 0o666)  # others may have written it
        self.assertEqual(self.run_program(), (1, 0))

    def test_a_folder_that_cannot_be_written_costs_nothing_else(self):
        self.assertEqual(self.run_program(CRESSET_CODE_CACHE="/proc/none"), (1, 0))

    def test_a_full_disk_costs_nothing_else(self):
        # No file may grow beyond what a part of the code takes, and a write past it is an error, as on a full disk.
        full = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
        command = [sys.executable, "-B", "-c", full + PROGRAM]
        variables = {**os.environ, "CRESSET_CODE_CACHE": self.folder}
        self.assertEqual(self.finish(subprocess.Popen(command, stdout=subprocess.PIPE, env=variables, text=True)), (1, 0))
        self.assertEqual(self.files(), [])

    def test_processes_that_compile_the_same_at_once(self):
        for process in [self.start() for _ in range(3)]:
            self.assertEqual(sum(self.finish(process)), 1)
        self.assertEqual(len(self.files()), 1)
        self.assertEqual(self.run_program(), (0, 1))

    def test_the_oldest_files_go_first(self):
        self.run_program()
        (path,) = self.files()
        old = os.path.join(self.folder, "0.code")
        with open(old, "wb") as file:
            file.write(b"x" * 5000)
        os.utime(old, (1, 1))
        os.remove(path)
        self.run_program(CRESSET_CODE_CACHE_BYTES="6000")
        self.assertEqual(self.files(), [path])

    def test_a_folder_that_is_there_keeps_its_rights(self):
        os.chmod(self.folder, 0o755)
        self.assertEqual(self.run_program(), (1, 0))
        self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o755)

    def test_what_a_killed_process_left_goes(self):
        stray, young = (os.path.join(self.folder, name) for name in ("new.stray1", "new.young1"))
        for path in (stray, young):
            with open(path, "wb") as file:
                file.write(b"x")
        os.utime(stray, (1, 1))
        self.run_program()
        self.assertEqual((os.path.exists(stray), os.path.exists(young)), (False, True))

    def test_machine_code_can_be_turned_off(self):
        self.assertEqual(self.run_program(CRESSET_MACHINE_CODE="0"), (0, 0))


if __name__ == "__main__":
    unittest.main()
