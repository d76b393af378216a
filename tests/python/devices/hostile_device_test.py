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
    (lambda: ones().exp_(), RuntimeError, r"output with shape \[3\] doesn't match the result's shape \[7\]"),
    (lambda: ones(requires_grad=True).exp().sum().backward(), RuntimeError, r"returned an invalid gradient for input 0, got shape \[7\]"),
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
