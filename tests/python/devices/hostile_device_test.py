"""A device from outside the tree whose memory and kernels do what they must not: each is an error with a text, and nothing is freed twice or lost."""

import os
import shutil
from pathlib import Path

import pytest
from cresset.utils import cpp_extension

import cresset as torch

SOURCE = Path(__file__).resolve().parents[2] / "dispatch" / "extension" / "hostile_device.cpp"
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="a C++ compiler is not installed")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile_device")
    cpp_extension.load("hostile_device", [os.fspath(SOURCE)], is_python_module=False, build_directory=os.fspath(folder), extra_cflags=["-O0"])
    return torch.ops.hostile_device


def ones(n=3, **options):
    return torch.ones(n).to("hostile").requires_grad_(**options) if options else torch.ones(n).to("hostile")


@pytest.mark.parametrize("call,error,text", [
    (lambda: ones().sin(), RuntimeError, "no sine today"),
    (lambda: ones().sin_(), RuntimeError, "no sine today"),
    (lambda: torch.sin(ones(), out=ones()), RuntimeError, "no sine today"),
    (lambda: ones().cos(), RuntimeError, "C\\+\\+ threw an object that is no std::exception"),
    (lambda: ones().exp_(), RuntimeError, r"exp: result 0 of the kernel at .* has shape \[7\] and dtype Float, expected shape \[3\]"),
    (lambda: ones().exp(), RuntimeError, r"exp: result 0 of the kernel at .*hostile_device.cpp:\d+ has shape \[7\] and dtype Float, expected shape \[3\] and dtype Float"),
    (lambda: ones(requires_grad=True).exp(), RuntimeError, r"has shape \[7\] and dtype Float, expected shape \[3\]"),
    (lambda: ones().tan(), RuntimeError, r"tan: result 0 .* has shape \[3\] and dtype Long, expected shape \[3\] and dtype Float"),
    (lambda: ones().max(0), RuntimeError, r"max.dim: result 1 .* has shape \[\] and dtype Float, expected shape \[\] and dtype Long"),
    (lambda: torch.empty(1 << 20, device="hostile"), RuntimeError, "the drawer is full"),
    (lambda: torch.empty(1 << 15, device="hostile"), torch.OutOfMemoryError, "hostile:0 has no room for 131072 bytes"),
    (lambda: torch.ones(1 << 15).to("hostile"), torch.OutOfMemoryError, "hostile:0 has no room for 131072 bytes"),
])  # fmt: skip
def test_mistakes_of_its_kernels_and_memory_are_errors(hostile, call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert (hostile.alive(), hostile.freed_twice()) == (0, 0)
    assert (ones() + 1).cpu().tolist() == [2, 2, 2]


def test_a_storage_that_cannot_grow_keeps_what_it_has(hostile):
    x = ones()
    with pytest.raises(torch.OutOfMemoryError):
        x.resize_(1 << 15)
    assert x.cpu().tolist() == [1, 1, 1]
    del x
    assert (hostile.alive(), hostile.freed_twice()) == (0, 0)


def test_results_that_fit_are_taken_as_they_are(hostile):
    assert torch.sign(ones(2)).cpu().tolist() == [7, 7]
    assert torch.ops.aten.sign(ones(2)).cpu().tolist() == [7, 7]
    assert ones().nonzero().shape == (2, 5), "how many elements are not zero, the data alone says"
    assert (hostile.alive(), hostile.freed_twice()) == (0, 0)
