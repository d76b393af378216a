#!/usr/bin/env python3
"""Fails when a room includes a room below it in the order of data flow (ARCHITECTURE.md, "Rooms")."""

import re
import sys
from pathlib import Path

# Top to bottom; rooms on one line may not include each other either.
ROOMS = [["base"], ["core"], ["dispatch"], ["kernels"], ["ops"], ["autograd"], ["transform"], ["nn", "optim", "data", "distributions"], ["io"], ["graph", "dist", "serve", "train"]]
# kernels know bytes and strides, never a tensor.
FORBIDDEN = {"kernels": {"core", "dispatch"}}
# optim and data may look at modules; nn's archive is written by io.
SIBLINGS = {("optim", "nn"), ("data", "nn"), ("nn", "optim")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"cresset/([a-z_]+)/([^"]+)"')


def edges(root: Path):
    """Yields (file, line number, room of the file, included room, included path)."""
    for path in sorted((root / "cresset").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".inc", ".cu"} or len(path.relative_to(root).parts) < 3:
            continue
        room = path.relative_to(root).parts[1]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := INCLUDE.match(line):
                yield path.relative_to(root), number, room, match[1], match[2]


def violations(root: Path) -> list[str]:
    rank = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    found = []
    for path, number, room, target, included in edges(root):
        if room not in rank or target not in rank:
            found.append(f"{path}:{number}: unknown room in {room} -> {target}; add it to tools/check_layers.py")
            continue
        # The op declarations of Tensor are generated text, not a use of the ops room.
        if included == "tensor_methods.inc":
            continue
        same_rank = rank[room] == rank[target] and room != target and (room, target) not in SIBLINGS
        if rank[target] > rank[room] or same_rank or target in FORBIDDEN.get(room, ()):
            found.append(f"{path}:{number}: {room} must not include {target} (cresset/{target}/{included})")
    return found


def main() -> int:
    found = violations(Path(__file__).resolve().parent.parent)
    print("\n".join(found) if found else "layers: no room includes a lower one")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
