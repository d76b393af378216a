"""The device that programs define gets its name once in a process, so each case runs in its own."""

import subprocess
import sys

import pytest


def run(program):
    done = subprocess.run([sys.executable, "-c", "import cresset as torch\n" + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_the_name_before_and_after():
    assert run(
        "print(torch._C._get_privateuse1_backend_name())\n"
        "torch.utils.rename_privateuse1_backend('mine')\n"
        "print(torch._C._get_privateuse1_backend_name(), torch.device('mine:1'))\n"
    ) == ["privateuseone", "mine mine:1"]


@pytest.mark.parametrize("second", ["other", "cpu"])
def test_a_second_name_is_refused(second):
    assert run(
        f"torch.utils.rename_privateuse1_backend('mine')\ntry: torch.utils.rename_privateuse1_backend({second!r})\nexcept RuntimeError as e: print('refused')\n"
    ) == ["refused"]


def test_methods_and_module_under_the_name():
    assert run(
        "import types\n"
        "torch.utils.rename_privateuse1_backend('mine')\n"
        "torch._register_device_module('mine', types.ModuleType('mine'))\n"
        "torch.utils.generate_methods_for_privateuse1_backend()\n"
        "x = torch.ones(2)\n"
        "print(x.is_mine, hasattr(x, 'mine'), hasattr(torch.nn.Module, 'mine'), torch.mine.__name__)\n"
    ) == ["False True True mine"]
