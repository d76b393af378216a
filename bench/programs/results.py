"""The results of a row of a benchmark, in a form that two processes can compare."""

from __future__ import annotations

import sys
from typing import Any

SHOWN = 256


def digest(result: Any) -> Any:
    """For each real tensor its shape, its sum, the sum of its magnitudes and some of its numbers, evenly spaced; numbers and texts as they are."""
    if isinstance(result, dict):
        return {str(key): digest(part) for key, part in result.items()}
    if isinstance(result, (tuple, list)):
        return [digest(part) for part in result]
    if not hasattr(result, "detach"):
        return result
    flat = result.detach().flatten()
    double = flat[:0].double().dtype
    some = flat[:: max(1, flat.numel() // SHOWN)].double().tolist()
    return {"shape": list(result.shape), "sum": flat.sum(dtype=double).item(), "size": flat.abs().sum(dtype=double).item(), "some": some}


def difference(ours: Any, peers: Any, tolerance: float = 1e-3) -> str:
    """How two digests differ; empty where they agree, numbers within `tolerance` of the largest of their tensor."""
    if isinstance(ours, dict) and isinstance(peers, dict) and {"sum", "size", "some"} <= ours.keys() & peers.keys():
        return _of_tensors(ours, peers, tolerance)
    if isinstance(ours, dict) and isinstance(peers, dict):
        ours, peers = list(ours.items()), list(peers.items())
    if isinstance(ours, (tuple, list)) and isinstance(peers, (tuple, list)):
        if len(ours) != len(peers):
            return f"{len(ours)} parts against {len(peers)}"
        found = ((i, difference(a, b, tolerance)) for i, (a, b) in enumerate(zip(ours, peers)))
        return next((f"[{i}] {how}" for i, how in found if how), "")
    if isinstance(ours, float) and isinstance(peers, float):
        return "" if ours == peers or abs(ours - peers) <= tolerance * abs(peers) else f"{ours!r} against {peers!r}"
    return "" if ours == peers else f"{ours!r} against {peers!r}"


def _of_tensors(ours: dict[str, Any], peers: dict[str, Any], tolerance: float) -> str:
    if ours.get("shape") != peers.get("shape") or len(ours["some"]) != len(peers["some"]):
        return f"shape {ours.get('shape')} against {peers.get('shape')}"
    if abs(ours["sum"] - peers["sum"]) > tolerance * peers["size"] or abs(ours["size"] - peers["size"]) > tolerance * peers["size"]:
        return f"sums {ours['sum']!r} and {ours['size']!r} of magnitudes against {peers['sum']!r} and {peers['size']!r}"
    most = max((abs(value) for value in peers["some"]), default=0.0)
    for i, (a, b) in enumerate(zip(ours["some"], peers["some"])):
        # NaN differs from a number and agrees with NaN.
        if a != b and not abs(a - b) <= tolerance * most and not (a != a and b != b):
            return f"number {i} of those compared is {a!r} against {b!r}"
    return ""


class Comparison:
    """Names the rows whose two sides have other results, and ends the program with 1 where there are any."""

    def __init__(self, program: str) -> None:
        self.program, self.differing = program, []

    def check(self, name: str, ours: Any, peers: Any, tolerance: float = 1e-3) -> None:
        if how := difference(ours, peers, tolerance):
            self.differing.append(name)
            print(f"{name}\tresults differ: {how}", flush=True)

    def finish(self) -> None:
        if self.differing:
            sys.exit(f"{self.program}: rows whose results are not the peer's: {', '.join(self.differing)}")
