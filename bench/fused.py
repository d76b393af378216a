#!/usr/bin/env python3
"""Every fused row beside its decomposition: `name<TAB>fused<TAB>decomposition<TAB>ratio`, in milliseconds of a call, sorted by the ratio.

Calls are those of bench/programs/fused_rows.py, which tests/python/ops/fused_test.py compares; times are the least of several turns, with
gradients left out; a ratio below 1 means that the fused kernel takes longer. A row that is slower than its decomposition would be a composite.

    bench/fused.py [--only REGEX] [--elements N] [--turns N]
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "build" / "release" / "python"), str(ROOT / "bench" / "programs"), str(ROOT / "bench")]

import _cresset  # noqa: E402
from fused_rows import calls  # noqa: E402
from ops_peer import least  # noqa: E402

import cresset as torch  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose names match this")
    parser.add_argument("--elements", type=int, default=1 << 18, help="about how many numbers an argument has")
    parser.add_argument("--turns", type=int, default=5, help="of at least 10 ms or one call")
    parser.add_argument("--pairs", type=int, dest="turns", help="the same, as scripts/bench says it")
    options = parser.parse_args()
    found = []
    for name, make in calls(torch, options.elements, torch.float32).items():
        if re.search(options.only, name):
            args, kwargs = make()
            fused, parts = _cresset.make_op(name.split(".")[0], [name]), _cresset.decomposition(name)
            with torch.no_grad():
                seconds = least(lambda: fused(*args, **kwargs), lambda: parts(*args, **kwargs), options.turns, time.perf_counter)
            found.append((seconds[1] / seconds[0], name, seconds))
    for ratio, name, (one, other) in sorted(found):
        print(f"{name}\t{one * 1e3:.4f}\t{other * 1e3:.4f}\t{ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
