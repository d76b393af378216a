"""The device of plugins/opencl in processes of its own: its services, its operators beside the CPU's, and training."""

import gzip
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
PATHS = os.pathsep.join([*(str(Path(place).absolute()) for place in sys.path if place), str(HERE), str(HERE.parent / "ops")])


def execute(*arguments):
    done = subprocess.run([sys.executable, *arguments], env={**os.environ, "PYTHONPATH": PATHS}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(program):
    return execute("-c", program)


def missing():
    try:
        if importlib.util.find_spec("cresset_opencl") is None:
            return "plugins/opencl is not built: OpenCL's headers or loader are not installed"
        count = run("import cresset as torch, cresset_opencl\nprint(torch.opencl.device_count())")
    except AssertionError as error:
        return f"cresset_opencl does not load: {error}"
    return None if int(count) else "there is no OpenCL device: PoCL is not installed"


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
HEAD = "import cresset as torch, cresset_opencl\n"


def test_moves_computes_and_prints():
    assert run(
        HEAD
        + """
x = torch.arange(6.0).reshape(2, 3)
d = x.opencl()
print(d.device, d.is_opencl, torch.device("opencl:0") == d.device)
print(d + d.t().reshape(2, 3) * 2)
print(d.to(torch.int64) // 2)
print((d.half() * 2).cpu().tolist(), (d.bfloat16() / 4).float().cpu().tolist(), d.double().sum().item())
print(torch.opencl.fallbacks())
"""
    ).splitlines() == [
        "opencl:0 True True",
        "tensor([[ 0.,  7.,  4.],",
        "        [11.,  8., 15.]], device='opencl:0')",
        "tensor([[0, 0, 1],",
        "        [1, 2, 2]], device='opencl:0')",
        "[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]] [[0.0, 0.25, 0.5], [0.75, 1.0, 1.25]] 15.0",
        "{}",
    ]


def test_views_share_memory_and_are_written_in_place():
    run(
        HEAD
        + """
d = torch.zeros(4, 5, device="opencl")
d[1:3, ::2] = 7
d.t()[0].add_(1)
d[:, 4].copy_(torch.arange(4))
d[1:] = d[:-1]
expected = torch.zeros(4, 5)
expected[1:3, ::2] = 7
expected.t()[0].add_(1)
expected[:, 4].copy_(torch.arange(4))
expected[1:] = expected[:-1].clone()
assert d.cpu().equal(expected), d
assert torch.opencl.fallbacks() == {}
"""
    )


def test_fallbacks_are_counted_by_name():
    assert run(
        HEAD
        + """
a = torch.eye(2, device="opencl") * 4
torch.linalg.eigvalsh(a)
print(torch.opencl.fallbacks())
torch.opencl.reset_fallbacks()
print(torch.opencl.fallbacks())
"""
    ).splitlines() == ["{'_linalg_eigh': 1}", "{}"]


def test_streams_events_and_memory():
    run(
        HEAD
        + """
before = torch.opencl.memory_allocated()
x = torch.ones(1 << 20, device="opencl")
assert torch.opencl.memory_allocated() - before == 4 << 20
begin, end = torch.opencl.Event(enable_timing=True), torch.opencl.Event(enable_timing=True)
begin.record()
y = x * 2
end.record()
end.synchronize()
assert end.query() and begin.elapsed_time(end) > 0
side = torch.opencl.Stream()
assert torch.opencl.current_stream() == torch.opencl.default_stream() != side
side.wait_stream(torch.opencl.current_stream())
with torch.opencl.stream(side):
    assert torch.opencl.current_stream() == side
    z = y + 1
    done = side.record_event()
torch.opencl.current_stream().wait_event(done)
assert (z * 1).sum().item() == 3 << 20
del x, y, z
assert torch.opencl.memory_allocated() == before and torch.opencl.max_memory_allocated() >= before + (8 << 20)
torch.opencl.synchronize()
torch.opencl.empty_cache()
assert torch.opencl.memory_reserved() == 0
"""
    )


def test_a_mode_hears_the_backward_pass_of_the_device():
    assert (
        run(
            HEAD
            + """
from cresset.utils._python_dispatch import TorchDispatchMode
class Names(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(str(func))
        return func(*args, **(kwargs or {}))
x, seen = torch.ones(2, device="opencl", requires_grad=True), []
with Names():
    x.exp().sum().backward()
print("aten.exp.default" in seen, "aten.expand.default" in seen, "aten.mul.Tensor" in seen, x.grad.cpu().tolist() == x.detach().exp().cpu().tolist())
"""
        ).split()
        == ["True"] * 4
    )


def test_seeds_give_the_same_numbers_again():
    run(
        HEAD
        + """
def draw():
    return torch.randn(10000, device="opencl"), torch.rand(10000, device="opencl"), torch.randperm(100, device="opencl")
torch.opencl.manual_seed(3)
one = draw()
torch.opencl.manual_seed(3)
again = draw()
other = draw()
assert all(a.equal(b) for a, b in zip(one, again)) and not any(a.equal(b) for a, b in zip(one, other))
normal, uniform, order = (t.cpu() for t in one)
assert abs(normal.mean()) < 0.04 and abs(normal.std() - 1) < 0.03 and 0 <= uniform.min() < uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
assert order.sort().values.equal(torch.arange(100))
assert torch.opencl.fallbacks() == {}
"""
    )


def test_autocast_takes_its_dtypes():
    run(
        HEAD
        + """
a, b = torch.randn(4, 5).opencl(), torch.randn(5, 6).opencl()
with torch.autocast("opencl", dtype=torch.float16):
    c = a @ b
assert c.dtype is torch.float16 and torch.allclose(c.float().cpu(), a.cpu() @ b.cpu(), atol=1e-2)
"""
    )


def test_is_saved_and_loaded_with_its_tag():
    run(
        HEAD
        + """
import io
file = io.BytesIO()
torch.save({"x": torch.arange(4.0).opencl()}, file)
assert b"opencl:0" in file.getvalue()
file.seek(0)
assert torch.load(file)["x"].device.type == "opencl"
file.seek(0)
assert torch.load(file, map_location="cpu")["x"].tolist() == [0, 1, 2, 3]
"""
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("torch.ones(2, device='opencl') + torch.ones(3, device='opencl')", "broadcast"),
        ("torch.ones(2, 3, device='opencl') @ torch.ones(2, 3, device='opencl')", "cannot be multiplied"),
        ("torch.ones(2, device='opencl') + torch.ones(2)", "device"),
        ("torch.ones(3, device='opencl')[torch.tensor([5], device='opencl')]", "out of bounds"),
        ("torch.ones(3, device='opencl').gather(0, torch.tensor([-1], device='opencl'))", "out of bounds"),
        ("torch.opencl.set_device(99)", "there is no device 99"),
        ("torch.nn.functional.nll_loss(torch.zeros(1, 3, device='opencl'), torch.tensor([3], device='opencl'))", "out of bounds"),
        ("torch.empty(1 << 50, device='opencl')", "out of memory"),
    ],
)
def test_mistakes_are_errors_that_say_what_is_wrong(call, words):
    run(
        HEAD
        + f"""
try:
    {call}
except Exception as error:
    assert {words!r} in str(error), error
else:
    raise AssertionError("no error")
assert (torch.ones(2, device="opencl") + 1).cpu().tolist() == [2, 2]
"""
    )


