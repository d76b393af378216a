"""A device that a library brings as LibTorch's programs do (private_device.cpp), renamed and used in processes of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cresset.utils import cpp_extension

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None or not any(os.path.exists(f"{p}/pybind11/pybind11.h") for p in ("/usr/include", *cpp_extension._paths.python_includes())),
    reason="a C++ compiler or pybind11 is not installed",
)

HERE = Path(__file__).resolve().parent
HEAD = """
import cresset as torch
from cresset.utils import cpp_extension
mine = cpp_extension.load("private_device", [{source!r}], extra_cflags=["-O1", "-Wall"])
torch.utils.rename_privateuse1_backend("mine")
mine.register_hooks()
mine.is_available = lambda: True
mine._is_in_bad_fork = lambda: False
mine.manual_seed_all = lambda seed: None
mine.get_amp_supported_dtype = lambda: [torch.bfloat16]
torch._register_device_module("mine", mine)
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("private_device")
    paths = [str(Path(place).absolute()) for place in sys.path if place]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(HERE), str(HERE.parent / "ops")]), "TORCH_EXTENSIONS_DIR": str(folder)}

    def run(program):
        head = HEAD.format(source=str(HERE / "private_device.cpp"))
        done = subprocess.run([sys.executable, "-c", head + program], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_adds_natively_and_all_else_on_the_cpu(run):
    assert run("""
x = torch.arange(6.0).reshape(2, 3)
d = x.mine()
print(d.device, d.is_mine, (d + d).cpu().tolist(), mine.counts()[1:])
print((d - 1).exp().sum().item() == (x - 1).exp().sum().item(), mine.counts()[1], mine.counts()[2] > 2)
print(d)
""").splitlines() == [
        "mine:0 True [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]] [1, 0]",
        "True 1 True",
        "tensor([[0., 1., 2.],",
        "        [3., 4., 5.]], device='mine:0')",
    ]


def test_copies_cast_broadcast_and_keep_strides(run):
    run("""
x = torch.arange(6).reshape(2, 3)
d = torch.zeros(2, 3, device="mine")
d.copy_(x)
assert d.cpu().tolist() == x.float().tolist()
d.t()[1].copy_(torch.tensor(9))
assert d.cpu()[:, 1].tolist() == [9, 9]
host = torch.zeros(2, 3, dtype=torch.float64)
host.copy_(d)
assert host.tolist() == d.cpu().double().tolist()
assert d.half().cpu().dtype is torch.float16
try:
    d.numpy()
except TypeError as e:
    assert "mine:0" in str(e) and "Tensor.cpu()" in str(e), e
else:
    raise AssertionError("an array over the device's memory")
assert d.numpy(force=True).tolist() == d.tolist()
""")


def test_memory_comes_from_its_allocator_and_goes_back(run):
    run("""
before = mine.counts()[0]
x = torch.empty(1000, device="mine:1")
assert mine.counts()[0] == before + 1 and x.device == torch.device("mine", 1)
y = x.resize_(5000)
assert mine.counts()[0] == before + 1
del x, y
assert mine.counts()[0] == before
assert mine.storage_grows() == (64, 7, torch.device("mine", 0))
assert mine.counts()[0] == before
""")


def test_makes_its_own_views(run):
    assert run("""
d = torch.arange(6.0).mine()
v = d.view(2, 3)
v.add_(1)
print(v.shape, v._base is d, d.cpu().tolist(), d.as_strided((2, 2), (3, 1), 1).cpu().tolist())
for f in (lambda: d.view(4), lambda: d.as_strided((7,), (1,)), lambda: d.as_strided((2,), (1,), -1), lambda: v.t().view(6)):
    try:
        print(f())
    except RuntimeError as e:
        print(str(e).split(",")[0])
x = torch.arange(6.0).mine().requires_grad_()
(x.view(3, 2) * 2).sum().backward()
print(x.grad.cpu().tolist())
x.grad = None
y = x * 1
y.view(2, 3)[0].mul_(3)
y.sum().backward()
print(x.grad.cpu().tolist())
""").splitlines() == [
        "torch.Size([2, 3]) True [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] [[2.0, 3.0], [5.0, 6.0]]",
        "shape [4] is invalid for input of size 6",
        "as_strided: sizes [7]",
        "as_strided: sizes [2]",
        "view: size [6] is not compatible with input shape [3",
        "[2.0, 2.0, 2.0, 2.0, 2.0, 2.0]",
        "[3.0, 3.0, 3.0, 1.0, 1.0, 1.0]",
    ]


def test_memory_of_a_storage_is_replaced(run):
    assert run("""
d = torch.arange(3.0).mine()
before = mine.counts()[0]
print(mine.storage_is_replaced(d), mine.counts()[0] - before, d.cpu().tolist())
try:
    d.resize_(100)
except RuntimeError as e:
    print("not resizable" in str(e))
del d
print(mine.counts()[0] - before)
""").splitlines() == ["(64, 1.0, 2) 0 [0.0, 0.0, 0.0]", "True", "-1"]


def test_devices_events_and_refusals(run):
    run("""
assert mine.device_count() == 2 and mine.current_device() == 0
mine.set_device(1)
assert torch.ones(2).mine().device.index == 1
assert mine.events() == (1.0, True)
for call, words in [(lambda: mine.set_device(7), "there is no device 7"), (mine.waits, "have no events of their own"), (mine.register_hooks, "registered already")]:
    try:
        call()
    except RuntimeError as e:
        assert words in str(e), e
    else:
        raise AssertionError(words)
""")


def test_is_saved_and_loaded_with_its_tag(run):
    run("""
import io, pickletools, zipfile
x = torch.arange(4.0).mine()
file = io.BytesIO()
torch.save({"x": x}, file)
data = zipfile.ZipFile(file)
pickled = data.read(next(n for n in data.namelist() if n.endswith("data.pkl")))
assert b"mine:0" in pickled
file.seek(0)
y = torch.load(file)["x"]
assert y.device == x.device and y.cpu().tolist() == x.cpu().tolist()
file.seek(0)
assert torch.load(file, map_location="cpu")["x"].device.type == "cpu"
""")


def test_trains_a_module(run):
    run("""
def train(device):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    x, y = torch.randn(16, 4).to(device), torch.arange(16).remainder(2).to(device)
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()
assert abs(train("mine") - train("cpu")) < 1e-6
""")


def test_computes_the_rows_of_float32(run):
    *failures, counts = run("import rows_on_device\nrows_on_device.run('mine')").splitlines()
    passed, total = map(int, counts.split())
    assert total > 500 and passed >= 0.95 * total, failures
