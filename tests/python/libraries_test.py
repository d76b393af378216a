"""Libraries that others wrote for PyTorch, where they are installed: what they print on Cresset is what they print on PyTorch.

    pip install --no-deps accelerate botorch captum diffusers einops fastai gpytorch kornia lightning peft pyro-ppl pytorch-optimizer segmentation-models-pytorch sentence-transformers \\
        skorch timm torch_geometric torchao torchaudio torchdiffeq torchinfo torchmetrics torchsde torchvision transformers ultralytics vit-pytorch x-transformers

and what they need beside PyTorch. Each program of `library_programs.py` runs twice, in processes of their own. CRESSET_LIBRARIES="peft timm" runs these alone.
"""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

from library_programs import PROGRAMS

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?|\bnan\b|\binf\b")
_CHOSEN = os.environ.get("CRESSET_LIBRARIES", "")


def printed(program, *runner):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *runner, "-c", program], capture_output=True, text=True, env={**os.environ, "TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}
    )
    return done.returncode, done.stdout, done.stderr[-3000:]


class Libraries(unittest.TestCase):
    def compare(self, ours, theirs):
        """Equal words, and numbers that differ by no more than 1e-3 of their size, or 2e-4."""
        self.assertEqual(_NUMBER.sub("#", ours), _NUMBER.sub("#", theirs))
        for one, other in zip(map(float, _NUMBER.findall(ours)), map(float, _NUMBER.findall(theirs)), strict=True):
            self.assertTrue(
                one == other or abs(one - other) <= max(2e-4, 1e-3 * abs(other)) or one != one and other != other, f"{one} is not {other}:\n{ours}\n{theirs}"
            )


def _test(name, packages, program):
    def test(self):
        absent = [package for package in (*packages, "torch") if importlib.util.find_spec(package) is None]
        if absent:
            self.skipTest(f"{' and '.join(absent)} not installed")
        status, theirs, said = printed(program)
        if status:
            self.skipTest(f"{name} does not run on PyTorch here: {said.splitlines()[-1][:120]}")
        status, ours, said = printed(program, "-m", "cresset")
        self.assertEqual(status, 0, said)
        self.compare(ours, theirs)

    return test


for _name, (_packages, _program) in PROGRAMS.items():
    if not _CHOSEN or any(word in _name for word in _CHOSEN.split()):
        setattr(Libraries, "test_" + re.sub(r"\W", "_", _name), _test(_name, _packages, _program))


if __name__ == "__main__":
    unittest.main()
