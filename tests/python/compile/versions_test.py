"""Functions are compiled alike by each other version of Python that the extension is built for."""

import dataclasses
import functools
import os
import statistics
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

from cresset._dynamo._capture.code import forget, listing
from cresset._dynamo._capture.dialects import Instruction

import cresset

HERE = Path(__file__).parent
BUILD = Path(cresset.__path__[0]).parents[1]
CORE = ["bytecode_test.py", "breaks_test.py", "frame_capture_test.py"]


def others():
    """(folder of the extension, interpreter) of each other version: what `scripts/test --python` leaves in the build tree."""
    for room in sorted(BUILD.glob("python3.*")):
        interpreter = BUILD.parent / f"venv{room.name.removeprefix('python')}" / "bin" / "python"
        if interpreter.exists() and any(room.glob("_cresset_compile*.so")) and any(room.glob("_cresset.*.so")):
            yield room, interpreter


class Versions(unittest.TestCase):
    def test_the_core_passes(self):
        found = [(room, interpreter) for room, interpreter in others() if room != Path(cresset.__path__[0]).parent]
        if not found:
            self.skipTest("the extension is built for one Python alone (scripts/test --python 3.13 builds it for another)")
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # it is no worker of this process
        for room, interpreter in found:
            with self.subTest(room.name):
                ended = subprocess.run(
                    [interpreter, "-m", "pytest", "-q", "--disable-warnings", *(HERE / name for name in CORE)],
                    env={**own, "PYTHONPATH": str(room), "PYTHONDONTWRITEBYTECODE": "1"},
                    capture_output=True, text=True, timeout=600, check=False, cwd=HERE.parents[2],
                )  # fmt: skip
                self.assertEqual(ended.returncode, 0, ended.stdout[-4000:] + ended.stderr[-1000:])


class Decoding(unittest.TestCase):
    def test_every_instruction_of_the_standard_library_is_decoded(self):
        count = 0
        for module in (dataclasses, functools, statistics, textwrap):
            waiting = [compile(Path(module.__file__).read_text(), module.__file__, "exec")]
            while waiting:
                code = waiting.pop()
                waiting += [value for value in code.co_consts if isinstance(value, type(code))]
                for one in listing(code).instructions:
                    self.assertIsInstance(one, Instruction)
                    self.assertLessEqual(one.begin, one.offset)
                    if one.jump is not None:
                        self.assertLess(one.jump, len(listing(code).instructions))
                    count += 1
        forget()
        self.assertGreater(count, 10000)


if __name__ == "__main__":
    sys.exit(unittest.main())