def test_computes_nine_tenths_of_the_rows_of_float32_itself():
    # Most of the time goes to compiling kernels: each third row, or with scripts/test --long all of them.
    every = 1 if os.environ.get("CRESSET_LONG") else 3
    *failures, counts = run(
        HEAD
        + """
import rows_on_device
def left():
    names = list(torch.opencl.fallbacks())
    torch.opencl.reset_fallbacks()
    return names
"""
        + f'rows_on_device.run("opencl", left, {every})'
    ).splitlines()
    passed, total = map(int, counts.split())
    assert total > 600 // every and passed >= 0.9 * total, failures


def test_the_mnist_example_trains_as_on_the_cpu():
    def losses(device):
        options = ("--device", device, "--steps", "6", "--batch", "8", "--losses", "--threads", "2")
        return execute("-m", "cresset", str(ROOT / "examples/python/mnist.py"), *options).splitlines()

    numbers = {device: [float(line.split()[-1]) for line in losses(device)] for device in ("cpu", "opencl")}
    assert len(numbers["cpu"]) == 6 and max(abs(a - b) for a, b in zip(*numbers.values(), strict=True)) < 1e-3


def test_the_mnist_example_trains_to_the_end(tmp_path):
    """The example as it is, on the first images of its data."""
    data = ROOT / "examples" / "mnist" / "data"
    for name, count in (("train-images-idx3-ubyte", 400), ("train-labels-idx1-ubyte", 400), ("t10k-images-idx3-ubyte", 200), ("t10k-labels-idx1-ubyte", 200)):
        content = gzip.decompress((data / f"{name}.gz").read_bytes())
        dims, each = content[3], 784 if "images" in name else 1
        (tmp_path / name).write_bytes(content[:4] + struct.pack(">i", count) + content[8 : 4 + 4 * dims + count * each])
    options = ("--epochs", "2", "--batch", "25", "--lr", "0.003", "--data", str(tmp_path), "--save", str(tmp_path / "weights.pt"), "--threads", "2")
    program = ("-m", "cresset", str(ROOT / "examples/python/mnist.py"))

    def accuracy(line):
        return float(line.partition("test accuracy ")[2].partition(" %")[0])

    first, second, saved = execute(*program, "--device", "opencl", *options).splitlines()
    assert first.startswith("epoch 1/2: loss") and accuracy(second) > 65 and saved.endswith("weights.pt")
    assert abs(accuracy(second) - accuracy(execute(*program, *options).splitlines()[1])) < 5


