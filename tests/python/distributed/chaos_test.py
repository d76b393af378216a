"""A few seeds of jobs in which a process is killed or stopped; all 200 with CRESSET_LONG (chaos.py)."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import _cresset_dist

RUN = Path(_cresset_dist.__file__).resolve().parent.parent / "cresset-run"


class Chaos(unittest.TestCase):
    def test_jobs_go_on_or_end_and_leave_nothing(self):
        seeds = "200" if os.environ.get("CRESSET_LONG") else "3"
        environment = {**os.environ, **({"CRESSET_RUN": str(RUN)} if RUN.exists() else {})}
        command = [sys.executable, str(Path(__file__).with_name("chaos.py")), "--seeds", seeds]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
