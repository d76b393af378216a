"""The engine over NCCL compiles against the toolkit that is there; nothing of it runs here (tests/dist/nccl_test.cpp runs it where there is a GPU)."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ENGINE = ROOT / "cresset/dist/transport/nccl/nccl_engine.cpp"


def headers():
    """Folders with the headers of the CUDA runtime and of NCCL, None where one is missing."""
    places = [*sorted(Path("/usr/local").glob("cuda*/include")), Path("/usr/local/include"), Path("/usr/include")]
    found = [next((place for place in places if (place / name).exists()), None) for name in ("cuda_runtime_api.h", "nccl.h")]
    return None if None in found else found


class Compiles(unittest.TestCase):
    @unittest.skipUnless(headers() and shutil.which("g++"), "the headers of the CUDA toolkit and of NCCL, or g++, are not installed")
    def test_the_engine_compiles_without_warnings_and_exports_its_entry(self):
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "engine.o")
            command = ["g++", "-std=c++20", "-O0", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", *[f"-isystem{place}" for place in headers()], "-c", str(ENGINE),
                       "-o", str(made)]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            names = subprocess.run(["nm", "--defined-only", str(made)], capture_output=True, text=True).stdout
        self.assertRegex(names, r" T cresset_engine\n")


if __name__ == "__main__":
    unittest.main()