def test_convolutions_are_products_with_every_step_and_edge():
    cases = [
        ((2, 3, 9, 8), (4, 3, 3, 2), {"padding": (1, 2), "stride": (2, 1), "dilation": (1, 2)}), ((1, 2, 5), (3, 2, 2), {"stride": 2}),
        ((3, 2, 4, 5, 6), (4, 2, 2, 3, 2), {"padding": 1}), ((2, 17, 20, 20), (19, 17, 3, 3), {}), ((1, 1, 3, 3), (1, 1, 3, 3), {}),
        ((40, 8, 64, 64), (3, 8, 3, 3), {}),  # in several pieces
        ((2, 6, 9, 8), (4, 3, 3, 2), {"groups": 2, "padding": 1, "stride": (2, 1)}), ((3, 4, 7), (8, 1, 3), {"groups": 4}),
    ]  # fmt: skip
    run(
        "import cresset as torch, cresset_opencl\n"
        f"for x, w, options in {cases}:\n"
        "    for turned in (False, True):\n"
        "        function = getattr(torch, ('conv_transpose' if turned else 'conv') + f'{len(x) - 2}d')\n"
        "        shape, groups = (x[0], w[0], *x[2:]) if turned else x, options.get('groups', 1)\n"
        "        plain = [torch.randn(s, requires_grad=True) for s in (shape, w, (w[1] * groups,) if turned else w[:1])]\n"
        "        there = [t.detach().to('opencl').requires_grad_() for t in plain]\n"
        "        out, other = function(*plain, **options), function(*there, **options)\n"
        "        torch.testing.assert_close(other.cpu(), out, rtol=1e-4, atol=1e-4)\n"
        "        out.sin().mean().backward(), other.sin().mean().backward()\n"
        "        for a, b in zip(plain, there):\n"
        "            torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-3, atol=1e-5)\n"
        "assert not torch.opencl.fallbacks(), torch.opencl.fallbacks()\n"
    )


def test_builds_alone_against_an_installed_library_as_its_page_says(tmp_path):
    import _cresset

    library = Path(_cresset.__file__).resolve().parents[1]
    if shutil.which("cmake") is None or not (library / "cmake_install.cmake").exists():
        pytest.skip("cmake or the build folder is not there")
    subprocess.run(["cmake", "--install", str(library), "--prefix", str(tmp_path / "prefix")], check=True, capture_output=True)
    package = tmp_path / "package"  # without the plug-in that the tree has built
    package.mkdir()
    for entry in (library / "python").iterdir():
        if entry.name != "cresset_opencl":
            (package / entry.name).symlink_to(entry)
    page = (ROOT / "plugins/opencl/README.md").read_text()
    build, use = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    places = {"<prefix>": tmp_path / "prefix", "<package of cresset>": package, "build/opencl": tmp_path / "opencl", "python3": sys.executable}
    for place, path in places.items():
        build, use = build.replace(place, str(path)), use.replace(place, str(path))
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    environment.pop("PYTHONPATH", None)
    for command in (build, use[:-1] + "; print(cresset_opencl.__file__, (cresset_opencl.torch.ones(2, device='opencl') + 1).tolist())" + use[-1]):
        done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith(str(tmp_path / "opencl")) and done.stdout.endswith("[2.0, 2.0]\n")
